/** The struct qkv_operator as a plain object whose names are checked against the module's own list when it is written. */

/**
 * All fields at values that change nothing: no mask, no stage, no window.
 * @returns {Record<string, number>}
 */
export const neutralFields = () => ({
  query: 0,
  key: 0,
  value: 0,
  out: 0,
  stage_out: 0,
  stage: 0,
  batch: 0,
  heads: 1,
  kv_heads: 1,
  queries: 0,
  keys: 0,
  key_dim: 1,
  value_dim: 1,
  query_batch_stride: 0,
  query_head_stride: 0,
  query_row_stride: 0,
  key_batch_stride: 0,
  key_head_stride: 0,
  key_row_stride: 0,
  value_batch_stride: 0,
  value_head_stride: 0,
  value_row_stride: 0,
  out_batch_stride: 0,
  out_head_stride: 0,
  out_row_stride: 0,
  mask_add: 0,
  mask_flags: 0,
  mask_allowed: 1,
  mask_columns: 0,
  mask_batch_stride: 0,
  mask_head_stride: 0,
  mask_row_stride: 0,
  key_lengths: 0,
  offset: 0,
  offset_from_lengths: 0,
  causal: 0,
  window_left: -1,
  window_right: -1,
  scale: 1,
  softcap: 0,
  empty_nan: 0,
  first: 0,
  count: 0,
});

/**
 * @param {Record<string, number>} fields
 * @param {'query' | 'key' | 'value' | 'out'} name
 * @param {import('./shapes.js').Strides} strides
 */
export function setStrides(fields, name, { batch, head, row }) {
  fields[`${name}_batch_stride`] = batch;
  fields[`${name}_head_stride`] = head;
  fields[`${name}_row_stride`] = row;
}
