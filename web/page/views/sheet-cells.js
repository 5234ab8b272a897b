/** How one cell of a sheet of numbers looks: its text and its colours. */
import { cssColour, stepOf } from '../palette.js';

/** @typedef {'number' | 'weight' | 'mask'} SheetKind number: any sign; weight: 0 to 1; mask: 1 or 0, shown as what is added to a score */

/** A number in a cell: two decimals, whole numbers as they are. @param {number} x */
export function brief(x) {
  if (x === -Infinity) return '−∞';
  const size = Math.abs(x);
  if (size >= 1e5) return x.toExponential(1).replace('-', '−');
  const rounded = size >= 1000 ? x.toFixed(0) : size >= 100 ? x.toFixed(1) : x.toFixed(2);
  const whole = Math.abs(x - Math.round(x)) < 1e-6;
  return (whole ? String(Math.round(x) + 0) : rounded).replace('-', '−');
}

/** @param {number} x  @param {SheetKind} kind */
export function cellText(x, kind) {
  if (kind === 'mask') return x ? '0' : '−∞';
  return kind === 'weight' ? (Number.isInteger(x) ? String(x) : x.toFixed(3)) : brief(x);
}

/** The largest size of a finite number, which is drawn strongest. @param {Float32Array} values */
export const strongest = (values) =>
  values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);

/** Relative luminance as WCAG 2 reckons it. @param {ArrayLike<number>} channels three, 0..255 */
function luminance(channels) {
  const [r, g, b] = [0, 1, 2].map((i) => {
    const part = channels[i] / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black stands out better than white from here on; either does by 4.58 to 1 at least. */
const TURN = Math.sqrt(1.05 * 0.05) - 0.05;

/**
 * @param {HTMLElement} cell
 * @param {number} value
 * @param {SheetKind} kind
 * @param {number} most
 * @param {Uint8ClampedArray} map
 */
export function dressCell(cell, value, kind, most, map) {
  const text = cellText(value, kind);
  if (cell.textContent !== text) cell.textContent = text;
  if (kind === 'weight') {
    const step = stepOf(value, 1, 'sqrt');
    cell.dataset.ink = luminance(map.subarray(4 * step, 4 * step + 3)) < TURN ? 'light' : 'dark';
    cell.style.setProperty('--ground', cssColour(map, step));
    return;
  }
  const isOut = kind === 'mask' ? !value : value === -Infinity;
  cell.dataset.sign = isOut ? 'out' : value < 0 ? 'minus' : 'plus';
  const part = kind === 'mask' || !Number.isFinite(value) || most === 0 ? 0 : Math.abs(value) / most;
  cell.style.setProperty('--part', part.toFixed(3));
}

/** @param {string} hex #rgb or #rrggbb, as the style sheets write colours */
function channels(hex) {
  const digits = hex.slice(1);
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16));
}

/**
 * A large sheet as a picture, one pixel a number.
 * @param {HTMLCanvasElement} canvas
 * @param {Float32Array} values
 * @param {readonly [rows: number, cols: number]} shape
 * @param {number} most
 * @param {{ plus: string, minus: string, zero: string }} colours
 */
export function drawSheet(canvas, values, [rows, cols], most, colours) {
  const [plus, minus, zero] = [colours.plus, colours.minus, colours.zero].map(channels);
  const pixels = new Uint8ClampedArray(values.length * 4);
  values.forEach((value, i) => {
    const part = most ? Math.min(1, Math.abs(value) / most) : 0;
    const towards = value < 0 ? minus : plus;
    pixels.set([...zero.map((from, channel) => from + part * (towards[channel] - from)), 255], 4 * i);
  });
  canvas.width = cols;
  canvas.height = rows;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.putImageData(new ImageData(pixels, cols, rows), 0, 0);
}
