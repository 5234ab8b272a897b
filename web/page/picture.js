/**
 * What is on the screen: one run, the chosen head and the chosen cell, as plain typed arrays fetched from the library.
 * A picture remembers what it fetched, so that moving about in it asks the engine only for what is new.
 */

/** @typedef {import('qkv').Run} Run */
/** @typedef {import('qkv').Token} Token */
/** @typedef {import('./findings.js').Overview} Overview */

/** The head's own arrays. [n, n] weights; [n, dk] q, k, v, context; [n, D] concat, output of its layer.
 * @typedef {{ weights: Float32Array, q: Float32Array, k: Float32Array, v: Float32Array, context: Float32Array, dk: number, concat: Float32Array, output: Float32Array, width: number }} HeadArrays */
/** One row of logits on its way, each [n]. @typedef {{ scores: Float32Array, scaled: Float32Array, masked: Float32Array }} RowArrays */
/** @typedef {{ layer: number, head: number, row: number, col: number }} Place */
/** @typedef {{ place: Place, head: HeadArrays, row: RowArrays }} Selection */

/** Heads kept at hand; a 512-token head is a megabyte and more. */
const KEPT = 24;
const THUMBNAIL = 32;

/**
 * @template T
 * @param {Map<string, Promise<T>>} cache
 * @param {string} key
 * @param {() => Promise<T>} fetch
 * @returns {Promise<T>}
 */
function remembered(cache, key, fetch) {
  let entry = cache.get(key);
  if (!entry) {
    entry = fetch();
    entry.catch(() => cache.delete(key));
    cache.set(key, entry);
    if (cache.size > KEPT) cache.delete(/** @type {string} */ (cache.keys().next().value));
  }
  return entry;
}

export class Picture {
  /** @type {Map<string, Promise<HeadArrays>>} */
  #heads = new Map();
  /** @type {Map<string, Promise<RowArrays>>} */
  #rows = new Map();

  /**
   * @param {Run} run
   * @param {Overview} overview
   * @param {{ layers: number, heads: number }} shape
   * @param {number} ms how long the run took, tokenisation and the way to the worker included
   */
  constructor(run, overview, shape, ms) {
    this.run = run;
    this.overview = overview;
    this.shape = shape;
    this.ms = ms;
    /** @type {Token[]} */
    this.tokens = run.tokens;
    this.truncated = Array.isArray(run.truncated) ? null : run.truncated;
  }

  /** @param {Run} run  @param {{ layers: number, heads: number }} shape  @param {number} ms */
  static async of(run, shape, ms) {
    return new Picture(run, await run.overview({ size: THUMBNAIL }), shape, ms);
  }

  /**
   * The nearest place that exists in this picture.
   * @param {Place} place
   * @returns {Place}
   */
  clamp({ layer, head, row, col }) {
    const last = this.tokens.length - 1;
    return {
      layer: Math.min(layer, this.shape.layers - 1),
      head: Math.min(head, this.shape.heads - 1),
      row: Math.min(row, last),
      col: Math.min(col, last),
    };
  }

  /**
   * @param {Place} wanted
   * @returns {Promise<Selection>}
   */
  async select(wanted) {
    const place = this.clamp(wanted);
    const { layer, head, row } = place;
    const [headArrays, rowArrays] = await Promise.all([
      remembered(this.#heads, `${layer} ${head}`, () => this.#fetchHead(layer, head)),
      remembered(this.#rows, `${layer} ${head} ${row}`, () => this.#fetchRow(layer, head, row)),
    ]);
    return { place, head: headArrays, row: rowArrays };
  }

  /** @param {number} layer  @param {number} head  @returns {Promise<HeadArrays>} */
  async #fetchHead(layer, head) {
    const stage = (/** @type {'q' | 'k' | 'v' | 'context' | 'concat' | 'output'} */ name) =>
      this.run.getStage(name, { layer, head });
    const [weights, q, k, v, context, concat, output] = await Promise.all([
      this.run.getWeights(layer, head),
      stage('q'),
      stage('k'),
      stage('v'),
      stage('context'),
      stage('concat'),
      stage('output'),
    ]);
    return {
      weights: weights.data,
      q: q.data,
      k: k.data,
      v: v.data,
      context: context.data,
      dk: q.shape[1],
      concat: concat.data,
      output: output.data,
      width: output.shape[1],
    };
  }

  /** @param {number} layer  @param {number} head  @param {number} row  @returns {Promise<RowArrays>} */
  async #fetchRow(layer, head, row) {
    const logits = async (/** @type {'scores' | 'scaled' | 'masked'} */ stage) =>
      (await this.run.getWeights(layer, head, { stage, rows: [row, row + 1] })).data;
    const [scores, scaled, masked] = await Promise.all([logits('scores'), logits('scaled'), logits('masked')]);
    return { scores, scaled, masked };
  }
}
