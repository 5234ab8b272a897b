/** One forward pass of MultiHeadAttention in wasm memory: where its arrays lie, for the sizes it was made for. It stays
 * until the next pass of other sizes, so that every step of the last one can be looked at.
 *
 *   x [*, inputs] -> q [B, L, D]; k, v [B, T, G dk]; concat [B, L, D] -> output [B, L, D]; weights [B, H, L, T]
 *   T = S + the rows of bias_k and zero attention. With the batch second the first two axes change places everywhere. */

import { writeStruct } from '../engine/describe.js';
import { allocateBlock, scratchBytes } from './blocks.js';
import { neutralFields, setStrides } from './fields.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('./mask.js').MaskLayout} MaskLayout */
/**
 * @typedef {object} PassSizes
 * @property {boolean} isBatched
 * @property {boolean} batchFirst
 * @property {number} batch B
 * @property {number} heads H
 * @property {number} kvHeads G
 * @property {number} headDim dk
 * @property {number} queries L
 * @property {number} given S
 * @property {number} keys T
 * @property {number} largestInput elements of the largest of query, key and value
 * @property {boolean} needWeights
 */
/** @typedef {{ causal: boolean, offset: number, emptyNan: boolean }} Rules */
/** @typedef {ReturnType<typeof createPass>} Pass */

const FIELD_BYTES = 4;

/**
 * Distances, in floats, between the batches, heads and rows of an array of so many rows of so many columns.
 * @param {PassSizes} sizes
 * @param {number} rows
 * @param {number} columns
 */
function stridesOf({ batchFirst, batch, headDim }, rows, columns) {
  return batchFirst
    ? { batch: rows * columns, head: headDim, row: columns }
    : { batch: columns, head: headDim, row: batch * columns };
}

/**
 * The struct of the operator but for its pointers.
 * @param {Core} core
 * @param {PassSizes} sizes
 * @param {MaskLayout | null} mask
 * @param {Rules} rules
 */
function fieldsOf(core, { batch, heads, kvHeads, headDim, queries, keys }, mask, { causal, offset, emptyNan }) {
  return Object.assign(neutralFields(), {
    batch,
    heads,
    kv_heads: kvHeads,
    queries,
    keys,
    key_dim: headDim,
    value_dim: headDim,
    stage: core.description.stages.indexOf('weights'),
    mask_allowed: 0,
    mask_columns: mask?.columns ?? 0,
    mask_batch_stride: mask?.batchStride ?? 0,
    mask_head_stride: mask?.headStride ?? 0,
    mask_row_stride: mask?.rowStride ?? 0,
    causal: causal ? 1 : 0,
    offset,
    scale: 1 / Math.sqrt(headDim),
    empty_nan: emptyNan ? 1 : 0,
  });
}

/** @param {MaskLayout | null} mask */
const maskBytes = (mask) => (mask === null ? 0 : mask.count * (mask.kind === 'flags' ? 1 : FIELD_BYTES));

/**
 * @param {Core} core
 * @param {string} call
 * @param {PassSizes} sizes
 * @param {MaskLayout | null} mask
 * @param {Rules} rules
 */
export function createPass(core, call, sizes, mask, rules) {
  const { batch, heads, kvHeads, headDim, queries, keys, needWeights } = sizes;
  const width = heads * headDim;
  const kvWidth = kvHeads * headDim;
  const ofQuery = stridesOf(sizes, queries, width);
  const ofKey = stridesOf(sizes, keys, kvWidth);
  const fields = fieldsOf(core, sizes, mask, rules);
  setStrides(fields, 'query', ofQuery);
  setStrides(fields, 'key', ofKey);
  setStrides(fields, 'value', ofKey);
  setStrides(fields, 'out', ofQuery);

  const rows = batch * queries * width;
  const kvRows = batch * keys * kvWidth;
  const weights = needWeights ? batch * heads * queries * keys : 0;
  const scratch = rows === 0 ? 0 : scratchBytes(core, call, fields);
  const { base, at } = allocateBlock(core, call, {
    x: sizes.largestInput * 4,
    q: rows * 4,
    k: kvRows * 4,
    v: kvRows * 4,
    concat: rows * 4,
    output: rows * 4,
    weights: weights * 4,
    mask: maskBytes(mask),
    scratch,
  });
  Object.assign(fields, { query: at('q'), key: at('k'), value: at('v'), out: at('concat') });
  if (needWeights) fields.stage_out = at('weights');
  if (mask) fields[mask.kind === 'add' ? 'mask_add' : 'mask_flags'] = at('mask');

  /** @param {Record<string, number>} values */
  function attend(values) {
    const { operator } = core.description;
    writeStruct(core.heap.view(base, operator.length * FIELD_BYTES), operator, values);
    core.check(call, core.call('qkv_attend', base, at('scratch'), scratch));
  }

  /**
   * Rows [n, dim] of a head or of all, out of q, k, v, concat or output.
   * @param {'q' | 'k' | 'v' | 'concat' | 'output'} name
   * @param {number} sequence
   * @param {number} column first of them
   * @param {number} dim
   */
  function rowsOf(name, sequence, column, dim) {
    const isKey = name === 'k' || name === 'v';
    const [n, stride] = isKey ? [keys, ofKey] : [queries, ofQuery];
    const all = core.heap.readFloat32(at(name), isKey ? kvRows : rows);
    const data = new Float32Array(n * dim);
    for (let i = 0; i < n; i++) {
      const from = sequence * stride.batch + i * stride.row + column;
      data.set(all.subarray(from, from + dim), i * dim);
    }
    return { shape: [n, dim], data };
  }

  /**
   * A stage [L, T] of one head, computed anew with the kernels of the pass.
   * @param {string} name
   * @param {number} sequence
   * @param {number} head
   */
  function mapOf(name, sequence, head) {
    const count = queries * keys;
    if (count === 0) return { shape: [queries, keys], data: new Float32Array(0) };
    const data = core.withMemory(call, count * FIELD_BYTES, (out) => {
      // The head's context is written once more with it, in place and with the same bits.
      const stage = core.description.stages.indexOf(name);
      attend({ ...fields, first: sequence * heads + head, count: 1, stage, stage_out: out });
      return core.heap.readFloat32(out, count);
    });
    return { shape: [queries, keys], data };
  }

  return {
    at,
    attend: () => rows > 0 && attend(fields),
    rowsOf,
    mapOf,
    sizes,
    rows,
    weights,
    free: () => core.free(base),
  };
}
