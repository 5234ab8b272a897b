/** The masks of MultiHeadAttention made into one, as torch merges them: true = left out, floats are added, keys behind
 * the given ones (bias_k, zero attention) take part. */

import { isGiven } from './shapes.js';
import { anyTensor, refusal, sameSize } from './tensors.js';

/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/** @typedef {import('./tensors.js').BoolTensor} BoolTensor */
/** @typedef {import('./mask.js').MaskLayout} MaskLayout */
/**
 * @typedef {object} Places
 * @property {boolean} isBatched false: query is [L, E], and masks have no axis for the batch
 * @property {number} batch
 * @property {number} heads
 * @property {number} queries L
 * @property {number} given S, the keys that masks know
 * @property {number} keys S and those behind
 */
/** @typedef {{ values: Uint8Array | Float32Array, batch: number, head: number, row: number }} Part with its strides */
/** @typedef {{ layout: MaskLayout, write: (to: Uint8Array | Float32Array) => void }} MergedMask */

/**
 * @param {string} call
 * @param {{ keyPaddingMask?: unknown, attnMask?: unknown }} masks
 * @param {number | null} edge key j is left out of query i when j > i + edge; null: none, or the engine's own
 * @param {Places} places
 * @returns {MergedMask | null}
 */
export function mergeMasks(call, { keyPaddingMask, attnMask }, edge, places) {
  const { batch, heads, queries, given, keys } = places;
  const padding = isGiven(keyPaddingMask) ? paddingPart(call, keyPaddingMask, places) : null;
  const attention = isGiven(attnMask) ? attentionPart(call, attnMask, places) : null;
  if (!padding && !attention && edge === null) return null;
  const parts = [padding, attention].filter((part) => part !== null);
  const isAdded = parts.some(({ values }) => values instanceof Float32Array);
  const batches = parts.some((part) => part.batch > 0) ? batch : 1;
  const ofHeads = parts.some((part) => part.head > 0) ? heads : 1;
  const rows = edge !== null || parts.some((part) => part.row > 0) ? queries : 1;

  /** @param {Uint8Array | Float32Array} to */
  function write(to) {
    let at = 0;
    for (let b = 0; b < batches; b++) {
      for (let h = 0; h < ofHeads; h++) {
        for (let i = 0; i < rows; i++) {
          for (let j = 0; j < given; j++) {
            const isBehind = edge !== null && j > i + edge;
            to[at++] = isAdded ? added(parts, b, h, i, j, isBehind) : flagged(parts, b, h, i, j, isBehind);
          }
          for (let j = given; j < keys; j++) to[at++] = 0;
        }
      }
    }
  }

  const row = rows === 1 ? 0 : keys;
  return {
    layout: {
      kind: isAdded ? 'add' : 'flags',
      count: batches * ofHeads * rows * keys,
      columns: keys,
      batchStride: batches === 1 ? 0 : ofHeads * rows * keys,
      headStride: ofHeads === 1 ? 0 : rows * keys,
      rowStride: row,
    },
    write,
  };
}

/**
 * @param {Part[]} parts
 * @param {number} b
 * @param {number} h
 * @param {number} i
 * @param {number} j
 * @param {boolean} isLeftOut
 */
function added(parts, b, h, i, j, isLeftOut) {
  let sum = isLeftOut ? Number.NEGATIVE_INFINITY : 0;
  for (const { values, batch, head, row } of parts) {
    const value = values[b * batch + h * head + i * row + j];
    if (values instanceof Float32Array) sum += value;
    else if (value !== 0) sum = Number.NEGATIVE_INFINITY;
  }
  return sum;
}

/**
 * @param {Part[]} parts
 * @param {number} b
 * @param {number} h
 * @param {number} i
 * @param {number} j
 * @param {boolean} isLeftOut
 */
function flagged(parts, b, h, i, j, isLeftOut) {
  if (isLeftOut) return 1;
  for (const { values, batch, head, row } of parts) if (values[b * batch + h * head + i * row + j] !== 0) return 1;
  return 0;
}

/**
 * @param {string} call
 * @param {unknown} mask
 * @param {Places} places
 * @returns {Part}
 */
function paddingPart(call, mask, { isBatched, batch, given }) {
  const axes = isBatched ? 2 : 1;
  const { data, shape } = anyTensor(call, 'keyPaddingMask', mask, axes, axes);
  if (isBatched) sameSize(call, 'keyPaddingMask', 0, shape[0], batch, 'the batch');
  sameSize(call, 'keyPaddingMask', axes - 1, shape[axes - 1], given, 'the rows of key');
  return { values: data, batch: given, head: 0, row: 0 };
}

/**
 * @param {string} call
 * @param {unknown} mask
 * @param {Places} places
 * @returns {Part}
 */
function attentionPart(call, mask, { batch, heads, queries, given }) {
  const { data, shape } = anyTensor(call, 'attnMask', mask, 2, 3);
  const axes = shape.length;
  if (axes === 3 && shape[0] !== batch * heads) {
    throw refusal(call, 'attnMask: shape[0]', shape[0], `${batch * heads}, batch times heads`);
  }
  sameSize(call, 'attnMask', axes - 2, shape[axes - 2], queries, 'the rows of query');
  sameSize(call, 'attnMask', axes - 1, shape[axes - 1], given, 'the rows of key');
  const matrix = queries * given;
  return { values: data, batch: axes === 3 ? heads * matrix : 0, head: axes === 3 ? matrix : 0, row: given };
}
