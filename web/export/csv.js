/** A matrix as CSV (RFC 4180), one row a query, with the tokens as headings. */

import { shortest } from './numbers.js';

/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */

/** A cell that starts like this is a formula to spreadsheets; a leading apostrophe makes it text. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * @param {Matrix} matrix
 * @param {{ rows: string[], cols: string[] }} labels
 * @returns {string}
 */
export function toCsv({ rows, cols, data }, labels) {
  const lines = [['', ...labels.cols].map(cell).join(',')];
  for (let row = 0; row < rows; row++) {
    const numbers = Array.from(data.subarray(row * cols, (row + 1) * cols), shortest);
    lines.push([cell(labels.rows[row]), ...numbers].join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

/** @param {string} text */
function cell(text) {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
