/** From the shapes of query, key and value to the sizes and strides of one attention: which axis is what in the 2-D, 3-D
 * and 4-D layouts, and whether the tensors agree.
 *
 *   4-D [B, H, L, E]    3-D [B, L, H E], heads side by side    2-D [L, E], one sequence, one head
 *   L queries, S new keys, P past keys, M = P + S keys, E key width, Ev value width, G key/value heads */

import { floatTensor, refusal, sameSize } from './tensors.js';

/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/**
 * @typedef {object} Sizes
 * @property {number} rank axes of query, key, value and output
 * @property {number} batch
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} queries
 * @property {number} keys past ones included
 * @property {number} past
 * @property {boolean} hasPast
 * @property {number} keyDim
 * @property {number} valueDim
 */
/** @typedef {{ batch: number, head: number, row: number }} Strides in elements */

/** More heads than any model has; it keeps a loop over heads without rows from taking seconds. */
const MOST_HEADS = 65536;

/** @typedef {{ query: FloatTensor, key: FloatTensor, value: FloatTensor, past: { key: FloatTensor, value: FloatTensor } | null }} Tensors */

/**
 * @param {string} call
 * @param {{ query: unknown, key: unknown, value: unknown, pastKey?: unknown, pastValue?: unknown }} given
 * @returns {Tensors}
 */
export function tensorsOf(call, { query: givenQuery, key, value, pastKey, pastValue }) {
  const query = floatTensor(call, 'query', givenQuery, 2, 4);
  const rank = query.shape.length;
  return {
    query,
    key: floatTensor(call, 'key', key, rank, rank),
    value: floatTensor(call, 'value', value, rank, rank),
    past: pastOf(call, pastKey, pastValue),
  };
}

/**
 * @param {string} call
 * @param {Tensors} tensors
 * @param {{ heads?: unknown, kvHeads?: unknown }} given
 * @returns {Sizes}
 */
export function sizesOf(call, tensors, given) {
  const { past } = tensors;
  const [query, key, value] = [tensors.query.shape, tensors.key.shape, tensors.value.shape];
  const rank = query.length;
  const [queryHeads, keyHeads] = headsInShape(rank, query, key);
  const heads = headCount(call, 'heads', given.heads, queryHeads, 1);
  const kvHeads = headCount(call, 'kvHeads', given.kvHeads, keyHeads, heads);
  if (heads % kvHeads !== 0) throw refusal(call, 'heads', heads, `a multiple of the ${kvHeads} key/value heads`);
  if (rank > 2) {
    sameSize(call, 'key', 0, key[0], query[0], 'the batch of query');
    sameSize(call, 'value', 0, value[0], query[0], 'the batch of query');
  }
  if (rank === 4) sameSize(call, 'value', 1, value[1], key[1], 'the heads of key');
  const rows = rank - 2;
  if (rank === 3) return threeAxes(call, query, key, value, heads, kvHeads, past);
  sameSize(call, 'value', rows, value[rows], key[rows], 'the rows of key');
  sameSize(call, 'key', rows + 1, key[rows + 1], query[rows + 1], 'the width of query');
  const keyDim = width(call, 'query', query[rows + 1]);
  const valueDim = width(call, 'value', value[rows + 1]);
  const batch = rank === 4 ? query[0] : 1;
  return withPast(call, past, {
    rank,
    batch,
    heads,
    kvHeads,
    queries: query[rows],
    keys: key[rows],
    past: 0,
    hasPast: false,
    keyDim,
    valueDim,
  });
}

/**
 * @param {string} call
 * @param {readonly number[]} query
 * @param {readonly number[]} key
 * @param {readonly number[]} value
 * @param {number} heads
 * @param {number} kvHeads
 * @param {Tensors['past']} past
 */
function threeAxes(call, query, key, value, heads, kvHeads, past) {
  sameSize(call, 'value', 1, value[1], key[1], 'the rows of key');
  const keyDim = width(call, 'query', perHead(call, 'query', query[2], 'heads', heads));
  if (key[2] !== keyDim * kvHeads) {
    const want = `${keyDim * kvHeads}, ${kvHeads} key/value heads as wide as those of query (${keyDim})`;
    throw refusal(call, 'key: shape[2]', key[2], want, 'Name the numbers of heads with heads and kvHeads.');
  }
  const valueDim = width(call, 'value', perHead(call, 'value', value[2], 'kvHeads', kvHeads));
  return withPast(call, past, {
    rank: 3,
    batch: query[0],
    heads,
    kvHeads,
    queries: query[1],
    keys: key[1],
    past: 0,
    hasPast: false,
    keyDim,
    valueDim,
  });
}

