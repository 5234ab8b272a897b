/** Random calls of scaledDotProductAttention: every option takes one of a few values, drawn so that all pairs occur. */
import { seeded } from '../api/golden.js';

/** @typedef {import('../reference/attention_f64.js').Options} Options */
/** @typedef {ReturnType<typeof randomCase>} RandomCase */

/** Every option and what it may be; the names appear in messages. */
export const CHOICES = {
  axes: [2, 3, 4],
  batch: [1, 2, 3],
  grouping: ['mha', 'gqa', 'mqa'],
  queries: [0, 1, 2, 5, 6, 7, 12, 17],
  keys: [0, 1, 3, 7, 8, 9, 16, 31],
  keyDim: [1, 2, 3, 4, 5, 8, 13, 32],
  valueDim: [1, 2, 4, 7, 8, 9, 16, 33],
  mask: ['none', 'allow', 'ignore', 'add'],
  maskAxes: ['[S]', '[1, S]', '[L, S]', '[1, L, S]', '[H, 1, S]', '[B, 1, 1, S]', '[B, H, L, S]', '[1, 1, 1, 1]'],
  maskColumns: ['all', 'short'],
  maskFill: ['half', 'one key', 'none', 'a column', 'a row'],
  causal: [false, true, 'top-left', 'bottom-right', -3, -1, 2, 40],
  window: ['none', '2, 1', '-1, 0', '0, -1', '-1, -1', '0, 0'],
  lengths: ['none', 'some', 'zero', 'all'],
  past: ['none', 0, 1, 6],
  scale: [null, 0, -0.5, 0.7, 3],
  softcap: [null, 0, 0.5, 30],
  emptyRows: ['zero', 'nan'],
  returns: ['output', 'scores', 'scaled', 'capped', 'masked', 'weights'],
  values: ['plain', 'equal', 'large', 'tiny', 'mixed'],
};

/** @typedef {keyof typeof CHOICES} Option */
/** @typedef {Record<Option, any>} Draw */

/**
 * Pairs that no call can have, or that mean the same.
 * @param {Draw} draw
 */
function settle(draw) {
  if (draw.axes === 2) Object.assign(draw, { batch: 1, grouping: 'mha' });
  if (draw.past !== 'none') draw.lengths = 'none';
}

/** @param {Option} a @param {unknown} x @param {Option} b @param {unknown} y */
export function isPossible(a, x, b, y) {
  const draw = /** @type {Draw} */ ({
    axes: 4,
    batch: 1,
    grouping: 'mha',
    past: 'none',
    lengths: 'none',
    [a]: x,
    [b]: y,
  });
  settle(draw);
  return draw[a] === x && draw[b] === y;
}

/** @param {number} seed @param {number} index */
export function randomCase(seed, index) {
  const random = seeded(seed + index * 7919);
  const pick = (/** @type {readonly any[]} */ list) => list[Math.floor(random() * list.length)];
  const draw = /** @type {Draw} */ (
    Object.fromEntries(Object.entries(CHOICES).map(([name, list]) => [name, pick(list)]))
  );
  settle(draw);
  const { axes, batch, keyDim, valueDim, queries } = draw;
  const kvHeads = axes === 2 || draw.grouping === 'mqa' ? 1 : 2;
  const heads = axes === 2 ? 1 : draw.grouping === 'mha' ? kvHeads : 4;
  const past = draw.past === 'none' ? 0 : draw.past;
  const all = past + draw.keys;
  const fill = fillerOf(draw.values, random);
  const size = sizer(axes, batch);

  /** @type {Options} */
  const options = {
    query: fill(size(heads, queries, keyDim), 1),
    key: fill(size(kvHeads, draw.keys, keyDim), 1),
    value: fill(size(kvHeads, draw.keys, valueDim), 0),
    heads: axes === 3 ? heads : undefined,
    kvHeads: axes === 3 ? kvHeads : undefined,
    mask: draw.mask === 'none' ? null : maskOf(draw, [batch, heads, queries, all], random),
    causal: draw.causal,
    window: draw.window === 'none' ? null : /** @type {[number, number]} */ (draw.window.split(', ').map(Number)),
    keyLengths: lengthsOf(draw.lengths, batch, all, random),
    pastKey: draw.past === 'none' ? null : fill([batch, kvHeads, past, keyDim], 1),
    pastValue: draw.past === 'none' ? null : fill([batch, kvHeads, past, valueDim], 0),
    scale: draw.scale,
    softcap: draw.softcap,
    emptyRows: draw.emptyRows,
  };
  return { draw, options: { ...options, returns: draw.returns }, random };
}

/** @param {number} axes @param {number} batch */
const sizer = (axes, batch) => (/** @type {number} */ heads, /** @type {number} */ rows, /** @type {number} */ dim) => {
  if (axes === 4) return [batch, heads, rows, dim];
  return axes === 3 ? [batch, rows, heads * dim] : [rows, dim];
};

/** @param {string} values @param {() => number} random */
function fillerOf(values, random) {
  const uniform = () => random() * 4 - 2;
  /** By kind; the second number is 1 for queries and keys, whose products become logits. */
  const kinds = /** @type {Record<string, (isLogit: number) => number>} */ ({
    plain: uniform,
    equal: () => 0.75,
    large: (isLogit) => uniform() * (isLogit ? 80 : 1e6),
    tiny: (isLogit) => uniform() * (isLogit ? 1e-20 : 1e-39),
    mixed: (isLogit) => uniform() * 10 ** (Math.floor(random() * 6) - (isLogit ? 4 : 3)),
  });
  const next = kinds[values];
  return (/** @type {number[]} */ shape, /** @type {number} */ isLogit) => ({
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => next(isLogit)),
    shape,
  });
}

/** @param {Draw} draw @param {number[]} full @param {() => number} random */
function maskOf(draw, [batch, heads, queries, keys], random) {
  const letters = /** @type {Record<string, number>} */ ({ B: batch, H: heads, L: queries, S: keys, 1: 1 });
  const shape = draw.maskAxes.match(/[BHLS1]/g).map((/** @type {string} */ letter) => letters[letter]);
  const last = shape.length - 1;
  if (draw.maskColumns === 'short') shape[last] = Math.floor(shape[last] / 2);
  shape[last] = Math.min(shape[last], keys);
  const columns = shape[last];
  const count = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  const chosen = Math.floor(random() * columns);
  const isOpen = Array.from({ length: count }, (_, index) => {
    const [i, j] = [Math.floor(index / columns), index % columns];
    if (draw.maskFill === 'none') return false;
    if (draw.maskFill === 'one key') return j === chosen;
    if (draw.maskFill === 'a column') return j !== chosen;
    if (draw.maskFill === 'a row') return i % 3 !== 0;
    return random() < 0.5;
  });
  if (draw.mask === 'add') {
    const data = Float32Array.from(isOpen, (open) => (open ? random() * 6 - 3 : Number.NEGATIVE_INFINITY));
    return { add: { data, shape } };
  }
  const data = Uint8Array.from(
    isOpen,
    (open) => Number(open === (draw.mask === 'allow')) * (1 + Math.floor(random() * 255)),
  );
  return { [draw.mask]: { data, shape } };
}

/** @param {string} lengths @param {number} batch @param {number} keys @param {() => number} random */
function lengthsOf(lengths, batch, keys, random) {
  if (lengths === 'none') return null;
  return Int32Array.from({ length: batch }, () => {
    if (lengths === 'zero') return 0;
    return lengths === 'all' ? keys : Math.floor(random() * (keys + 1));
  });
}
