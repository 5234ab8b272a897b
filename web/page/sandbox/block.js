/**
 * A block of numbers as people paste it: rows on lines, numbers apart by tabs, commas, semicolons or spaces, as from a
 * spreadsheet; the brackets of Python and NumPy are taken as well.
 */

/** @typedef {{ values: number[][] } | { problem: 'blockEmpty' | 'blockShape' | 'blockRagged' | 'blockNumber', facts: Record<string, string | number> }} Block */

/** @param {string} field */
function numberIn(field) {
  const text = field.replace(/^−/, '-');
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

/** One number as typed. @param {string} text  @returns {number} NaN where it is none */
export const parseNumber = (text) => numberIn(text.trim());

/**
 * @param {string} text
 * @param {readonly [rows: number, cols: number]} shape what is wanted
 * @returns {Block}
 */
export function parseBlock(text, [rows, cols]) {
  const lines = text
    .replace(/\b(array|tensor)\(|\)|\[/g, ' ')
    .split(/[\n\r\]]+/)
    .map((line) => line.split(/[\s,;]+/).filter((field) => field !== ''))
    .filter((line) => line.length > 0);
  if (lines.length === 0) return { problem: 'blockEmpty', facts: { rows, cols } };
  for (const [row, line] of lines.entries()) {
    const wrong = line.find((field) => !Number.isFinite(numberIn(field)));
    if (wrong !== undefined) return { problem: 'blockNumber', facts: { row: row + 1, got: wrong.slice(0, 24) } };
  }
  const ragged = lines.findIndex((line) => line.length !== lines[0].length);
  if (ragged > 0) {
    return { problem: 'blockRagged', facts: { row: ragged + 1, got: lines[ragged].length, want: lines[0].length } };
  }
  if (lines.length !== rows || lines[0].length !== cols) {
    return { problem: 'blockShape', facts: { got: `${lines.length} × ${lines[0].length}`, want: `${rows} × ${cols}` } };
  }
  return { values: lines.map((line) => line.map(numberIn)) };
}