/**
 * The heads that the shapes themselves tell: with three axes none, they lie side by side in the last one.
 * @param {number} rank
 * @param {readonly number[]} query
 * @param {readonly number[]} key
 */
function headsInShape(rank, query, key) {
  if (rank === 4) return [query[1], key[1]];
  return rank === 2 ? [1, 1] : [null, null];
}

/**
 * @param {string} call
 * @param {string} name
 * @param {unknown} given
 * @param {number | null} inShape
 * @param {number} otherwise
 */
function headCount(call, name, given, inShape, otherwise) {
  const count = given ?? inShape ?? otherwise;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > MOST_HEADS) {
    throw refusal(call, name, count, `a whole number from 1 to ${MOST_HEADS}`);
  }
  if (inShape !== null && count !== inShape) throw refusal(call, name, count, `${inShape}, as the shape says`);
  return count;
}

/**
 * @param {string} call
 * @param {string} name
 * @param {number} size
 * @param {string} option
 * @param {number} heads
 */
function perHead(call, name, size, option, heads) {
  if (size % heads !== 0) throw refusal(call, `${name}: shape[2]`, size, `a multiple of ${option} (${heads})`);
  return size / heads;
}

/**
 * @param {string} call
 * @param {string} name
 * @param {number} size
 */
function width(call, name, size) {
  if (size < 1) throw refusal(call, `${name}: width of a head`, size, 'at least 1');
  return size;
}

/**
 * @param {string} call
 * @param {unknown} pastKey
 * @param {unknown} pastValue
 */
function pastOf(call, pastKey, pastValue) {
  const hasKey = isGiven(pastKey);
  const hasValue = isGiven(pastValue);
  if (hasKey !== hasValue) {
    const name = hasKey ? 'pastValue' : 'pastKey';
    throw refusal(call, name, 'nothing', `a tensor, since ${hasKey ? 'pastKey' : 'pastValue'} is given`);
  }
  if (!hasKey) return null;
  return {
    key: floatTensor(call, 'pastKey', pastKey, 4, 4),
    value: floatTensor(call, 'pastValue', pastValue, 4, 4),
  };
}

/** @param {unknown} value */
export const isGiven = (value) => value !== undefined && value !== null;

/**
 * @param {string} call
 * @param {Tensors['past']} past
 * @param {Sizes} sizes
 */
function withPast(call, past, sizes) {
  if (!past) return sizes;
  const [key, value] = [past.key.shape, past.value.shape];
  sameSize(call, 'pastKey', 0, key[0], sizes.batch, 'the batch of query');
  sameSize(call, 'pastKey', 1, key[1], sizes.kvHeads, 'the heads of key');
  sameSize(call, 'pastKey', 3, key[3], sizes.keyDim, 'the width of a head of key');
  sameSize(call, 'pastValue', 0, value[0], sizes.batch, 'the batch of query');
  sameSize(call, 'pastValue', 1, value[1], sizes.kvHeads, 'the heads of value');
  sameSize(call, 'pastValue', 2, value[2], key[2], 'the rows of pastKey');
  sameSize(call, 'pastValue', 3, value[3], sizes.valueDim, 'the width of a head of value');
  sizes.past = key[2];
  sizes.hasPast = true;
  sizes.keys += sizes.past;
  return sizes;
}

/**
 * Strides of a tensor with `heads` heads of `rows` rows, `dim` wide.
 * @param {number} rank
 * @param {number} heads
 * @param {number} rows
 * @param {number} dim
 * @returns {Strides}
 */
export function stridesOf(rank, heads, rows, dim) {
  if (rank === 3) return { batch: rows * heads * dim, head: dim, row: heads * dim };
  return { batch: heads * rows * dim, head: rows * dim, row: dim };
}

/**
 * @param {Sizes} sizes
 * @param {number} rows
 * @param {number} dim
 * @returns {readonly number[]}
 */
export function outputShape({ rank, batch, heads }, rows, dim) {
  if (rank === 4) return Object.freeze([batch, heads, rows, dim]);
  return Object.freeze(rank === 3 ? [batch, rows, heads * dim] : [rows, dim]);
}
