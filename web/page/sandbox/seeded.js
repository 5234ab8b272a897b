/**
 * Random numbers that a link can name: a number depends on its seed and its place only, so the same seed gives the same
 * matrix in every browser, and a matrix that grows keeps the numbers it had.
 */

/** Spreads the bits of a whole number, the finaliser of MurmurHash3. @param {number} bits */
function spread(bits) {
  let h = bits | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Uniform in (0, 1).
 * @param {number} seed
 * @param {number} row
 * @param {number} col
 * @param {number} draw
 */
function uniformAt(seed, row, col, draw) {
  const place = spread(spread(spread(seed + 0x9e3779b9) ^ (row + 1)) ^ ((col + 1) << 8) ^ draw);
  return (place + 0.5) / 2 ** 32;
}

/**
 * From the normal distribution with mean 0 and variance 1, by Box and Muller.
 * @param {number} seed
 * @param {number} row
 * @param {number} col
 */
export function normalAt(seed, row, col) {
  const radius = Math.sqrt(-2 * Math.log(uniformAt(seed, row, col, 1)));
  return radius * Math.cos(2 * Math.PI * uniformAt(seed, row, col, 2));
}
