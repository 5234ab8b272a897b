/** float32 numbers as text. */

/**
 * The fewest digits that give the same float32 back: 0.1 rather than 0.10000000149011612. Rows that sum to 1 still do.
 * @param {number} value
 * @returns {string} NaN, Infinity and -Infinity as these words
 */
export function shortest(value) {
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  for (let digits = 6; digits < 9; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(Number(value.toPrecision(9)));
}
