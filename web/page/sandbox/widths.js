/**
 * Why attention divides by the root of dk: random queries and keys of growing width through the engine, with and without
 * the division, and how much of a row's attention its largest weight takes.
 */
import { scaledDotProductAttention } from 'qkv';
import { normalAt } from './seeded.js';

/** @typedef {import('qkv').Engine} Engine */
/** @typedef {{ largest: number, entropy: number }} Sharpness means over all rows; entropy in bits */
/** @typedef {{ dk: number, divided: Sharpness, raw: Sharpness }} WidthRow */

export const WIDTHS = /** @type {const} */ ([4, 8, 16, 32, 64, 128, 256, 512]);
export const TOKENS = 8;
const BATCH = 16;
const SEEDS = { query: 101, key: 202 };

/** @param {number} seed  @param {number} dk */
function normalTensor(seed, dk) {
  const rows = BATCH * TOKENS;
  const data = Float32Array.from({ length: rows * dk }, (_, i) => normalAt(seed, Math.floor(i / dk), i % dk));
  return { data, shape: [BATCH, 1, TOKENS, dk] };
}

/** @param {Float32Array} weights @returns {Sharpness} */
function sharpnessOf(weights) {
  const rows = weights.length / TOKENS;
  let largest = 0;
  let entropy = 0;
  for (let row = 0; row < rows; row++) {
    const own = weights.subarray(row * TOKENS, (row + 1) * TOKENS);
    largest += own.reduce((most, weight) => Math.max(most, weight), 0);
    for (const weight of own) if (weight > 0) entropy -= weight * Math.log2(weight);
  }
  return { largest: largest / rows, entropy: entropy / rows };
}

/**
 * @param {Engine} engine
 * @returns {WidthRow[]}
 */
export function measureWidths(engine) {
  return WIDTHS.map((dk) => {
    const query = normalTensor(SEEDS.query, dk);
    const key = normalTensor(SEEDS.key, dk);
    const sharpness = (/** @type {number} */ scale) =>
      sharpnessOf(
        scaledDotProductAttention(engine, { query, key, value: key, scale, returns: 'weights' }).weights.data,
      );
    return { dk, divided: sharpness(1 / Math.sqrt(dk)), raw: sharpness(1) };
  });
}
