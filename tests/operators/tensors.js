/** Tensors for tests. */
import { seeded } from '../api/golden.js';

/** @param {number[]} shape */
export const sizeOf = (shape) => shape.reduce((product, size) => product * size, 1);

/**
 * Numbers in [-factor, factor), the same in every run.
 * @param {number} seed
 * @param {number[]} shape
 */
export function numbers(seed, shape, factor = 2) {
  const random = seeded(seed);
  return { data: Float32Array.from({ length: sizeOf(shape) }, () => (random() * 2 - 1) * factor), shape };
}

/**
 * @param {number[]} shape
 * @param {(index: number) => boolean} [isTrue]
 */
export const flags = (shape, isTrue = () => true) => ({
  data: Uint8Array.from({ length: sizeOf(shape) }, (_, index) => Number(isTrue(index))),
  shape,
});

/**
 * @param {number[]} shape
 * @param {(index: number) => number} value
 */
export const floats = (shape, value) => ({
  data: Float32Array.from({ length: sizeOf(shape) }, (_, index) => value(index)),
  shape,
});

/**
 * query, key and value in four axes.
 * @param {number} seed
 * @param {{ batch?: number, heads?: number, kvHeads?: number, queries?: number, keys?: number, dim?: number, valueDim?: number }} [sizes]
 */
export function triple(seed, sizes = {}) {
  const { batch = 2, heads = 4, queries = 7, keys = 9, dim = 8 } = sizes;
  const { kvHeads = heads, valueDim = dim } = sizes;
  return {
    query: numbers(seed, [batch, heads, queries, dim]),
    key: numbers(seed + 1, [batch, kvHeads, keys, dim]),
    value: numbers(seed + 2, [batch, kvHeads, keys, valueDim], 1),
  };
}

/**
 * [B, H, L, E] as [B, L, H E].
 * @param {{ data: Float32Array, shape: number[] }} tensor
 */
export function sideBySide({ data, shape: [batch, heads, rows, dim] }) {
  const out = new Float32Array(data.length);
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < rows; i++)
        for (let e = 0; e < dim; e++)
          out[(b * rows + i) * heads * dim + h * dim + e] = data[((b * heads + h) * rows + i) * dim + e];
  return { data: out, shape: [batch, rows, heads * dim] };
}

/**
 * Rows [from, to) of every head of [B, H, L, E].
 * @param {{ data: Float32Array, shape: readonly number[] }} tensor
 * @param {number} from
 * @param {number} to
 */
export function rowsOf({ data, shape: [batch, heads, rows, dim] }, from, to) {
  const parts = Array.from({ length: batch * heads }, (_, at) =>
    data.subarray((at * rows + from) * dim, (at * rows + to) * dim),
  );
  return { data: Float32Array.from(parts.flatMap((part) => [...part])), shape: [batch, heads, to - from, dim] };
}
