/**
 * Many heads rest on the first token, and what else they do is faint beside it. Its column can be left out of the picture:
 * of a copy of the weights, whose rows are then divided by what is left of them.
 */

/**
 * @param {Float32Array} weights [n, n]
 * @param {number} n
 * @returns {Float32Array} rows sum to 1 again; a row that saw nothing else is all zero
 */
export function withoutFirst(weights, n) {
  const copy = weights.slice();
  for (let row = 0; row < n; row++) {
    const line = copy.subarray(row * n, (row + 1) * n);
    line[0] = 0;
    const rest = line.reduce((sum, weight) => sum + weight, 0);
    if (rest > 0) for (let col = 1; col < n; col++) line[col] /= rest;
  }
  return copy;
}

/** Why a cell has no weight to show. @typedef {import('./mask.js').MaskReason | 'first'} Reason */
/** @typedef {(row: number, col: number) => Reason | null} ReasonOf */
