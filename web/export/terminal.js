/** A matrix as a heat map of text: colours where the terminal has them, else shades of blocks, labels on both axes.
 * What is wider than the terminal is pooled: of a map of tokens each cell shows the largest value of its square, of a
 * stage with one row a token the value of largest magnitude among some columns. */

import { fractionOf, rangeOf, viridis } from './colour_map.js';

/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */
/** @typedef {{ rows: string[], cols: string[] }} Labels */
/** @typedef {'none' | '256' | 'truecolor'} Colours */
/** @typedef {{ low: number, high: number }} Range */

const CELL = 2;
const SHADES = [' ', '░', '▒', '▓', '█'];
const NOT_A_NUMBER = '·';
const LONGEST_LABEL = 14;
/** Column labels are written downwards, and end after as many characters. */
const TALLEST_LABEL = 10;
const RESET = '\x1b[0m';
/** East Asian wide letters and emoji. */
const WIDE = new RegExp(
  '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f' +
    '\\uff00-\\uff60\\uffe0-\\uffe6\\u{20000}-\\u{3fffd}]|\\p{Emoji_Presentation}',
  'u',
);

/**
 * What a stream can show: nothing unless it is a terminal, and nothing where the user asks for none (no-color.org).
 * @param {{ isTTY?: boolean }} stream
 * @param {Record<string, string | undefined>} env
 * @returns {Colours}
 */
export function coloursOf(stream, env) {
  if (!stream.isTTY || env.NO_COLOR || env.TERM === 'dumb') return 'none';
  return /truecolor|24bit/i.test(env.COLORTERM ?? '') ? 'truecolor' : '256';
}

/**
 * @param {Matrix} matrix
 * @param {Labels} labels
 * @param {{ title: string, isWeights: boolean, isMap: boolean, colours: Colours, width: number }} options isMap: both
 * axes are tokens; width in columns
 * @returns {string}
 */
export function toTerminal(matrix, labels, { title, isWeights, isMap, colours, width }) {
  const rowLabels = labels.rows.map((label) => fit(label, LONGEST_LABEL));
  const left = Math.max(0, ...rowLabels.map(columns)) + 1;
  const factor = Math.max(1, Math.ceil((matrix.cols * CELL) / Math.max(width - left, CELL)));
  const range = rangeOf(matrix.data, isWeights);
  const high = isMap ? factor : 1;
  const shown = pool(matrix, high, factor, isMap ? (a, b) => a > b : (a, b) => Math.abs(a) > Math.abs(b));
  const strongest = factor === 1 ? strongestOf(matrix, labels, width - left - matrix.cols * CELL) : [];
  const lines = [title, ...headings(every(labels.cols, factor), left)];
  for (let row = 0; row < shown.rows; row++) {
    const label = rowLabels[row * high];
    const cells = Array.from(shown.data.subarray(row * shown.cols, (row + 1) * shown.cols), (value) =>
      cell(fractionOf(value, range), colours),
    );
    lines.push(`${' '.repeat(left - 1 - columns(label))}${label} ${cells.join('')}${strongest[row] ?? ''}`.trimEnd());
  }
  lines.push(`${' '.repeat(left)}${legend(range, colours)}`);
  if (factor > 1) lines.push(`${pooling(matrix, shown, factor, isMap)}; a wider terminal shows more.`);
  return `${lines.join('\n')}\n`;
}

/**
 * @param {Matrix} matrix
 * @param {Matrix} shown
 * @param {number} factor
 * @param {boolean} isMap
 */
function pooling({ cols }, shown, factor, isMap) {
  if (isMap) return `Each cell is the largest of ${factor} x ${factor}`;
  return `${cols} columns in ${shown.cols} cells, each the largest magnitude of ${factor}`;
}

/**
 * @param {number | null} fraction
 * @param {Colours} colours
 */
function cell(fraction, colours) {
  if (fraction === null) return NOT_A_NUMBER.repeat(CELL);
  if (colours === 'none') return shade(fraction).repeat(CELL);
  const [red, green, blue] = viridis(fraction);
  const code = colours === 'truecolor' ? `2;${red};${green};${blue}` : `5;${cube(red, green, blue)}`;
  return `\x1b[48;${code}m${' '.repeat(CELL)}${RESET}`;
}

