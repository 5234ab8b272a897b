/** The mask of scaledDotProductAttention. Its convention has to be named, since half of the world means the opposite by a
 * boolean mask: torch's nn.MultiheadAttention leaves out what is true, SDPA and ONNX let it take part. */

import { refuseOthers } from '../checks/arguments.js';
import { isGiven } from './shapes.js';
import { boolTensor, floatTensor, refusal } from './tensors.js';

/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/** @typedef {import('./tensors.js').BoolTensor} BoolTensor */
/**
 * Exactly one of allow (true takes part), ignore (true is left out) and add (added to the logits; -Infinity leaves out).
 * The shape is broadcast from the right to [B, H, L, S]; keys behind a last axis that is shorter than S are left out.
 * @typedef {{ allow: BoolTensor, ignore?: undefined, add?: undefined }
 *   | { allow?: undefined, ignore: BoolTensor, add?: undefined }
 *   | { allow?: undefined, ignore?: undefined, add: FloatTensor }} AttentionMask
 */
/**
 * @typedef {object} MaskLayout
 * @property {'none' | 'flags' | 'add'} kind
 * @property {number} count elements
 * @property {number} columns
 * @property {number} batchStride 0 where the mask is the same for all
 * @property {number} headStride
 * @property {number} rowStride
 */
/** @typedef {{ layout: MaskLayout, data: Uint8Array | Float32Array | null, allowed: number }} GivenMask */

const KINDS = ['allow', 'ignore', 'add'];
/** @type {GivenMask} */
const NO_MASK = Object.freeze({
  layout: Object.freeze({ kind: 'none', count: 0, columns: 0, batchStride: 0, headStride: 0, rowStride: 0 }),
  data: null,
  allowed: 1,
});

/**
 * @param {string} call
 * @param {unknown} mask
 * @param {import('./shapes.js').Sizes} sizes
 * @returns {GivenMask}
 */
export function maskOf(call, mask, sizes) {
  if (!isGiven(mask)) return NO_MASK;
  if (typeof mask !== 'object') throw refusal(call, 'mask', typeof mask, '{allow}, {ignore} or {add}');
  const { allow, ignore, add } = /** @type {AttentionMask} */ (mask);
  if (Number(isGiven(allow)) + Number(isGiven(ignore)) + Number(isGiven(add)) !== 1) {
    const fix = 'Say what true means: allow = takes part, ignore = is left out; add = added to the logits.';
    throw refusal(call, 'mask', Object.keys(/** @type {object} */ (mask)), 'exactly one of allow, ignore, add', fix);
  }
  refuseOthers(`${call}: name in mask`, /** @type {object} */ (mask), KINDS);
  if (isGiven(add)) {
    const { data, shape } = floatTensor(call, 'mask.add', add, 1, 4);
    return { layout: layoutOf(call, 'mask.add', 'add', shape, sizes), data, allowed: 1 };
  }
  const name = isGiven(allow) ? 'mask.allow' : 'mask.ignore';
  const { data, shape } = boolTensor(call, name, allow ?? ignore, 1, 4);
  return { layout: layoutOf(call, name, 'flags', shape, sizes), data, allowed: isGiven(allow) ? 1 : 0 };
}

/**
 * @param {string} call
 * @param {string} name
 * @param {'flags' | 'add'} kind
 * @param {readonly number[]} shape
 * @param {import('./shapes.js').Sizes} sizes
 * @returns {MaskLayout}
 */
function layoutOf(call, name, kind, shape, { batch, heads, queries, keys }) {
  const axes = shape.length;
  const columns = shape[axes - 1];
  if (columns > keys) throw refusal(call, `${name}: shape[${axes - 1}]`, columns, `at most ${keys}, the keys`);
  const rows = axes < 2 ? 1 : broadcast(call, name, axes - 2, shape[axes - 2], queries, 'queries');
  const ofHeads = axes < 3 ? 1 : broadcast(call, name, axes - 3, shape[axes - 3], heads, 'heads');
  const batches = axes < 4 ? 1 : broadcast(call, name, 0, shape[0], batch, 'sequences of the batch');
  return {
    kind,
    count: batches * ofHeads * rows * columns,
    columns,
    batchStride: batches === 1 ? 0 : ofHeads * rows * columns,
    headStride: ofHeads === 1 ? 0 : rows * columns,
    rowStride: rows === 1 ? 0 : columns,
  };
}

/**
 * @param {string} call
 * @param {string} name
 * @param {number} axis
 * @param {number} size
 * @param {number} full
 * @param {string} meaning
 */
function broadcast(call, name, axis, size, full, meaning) {
  if (size !== 1 && size !== full) throw refusal(call, `${name}: shape[${axis}]`, size, `1 or ${full} ${meaning}`);
  return size;
}
