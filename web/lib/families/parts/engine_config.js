/** The engine's config (QKV_CONFIG_FIELDS in src/config.h) as families fill it: what all fields are where nothing is said,
 * and the few blocks that most families are built of. */

/** @typedef {import('./config_reader.js').Activation} Activation */
/** @typedef {import('./config_reader.js').ConfigReader} ConfigReader */
/** @typedef {'layer' | 'rms'} NormKind LayerNorm or RMSNorm */
/** @typedef {'post' | 'pre' | 'sandwich'} NormPlace see QKV_NORM_PLACES in src/config.h */
/** @typedef {'serial' | 'parallel' | 'parallel_one_norm'} Branches attention and feed-forward layer, see QKV_BRANCHES there */
/**
 * The sizes that config.json states. positions: tokens of the longest text, or rows of the position table
 * @typedef {object} Sizes
 * @property {number} layers
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} width
 * @property {number} ffn
 * @property {number} vocab
 * @property {number} positions
 */
/** @typedef {typeof UNSAID} OtherFields */
/**
 * @typedef {Omit<Sizes, 'positions'> & OtherFields & {
 *   stored_layers: number,
 *   context: number,
 *   embed_width: number,
 *   norm_eps: number,
 *   activation: Activation,
 * }} EngineConfig lists are typed arrays, null where the engine has its own default
 */
/** @typedef {Partial<EngineConfig> & Pick<EngineConfig, 'norm_eps' | 'activation'>} FamilyConfig */

const UNSAID = {
  causal: 0,
  embed_scale: 1,
  segments: 0,
  positions: 0,
  position_first: 0,
  position_pad: -1,
  embed_norm: 0,
  embed_project: 0,
  norm_kind: /** @type {NormKind} */ ('layer'),
  norm_place: /** @type {NormPlace} */ ('post'),
  norm_bias: 0,
  norm_shift: 0,
  first_norm: 1,
  final_norm: 0,
  parallel: /** @type {Branches} */ ('serial'),
  qkv_bias: 0,
  o_bias: 0,
  ffn_bias: 0,
  qk_norm: 0,
  gated: 0,
  softcap: 0,
  scales: /** @type {Float32Array | null} */ (null),
  windows: /** @type {Int32Array | null} */ (null),
  rope_dim: 0,
  rope_sets: 0,
  rope_scale: 1,
  rope_frequencies: /** @type {Float32Array | null} */ (null),
  rope_of_layer: /** @type {Int32Array | null} */ (null),
  buckets: 0,
  bucket_reach: 0,
  bucket_of: /** @type {Int32Array | null} */ (null),
  head_rows: 0,
  head_width: 0,
  head_dense: 0,
  head_dense_bias: 0,
  head_activation: /** @type {Activation} */ ('none'),
  head_norm: 0,
  head_bias: 0,
  head_tied: 0,
  logit_softcap: 0,
};

/** Post-norm, as in BERT: LayerNorm after each residual addition, biases everywhere. */
export const POST_NORM = Object.freeze({ embed_norm: 1, norm_bias: 1, qkv_bias: 1, o_bias: 1, ffn_bias: 1 });
/** Pre-norm, as in GPT-2: LayerNorm before each part and after the last block, biases everywhere. */
export const PRE_NORM = Object.freeze({
  norm_place: /** @type {NormPlace} */ ('pre'),
  norm_bias: 1,
  final_norm: 1,
  qkv_bias: 1,
  o_bias: 1,
  ffn_bias: 1,
});
/** Llama's: RMSNorm as pre-norm and after the last block, a gated feed-forward layer, no biases. */
export const GATED_RMS = Object.freeze({
  norm_kind: /** @type {NormKind} */ ('rms'),
  norm_place: /** @type {NormPlace} */ ('pre'),
  final_norm: 1,
  gated: 1,
});

/**
 * @param {Sizes} sizes
 * @param {boolean} causal
 * @param {FamilyConfig} given
 * @returns {EngineConfig}
 */
export function engineConfig({ positions, ...sizes }, causal, given) {
  const { layers: stored_layers, width: embed_width } = sizes;
  const rows = given.positions ?? 0;
  const context = rows > 0 ? rows - (given.position_first ?? 0) : positions;
  return { ...UNSAID, ...sizes, stored_layers, embed_width, context, causal: Number(causal), ...given };
}

/** Floats as the engine takes them, one a layer. @param {number} layers @param {(layer: number) => number} scaleOf */
export const perLayer = (layers, scaleOf) => Float32Array.from({ length: layers }, (_, layer) => scaleOf(layer));