/** @param {number} fraction */
const shade = (fraction) =>
  SHADES[Math.min(SHADES.length - 1, Math.max(0, Math.round(fraction * (SHADES.length - 1))))];

/**
 * The nearest of the 6 x 6 x 6 colours that xterm has from 16 on.
 * @param {number} red
 * @param {number} green
 * @param {number} blue
 */
function cube(red, green, blue) {
  const level = (/** @type {number} */ value) => (value < 48 ? 0 : value < 115 ? 1 : Math.floor((value - 35) / 40));
  return 16 + 36 * level(red) + 6 * level(green) + level(blue);
}

/**
 * @param {Range} range
 * @param {Colours} colours
 */
function legend({ low, high }, colours) {
  const steps = Array.from({ length: SHADES.length }, (_, step) => cell(step / (SHADES.length - 1), colours));
  return `${Number(low.toPrecision(4))} ${steps.join('')} ${Number(high.toPrecision(4))}`;
}

/**
 * Column labels from top to bottom.
 * @param {string[]} labels
 * @param {number} left
 */
function headings(labels, left) {
  const letters = labels.map((label) => Array.from(printable(label)).slice(0, TALLEST_LABEL));
  const height = Math.max(0, ...letters.map((column) => column.length));
  return Array.from({ length: height }, (_, line) => {
    const row = letters.map((column) => padded(column[line - (height - column.length)] ?? ''));
    return `${' '.repeat(left)}${row.join('')}`.trimEnd();
  });
}

/** @param {string} letter */
const padded = (letter) => letter + ' '.repeat(Math.max(0, CELL - columns(letter)));

/**
 * For each row where most of it goes, when there is room for that.
 * @param {Matrix} matrix
 * @param {Labels} labels
 * @param {number} room columns
 */
function strongestOf({ rows, cols, data }, labels, room) {
  const longest = Math.max(0, ...labels.cols.map((label) => columns(fit(label, LONGEST_LABEL))));
  if (room < longest + 11) return [];
  return Array.from({ length: rows }, (_, row) => {
    let best = 0;
    for (let col = 1; col < cols; col++) if (data[row * cols + col] > data[row * cols + best]) best = col;
    return `  ${fit(labels.cols[best], LONGEST_LABEL)} ${Number(data[row * cols + best].toPrecision(3))}`;
  });
}

/**
 * @param {Matrix} matrix
 * @param {number} high rows of the matrix in one cell
 * @param {number} wide
 * @param {(value: number, best: number) => boolean} isBetter
 * @returns {Matrix}
 */
function pool({ rows, cols, data }, high, wide, isBetter) {
  if (wide === 1) return { rows, cols, data };
  const pooled = { rows: Math.ceil(rows / high), cols: Math.ceil(cols / wide) };
  const best = new Float32Array(pooled.rows * pooled.cols).fill(Number.NaN);
  for (let at = 0; at < data.length; at++) {
    const to = Math.floor(Math.floor(at / cols) / high) * pooled.cols + Math.floor((at % cols) / wide);
    if (Number.isNaN(best[to]) || isBetter(data[at], best[to])) best[to] = data[at];
  }
  return { ...pooled, data: best };
}

/**
 * @param {string[]} list
 * @param {number} step
 */
const every = (list, step) => list.filter((_, index) => index % step === 0);

/**
 * @param {string} text
 * @param {number} most columns
 */
function fit(text, most) {
  const letters = Array.from(printable(text));
  if (columns(letters.join('')) <= most) return letters.join('');
  while (columns(letters.join('')) > most - 1) letters.pop();
  return `${letters.join('')}…`;
}

/**
 * A vocabulary may hold anything, escape sequences and changes of direction included; none may reach the terminal.
 * @param {string} text
 */
const printable = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\ufffd');

/**
 * Columns a text takes in a terminal: none for combining marks, two for East Asian wide letters and emoji.
 * @param {string} text
 */
function columns(text) {
  let sum = 0;
  for (const letter of text) {
    if (/\p{M}/u.test(letter)) continue;
    sum += WIDE.test(letter) ? 2 : 1;
  }
  return sum;
}
