/** A matrix with its tokens and its place in the model, as JSON. */

import { shortest } from './numbers.js';

/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */

/**
 * JSON has no NaN and no Infinity; they become null ("masked" entries are -Infinity).
 * @param {Matrix} matrix
 * @param {{ rows: string[], cols: string[] }} labels
 * @param {Record<string, string | number | null>} about written first: model, layer, head and so on
 * @returns {string}
 */
export function toMatrixJson({ rows, cols, data }, labels, about) {
  const lines = Array.from({ length: rows }, (_, row) => {
    const numbers = Array.from(data.subarray(row * cols, (row + 1) * cols), finite);
    return `    [${numbers.join(', ')}]`;
  });
  const head = Object.entries({ ...about, shape: [rows, cols], queries: labels.rows, keys: labels.cols }).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`,
  );
  return `{\n${head.join('')}  "data": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** @param {number} value */
const finite = (value) => (Number.isFinite(value) ? shortest(value) : 'null');
