/** What follows the last block: which head a model's files hold, and what it is made of. A model without head tensors,
 * and without a tie to the token table, has none; attention and hidden states need none. */

/** @typedef {import('./config_reader.js').ConfigReader} ConfigReader */
/** @typedef {import('./config_reader.js').Activation} Activation */
/** @typedef {import('./engine_config.js').EngineConfig} EngineConfig */
/**
 * logits = W norm(activation(dense(last hidden state))) + bias. Names are those of the file, without ".weight".
 * @typedef {object} HeadRule
 * @property {string} [dense] where the file lacks this tensor the rule does not apply
 * @property {(config: ConfigReader) => Activation} [activation] between dense and norm
 * @property {string} [norm]
 * @property {string[]} weights names of W; the first one that is there counts
 * @property {string[]} biases full names, likewise
 * @property {number} [rows] logits a position; the vocabulary's, unless said
 * @property {boolean} [isTied] what tie_word_embeddings is where config.json does not say; W is then the token table
 * @property {boolean} [isEmbedWide] W is as wide as the token table, not as the blocks
 */
/**
 * @typedef {object} OutputHead
 * @property {Partial<EngineConfig>} fields
 * @property {[stem: string, name: string][]} linears slots X.weight and X.bias by the name in front of these
 * @property {[slot: string, name: string][]} others
 */

/** @type {OutputHead} */
const NONE = { fields: {}, linears: [], others: [] };

/**
 * @param {HeadRule[]} rules
 * @param {ConfigReader} config
 * @param {EngineConfig} engine
 * @param {(name: string) => boolean} has whether a tensor is in the files
 * @returns {OutputHead}
 */
export function outputHead(rules, config, engine, has) {
  const rule = rules.find(({ dense }) => dense === undefined || has(`${dense}.weight`));
  if (rule === undefined) return NONE;
  const { dense, activation, norm, rows, isEmbedWide } = rule;
  const weight = rule.weights.find((name) => has(`${name}.weight`));
  const isTied = weight === undefined && rows === undefined && config.flag('tie_word_embeddings', rule.isTied ?? false);
  if (weight === undefined && !isTied) return NONE;
  const bias = rule.biases.find(has);
  /** @type {[string, string | undefined][]} */
  const linears = [
    ['head_dense', dense],
    ['head_norm', norm],
    ['head', weight],
  ];
  return {
    fields: {
      head_rows: rows ?? engine.vocab,
      head_width: isEmbedWide ? engine.embed_width : engine.width,
      head_dense: Number(dense !== undefined),
      head_dense_bias: Number(dense !== undefined && has(`${dense}.bias`)),
      head_activation: activation === undefined ? 'none' : activation(config),
      head_norm: Number(norm !== undefined),
      head_bias: Number(bias !== undefined),
      head_tied: Number(isTied),
    },
    linears: linears.filter((entry) =>
      /** @type {(e: typeof entry) => e is [string, string]} */ (([, name]) => name !== undefined)(entry),
    ),
    others: bias === undefined ? [] : [['head.bias', bias]],
  };
}
