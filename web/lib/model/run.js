/** A run: one finished forward pass, kept in wasm memory (block inputs, K and V of every layer) until dispose. Every
 * matrix is computed when it is asked for, with the kernels of the forward pass, and copied out. */

import { oneOf, optionsOf, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { likeliest } from './probabilities.js';

/** @typedef {import('../engine/engine.js').Core} Core */
/** @typedef {import('./generate.js').Generated} Generated */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./input.js').Truncation} Truncation */
/** @typedef {import('../loading/load.js').ModelInfo} ModelInfo */
/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix row-major; rows are queries, columns keys */
/** @typedef {{ shape: number[], data: Float32Array }} Stage */
/** @typedef {import('./interventions.js').Kind} Kind */
/** @typedef {{ kind?: Kind, sequence?: number }} Place */
/** @typedef {{ stage?: SquareStage, rows?: readonly [number, number] }} Window */
/** @typedef {{ position?: number, sequence?: number }} Position position: a token of the sequence; default: its last */
/** @typedef {{ id: number, text: string, probability: number }} NextToken */
/** @typedef {'scores' | 'scaled' | 'capped' | 'biased' | 'masked' | 'weights'} SquareStage */
/** @typedef {'qLinear' | 'kLinear' | 'q' | 'k' | 'v' | 'context'} HeadStage one [N, head width] a head */
/** @typedef {'x' | 'concat' | 'output' | 'hidden' | HeadStage | SquareStage} StageName */
/** @typedef {'mean' | 'cls' | 'last' | 'max' | 'weightedmean' | 'mean_sqrt_len_tokens'} Pooling */
/** @typedef {{ pooling?: Pooling, normalize?: boolean }} EmbeddingOptions */
/**
 * Means over the rows of one head's weights; distance counts tokens, entropy is in nats.
 * @typedef {object} HeadStatistics
 * @property {number} layer
 * @property {number} head
 * @property {number} entropy
 * @property {number} distance
 * @property {number} previous weight on the token before
 * @property {number} next
 * @property {number} self
 * @property {number} first
 * @property {number} separator weight on the tokens that end a text, [SEP] for BERT
 */
/** @typedef {{ thumbnails: Float32Array, s: number, stats: HeadStatistics[] }} Overview thumbnails: [layers, heads, s, s] */
/**
 * Of a batch (Run<true>) what belongs to a text comes as an array, one entry each.
 * @template {boolean} [Batch=boolean]
 * @typedef {ReturnType<typeof createRun<Batch>>} Run
 */
/**
 * @template {boolean} Batch
 * @template T
 * @typedef {Batch extends true ? T[] : T} PerText
 */

const SQUARE = /** @type {const} */ (['scores', 'scaled', 'capped', 'biased', 'masked', 'weights']);
const PER_HEAD = ['qLinear', 'kLinear', 'q', 'k', 'v', 'context'];
/** @type {readonly (keyof (Place & Window))[]} */
const WEIGHTS_OPTIONS = ['kind', 'sequence', 'stage', 'rows'];
/** A large matrix leaves the engine in windows of so many floats, so that it is held there only in part. */
const WINDOW_FLOATS = 2 ** 20;
/** How many tokens nextTokens gives unasked. */
const USUAL_TOKENS = 10;

/**
 * One closure, so that nothing of it can be changed from outside, and its methods can be passed on without the object.
 * @template {boolean} Batch
 * @param {object} parts
 * @param {Core} parts.core
 * @param {number} parts.pointer
 * @param {ModelInfo} parts.info
 * @param {Sequence[]} parts.sequences
 * @param {InputLimits} parts.limits
 * @param {Generated | null} parts.generated what generate added, where it made the run
 * @param {Batch} parts.isBatch
 * @param {number} parts.time
 * @param {number} parts.bytes
 * @param {() => void} parts.alive throws once the memory was given back, by this run or with its model
 * @param {() => void} parts.release gives the memory back
 */
export function createRun({ core, pointer, info, sequences, limits, generated, isBatch, time, bytes, alive, release }) {
  const { tokenizer, headRows } = limits;
  const separators = tokenizer?.separators ?? [];
  const lengths = sequences.map(({ ids }) => ids.length);
  const { layers, heads, width, headDim } = info;

  /**
   * @param {string} call
   * @param {Place} place
   */
  function placeOf(call, { kind = info.kinds[0], sequence = 0 }) {
    const name = oneOf(`${call}: kind`, kind, info.kinds);
    const at = wholeNumber(`${call}: sequence`, sequence, 0, sequences.length - 1);
    return { kind: core.description.kinds.indexOf(name), sequence: at, n: lengths[at] };
  }

  /** @param {string} name */
  const numberOf = (name) => core.description.stages.indexOf(name);

  /**
   * Lets the engine fill count floats and copies them out.
   * @param {string} subject
   * @param {number} count
   * @param {(offset: number) => number} fill returns a status
   */
  const floats = (subject, count, fill) =>
    core.withMemory(subject, count * 4, (offset) => {
      core.check(subject, fill(offset));
      return core.heap.readFloat32(offset, count);
    });

  /**
   * Rows [from, to) of an [N, N] stage.
   * @param {string} call
   * @param {string} name
   * @param {number} layer
   * @param {number} head
   * @param {ReturnType<typeof placeOf>} place
   * @param {[from: number, to: number]} rows
   */
  function squareData(call, name, layer, head, { kind, sequence, n }, [from, to]) {
    const stage = numberOf(name);
    const data = new Float32Array((to - from) * n);
    const most = Math.max(1, Math.floor(WINDOW_FLOATS / n));
    for (let row = from; row < to; row += most) {
      const rows = Math.min(most, to - row);
      const part = floats(call, rows * n, (out) =>
        core.call('qkv_get_weights', pointer, kind, layer, head, stage, sequence, row, rows, out),
      );
      data.set(part, (row - from) * n);
    }
    return data;
  }

  /**
   * @param {string} name
   * @param {number} layer
   * @param {number} head
   * @param {ReturnType<typeof placeOf>} place
   * @param {number[]} shape
   */
  function stageData(name, layer, head, { kind, sequence }, shape) {
    const count = shape[0] * shape[1];
    const stage = numberOf(name);
    const data = floats(`getStage('${name}')`, count, (out) =>
      core.call('qkv_get_stage', pointer, kind, layer, head, stage, sequence, out),
    );
    return { shape, data };
  }

  /**
   * @template T
   * @param {T[]} all
   */
  const perText = (all) => /** @type {PerText<Batch, T>} */ (isBatch ? all : all[0]);

  /** @param {number} sequence */
  const separatorsOf = (sequence) =>
    Uint8Array.from(sequences[sequence].ids, (id) => (separators.includes(id) ? 1 : 0));

  /** @param {string} call */
  function checkHead(call) {
    if (headRows > 0) return;
    const fix = `${info.name} computes hidden states and attention; use run.embedding() or run.hidden().`;
    throw new QkvError('unsupported', `${call}: this model has no language-model head`, { fix });
  }

  /**
   * @param {string} call
   * @param {Position} place
   */
  function logitsAt(call, { sequence = 0, position }) {
    const at = wholeNumber(`${call}: sequence`, sequence, 0, sequences.length - 1);
    const last = lengths[at] - 1;
    const row = position === undefined ? last : wholeNumber(`${call}: position`, position, 0, last);
    return floats(call, headRows, (out) => core.call('qkv_logits', pointer, at, row, out));
  }

  return {
    /** @type {import('./input.js').Token[]} */
    tokens: sequences.flatMap(({ tokens }) => tokens),
    /** Where the text was too long; for a batch one entry each. */
    truncated: perText(sequences.map(({ truncated }) => truncated)),
    /** Tokens of each sequence. */
    lengths,
    /** Milliseconds the engine spent in the forward pass. */
    time,
    /** Bytes of memory the run holds: after generate with room for 256 new tokens, or at most twice those it wrote. */
    bytes,
    /** What generate wrote, without special tokens; null for a forward pass, and for a model without a tokenizer. */
    text: generated?.text ?? null,
    /** Why generate stopped: at an end-of-text token, at maxNewTokens, at the model's longest sequence; or null. */
    stopped: generated?.stopped ?? null,
    /** Tokens that were given; those behind them are new. */
    promptTokens: generated?.promptTokens ?? lengths.reduce((sum, length) => sum + length, 0),

    /**
     * Rows are queries, columns keys; head counts query heads.
     * @param {number} layer
     * @param {number} head
     * @param {Place & Window} [options]
     * @returns {Promise<Matrix>}
     */
    async getWeights(layer, head, options) {
      alive();
      const given = optionsOf('getWeights', options, WEIGHTS_OPTIONS);
      const place = placeOf('getWeights', given);
      const stage = oneOf('getWeights: stage', given.stage ?? 'weights', SQUARE);
      wholeNumber('getWeights: layer', layer, 0, layers - 1);
      wholeNumber('getWeights: head', head, 0, heads - 1);
      const [from, to] = windowOf(given.rows ?? [0, place.n], place.n);
      const data = squareData('getWeights', stage, layer, head, place, [from, to]);
      return { rows: to - from, cols: place.n, data };
    },

    /**
     * Thumbnails (largest weight of each cell) and statistics of all heads.
     * @param {Place & { size?: number }} [options] size: cells a side, at most 32 and the number of tokens
     * @returns {Promise<Overview>}
     */
    async overview(options) {
      alive();
      const { size = 32, ...given } = optionsOf('overview', options, ['kind', 'sequence', 'size']);
      const { kind, sequence, n } = placeOf('overview', given);
      const s = Math.min(n, wholeNumber('overview: size', size, 1, 32));
      const names = core.description.stats;
      const counts = [layers * heads * s * s, layers * heads * names.length];
      const all = core.withMemory('overview', n, (marks) => {
        core.heap.writeBytes(marks, separatorsOf(sequence));
        return floats('overview', counts[0] + counts[1], (out) =>
          core.call('qkv_overview', pointer, kind, sequence, s, marks, out, out + counts[0] * 4),
        );
      });
      return { thumbnails: all.slice(0, counts[0]), s, stats: statisticsOf(all.subarray(counts[0]), names, heads) };
    },

    /**
     * One step of the attention of a layer: x, qLinear, kLinear, q, k, v, scores, scaled, capped, biased, masked,
     * weights, context, concat, output or hidden.
     * @param {StageName} name
     * @param {Place & { layer?: number, head?: number }} [options] head: for the stages that have one a head
     * @returns {Promise<Stage>}
     */
    async getStage(name, options) {
      alive();
      const stage = oneOf('getStage: name', name, core.description.stages);
      const { layer, head, ...given } = optionsOf('getStage', options, ['layer', 'head', 'kind', 'sequence']);
      const place = placeOf('getStage', given);
      const isSquare = SQUARE.some((square) => square === stage);
      const row = wholeNumber('getStage: layer', layer, 0, layers - 1);
      const column = isSquare || PER_HEAD.includes(stage) ? wholeNumber('getStage: head', head, 0, heads - 1) : 0;
      if (isSquare) {
        const data = squareData(`getStage('${stage}')`, stage, row, column, place, [0, place.n]);
        return { shape: [place.n, place.n], data };
      }
      if (PER_HEAD.includes(stage)) return stageData(stage, row, column, place, [place.n, headDim]);
      return stageData(stage, row, 0, place, [place.n, stage === 'concat' ? heads * headDim : width]);
    },

    /**
     * Hidden states as transformers counts them: 0 = the embeddings, i = the output of layer i - 1, the last one behind
     * the final norm of families that have one.
     * @param {number} index
     * @param {Place} [options]
     * @returns {Promise<Stage>}
     */
    async hidden(index, options) {
      alive();
      const place = placeOf('hidden', optionsOf('hidden', options, ['kind', 'sequence']));
      const shape = [place.n, width];
      const at = wholeNumber('hidden: index', index, 0, layers);
      return at === layers ? stageData('x', layers, 0, place, shape) : stageData('hidden', at - 1, 0, place, shape);
    },

    /**
     * The last hidden state as one vector; for a batch an array of them.
     * @param {EmbeddingOptions} [options]
     * @returns {Promise<PerText<Batch, Float32Array>>}
     */
    async embedding(options) {
      alive();
      const { pooling = 'mean', normalize = true } = optionsOf('embedding', options, ['pooling', 'normalize']);
      const { poolings } = core.description;
      const number = poolings.indexOf(oneOf('embedding: pooling', pooling, poolings));
      if (typeof normalize !== 'boolean') {
        throw new QkvError('argument', 'embedding: normalize', { got: normalize, want: 'true or false' });
      }
      const vectors = sequences.map((_, sequence) =>
        floats('embedding', width, (out) =>
          core.call('qkv_embedding', pointer, sequence, number, 0, normalize ? 1 : 0, out),
        ),
      );
      return perText(vectors);
    },

    /**
     * What the model's head makes of a token: of a language model one number for each token of the vocabulary, of an
     * ELECTRA discriminator a single one.
     * @param {Position} [options]
     * @returns {Promise<Float32Array>}
     */
    async logits(options) {
      alive();
      checkHead('logits');
      return logitsAt('logits', optionsOf('logits', options, ['sequence', 'position']));
    },

    /**
     * The likeliest tokens, after the position for a decoder, at it for a masked language model. The probabilities are
     * the softmax of all logits, in float64.
     * @param {number} [k]
     * @param {Position} [options]
     * @returns {Promise<NextToken[]>}
     */
    async nextTokens(k = USUAL_TOKENS, options = {}) {
      alive();
      checkHead('nextTokens');
      const place = optionsOf('nextTokens', options, ['sequence', 'position']);
      if (headRows === 1) {
        const fix = 'Its head gives each token one number; use run.logits().';
        throw new QkvError('unsupported', `nextTokens: ${info.name} is a discriminator and proposes no tokens`, {
          fix,
        });
      }
      const count = wholeNumber('nextTokens: k', k, 1, headRows);
      const likely = likeliest(logitsAt('nextTokens', place), count, 'nextTokens');
      return likely.map(({ id, probability }) => ({ id, text: tokenizer?.textOf(id) ?? `#${id}`, probability }));
    },

    /** Gives the memory back; a second call does nothing. */
    dispose: release,
    [Symbol.dispose]: release,
  };
}

/**
 * @param {unknown} rows
 * @param {number} n
 */
function windowOf(rows, n) {
  if (!Array.isArray(rows) || rows.length !== 2) {
    throw new QkvError('argument', 'getWeights: rows', { got: rows, want: '[from, to]' });
  }
  const from = wholeNumber('getWeights: rows[0]', rows[0], 0, n - 1);
  return [from, wholeNumber('getWeights: rows[1]', rows[1], from + 1, n)];
}

/**
 * @param {Float32Array} values [layers, heads, names]
 * @param {string[]} names
 * @param {number} heads
 */
function statisticsOf(values, names, heads) {
  return Array.from({ length: values.length / names.length }, (_, place) => {
    const statistics = names.map((name, index) => [name, values[place * names.length + index]]);
    const [layer, head] = [Math.floor(place / heads), place % heads];
    return /** @type {HeadStatistics} */ ({ layer, head, ...Object.fromEntries(statistics) });
  });
}
