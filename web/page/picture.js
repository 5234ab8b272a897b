/**
 * What is on the screen: one run, the chosen head and the chosen cell, as plain typed arrays fetched from the library.
 * A picture remembers what it fetched, so that moving about in it asks the engine only for what is new.
 */
import { layerMasks } from './mask.js';

/** @typedef {import('qkv').Run} Run */
/** @typedef {import('qkv').NextToken} NextToken */
/** @typedef {import('qkv').Token} Token */
/** @typedef {import('./findings.js').Overview} Overview */
/** @typedef {import('./mask.js').LayerMask} LayerMask */

/** The head's own arrays. [n, n] weights; [n, dk] q, k, v, context, and q and k before norm and rotation; [n, h dk] concat and
 * [n, D] output of its layer.
 * @typedef {{ weights: Float32Array, q: Float32Array, k: Float32Array, v: Float32Array, context: Float32Array, dk: number, qLinear: Float32Array, kLinear: Float32Array, concat: Float32Array, wide: number, output: Float32Array, width: number }} HeadArrays */
/** One row of logits on its way, each [n]. @typedef {Record<typeof ROW_STAGES[number], Float32Array>} RowArrays */
/** @typedef {{ layer: number, head: number, row: number, col: number }} Place */
/** @typedef {{ place: Place, head: HeadArrays, row: RowArrays, mask: LayerMask, next: NextToken[] | null }} Selection */
/** What a picture shows of its model. @typedef {{ layers: number, heads: number, kvHeads: number, causal: boolean, hasHead: boolean }} Shape */

const ROW_STAGES = /** @type {const} */ (['scores', 'scaled', 'capped', 'biased', 'masked']);
/** Bytes of heads kept at hand, and how many at most; a 512-token head is two megabytes. */
const KEPT = { bytes: 96e6, entries: 24 };
const THUMBNAIL = 32;
const NEXT_TOKENS = 10;
/** How the vocabularies of masked language models write the gap. */
const GAP = /^(\[MASK\]|<mask>)$/;

/**
 * @template T
 * @param {Map<string, Promise<T>>} cache
 * @param {number} most entries
 * @param {string} key
 * @param {() => Promise<T>} fetch
 * @returns {Promise<T>}
 */
function remembered(cache, most, key, fetch) {
  let entry = cache.get(key);
  if (!entry) {
    entry = fetch();
    entry.catch(() => cache.delete(key));
    cache.set(key, entry);
    if (cache.size > most) cache.delete(/** @type {string} */ (cache.keys().next().value));
  }
  return entry;
}

export class Picture {
  /** @type {Map<string, Promise<HeadArrays>>} */
  #heads = new Map();
  /** @type {Map<string, Promise<RowArrays>>} */
  #rows = new Map();
  /** @type {Map<string, Promise<NextToken[]>>} */
  #next = new Map();

  /**
   * @param {Run} run
   * @param {object} parts
   * @param {Overview} parts.overview
   * @param {LayerMask[]} parts.masks one a layer
   * @param {Shape} parts.shape
   * @param {Token[]} parts.tokens
   * @param {string[]} parts.labels of the tokens
   * @param {number} parts.prompt tokens that were given; those behind them were generated
   * @param {number} parts.ms how long the run took, tokenisation and the way to the worker included
   */
  constructor(run, { overview, masks, shape, tokens, labels, prompt, ms }) {
    this.run = run;
    this.overview = overview;
    this.masks = masks;
    this.shape = shape;
    this.ms = ms;
    this.tokens = tokens;
    this.labels = labels;
    this.prompt = prompt;
    this.truncated = Array.isArray(run.truncated) ? null : run.truncated;
  }

  /**
   * @param {Run} run
   * @param {{ shape: Shape, tokens: Token[], labels: string[], prompt: number, ms: number }} parts
   */
  static async of(run, parts) {
    const [overview, masks] = await Promise.all([
      run.overview({ size: THUMBNAIL }),
      layerMasks(run, parts.shape, run.tokens.length),
    ]);
    return new Picture(run, { ...parts, overview, masks });
  }

  /** Heads that fit into the memory for them. */
  get #kept() {
    const { length: n } = this.tokens;
    return Math.max(2, Math.min(KEPT.entries, Math.floor(KEPT.bytes / (4 * n * n + 1))));
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
    const [headArrays, rowArrays, next] = await Promise.all([
      remembered(this.#heads, this.#kept, `${layer} ${head}`, () => this.#fetchHead(layer, head)),
      remembered(this.#rows, KEPT.entries, `${layer} ${head} ${row}`, () => this.#fetchRow(layer, head, row)),
      this.#nextTokens(this.positionOf(row)),
    ]);
    return { place, head: headArrays, row: rowArrays, mask: this.masks[layer], next };
  }

  /**
   * The token whose place the head of the model is asked about: a decoder says what comes after it, a masked language model
   * what fits there, and that is asked about a gap if there is one.
   * @param {number} row
   */
  positionOf(row) {
    if (this.shape.causal || GAP.test(this.tokens[row]?.text)) return row;
    const gap = this.tokens.findIndex(({ text }) => GAP.test(text));
    return gap < 0 ? row : gap;
  }

  /** @param {number} position */
  async #nextTokens(position) {
    if (!this.shape.hasHead) return null;
    return remembered(this.#next, KEPT.entries, String(position), () => this.run.nextTokens(NEXT_TOKENS, { position }));
  }

  /** @param {number} layer  @param {number} head  @returns {Promise<HeadArrays>} */
  async #fetchHead(layer, head) {
    const stage = (/** @type {import('qkv').StageName} */ name) => this.run.getStage(name, { layer, head });
    const names = /** @type {const} */ (['q', 'k', 'v', 'context', 'qLinear', 'kLinear', 'concat', 'output']);
    const [weights, ...stages] = await Promise.all([this.run.getWeights(layer, head), ...names.map(stage)]);
    const [q, k, v, context, qLinear, kLinear, concat, output] = stages;
    return {
      weights: weights.data,
      ...{ q: q.data, k: k.data, v: v.data, context: context.data, dk: q.shape[1] },
      ...{ qLinear: qLinear.data, kLinear: kLinear.data },
      ...{ concat: concat.data, wide: concat.shape[1], output: output.data, width: output.shape[1] },
    };
  }

  /** @param {number} layer  @param {number} head  @param {number} row  @returns {Promise<RowArrays>} */
  async #fetchRow(layer, head, row) {
    const entries = ROW_STAGES.map(async (stage) => [
      stage,
      (await this.run.getWeights(layer, head, { stage, rows: [row, row + 1] })).data,
    ]);
    return Object.fromEntries(await Promise.all(entries));
  }
}
