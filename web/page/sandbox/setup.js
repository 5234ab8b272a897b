/**
 * What goes into a sandbox: sizes, words, and sheets of numbers, each a fill and the numbers changed by hand. A setup is
 * never changed, only replaced; its arrays are made from it when the engine needs them. So changing a size loses no
 * number, and a link has to carry only what differs from the preset.
 */
import { SANDBOX_PRESETS } from './presets.js';
import { normalAt } from './seeded.js';

/** @typedef {import('./presets.js').SheetName} SheetName */
/** @typedef {import('./presets.js').PresetName} PresetName */
/** @typedef {import('./presets.js').PlainFill} PlainFill */
/** @typedef {'preset' | PlainFill} Fill */
/** @typedef {{ fill: Fill, seed: number, edits: ReadonlyMap<number, number> }} Sheet edits by place, see placeOf */
/** @typedef {'x' | 'y'} Side x: the words that look; y: the second source */
/**
 * @typedef {object} Setup
 * @property {PresetName} preset
 * @property {number} n words that look
 * @property {number} m words of the second source
 * @property {number} width D
 * @property {number} heads h
 * @property {boolean} cross keys and values come from the second source
 * @property {boolean} scaled divide by the root of dk
 * @property {number} temperature
 * @property {number} head the one that is shown
 * @property {Record<Side, ReadonlyMap<number, string>>} words changed labels
 * @property {Record<SheetName, Sheet>} sheets
 */

export const SHEETS = /** @type {const} */ (['x', 'y', 'wq', 'wk', 'wv', 'wo', 'mask']);
export const MOST = Object.freeze({ words: 12, width: 64, heads: 8, seed: 9999, label: 16, value: 1e6 });
export const TEMPERATURES = Object.freeze({ least: 0.01, most: 100 });
const DIGITS = 6;
/** What is smaller is 0. */
const LEAST = 1e-9;

/** A row and a column as one number, whatever the shape. @param {number} row  @param {number} col */
export const placeOf = (row, col) => row * MOST.width + col;

/** A number as it may stand in a sheet: finite, and short enough for a link. @param {number} value */
export const tidy = (value) =>
  Math.abs(value) < LEAST ? 0 : Number(Math.max(-MOST.value, Math.min(MOST.value, value)).toPrecision(DIGITS));

/** @param {PresetName} preset @returns {Setup} */
export function setupOf(preset) {
  const { words, others, cross, width, heads, scaled } = SANDBOX_PRESETS[preset];
  /** @type {Sheet} */
  const untouched = { fill: 'preset', seed: 0, edits: new Map() };
  return {
    preset,
    n: words.length,
    m: others.length || words.length,
    width,
    heads,
    cross,
    scaled,
    temperature: 1,
    head: 0,
    words: { x: new Map(), y: new Map() },
    sheets: { x: untouched, y: untouched, wq: untouched, wk: untouched, wv: untouched, wo: untouched, mask: untouched },
  };
}

/** @param {number} value  @param {number} least  @param {number} most */
const within = (value, least, most) => Math.max(least, Math.min(most, value));

/**
 * With other sizes or switches, brought into what is possible: D becomes the next multiple of h.
 * @param {Setup} setup
 * @param {Partial<Pick<Setup, 'n' | 'm' | 'width' | 'heads' | 'cross' | 'scaled' | 'temperature' | 'head'>>} patch
 * @returns {Setup}
 */
export function changed(setup, patch) {
  const next = { ...setup, ...patch };
  const heads = within(next.heads, 1, MOST.heads);
  const most = MOST.width - (MOST.width % heads);
  const width = within(Math.ceil(next.width / heads) * heads, heads, most);
  return {
    ...next,
    heads,
    width,
    n: within(next.n, 1, MOST.words),
    m: within(next.m, 1, MOST.words),
    head: within(next.head, 0, heads - 1),
    temperature: within(Number(next.temperature.toPrecision(3)), TEMPERATURES.least, TEMPERATURES.most),
  };
}

/** @param {Setup} setup  @param {SheetName} name  @param {Sheet} sheet  @returns {Setup} */
const withSheet = (setup, name, sheet) => ({ ...setup, sheets: { ...setup.sheets, [name]: sheet } });

/**
 * @param {Setup} setup
 * @param {SheetName} name
 * @param {readonly (readonly [row: number, col: number, value: number])[]} cells
 */
export function edited(setup, name, cells) {
  const sheet = setup.sheets[name];
  const edits = new Map(sheet.edits);
  for (const [row, col, value] of cells) {
    const number = tidy(value);
    if (number === baseValue(setup, name, row, col)) edits.delete(placeOf(row, col));
    else edits.set(placeOf(row, col), number);
  }
  return withSheet(setup, name, { ...sheet, edits });
}

/** A fresh start for one sheet; random again gives other numbers. @param {Setup} setup  @param {SheetName} name  @param {Fill} fill */
export function filled(setup, name, fill) {
  const { seed } = setup.sheets[name];
  const next = fill === 'random' ? (seed % MOST.seed) + 1 : fill === 'preset' ? 0 : seed;
  return withSheet(setup, name, { fill, seed: next, edits: new Map() });
}

/** @param {Setup} setup  @param {Side} side  @param {number} index  @param {string} label @returns {Setup} */
export function labelled(setup, side, index, label) {
  const words = new Map(setup.words[side]);
  const clean = label.replace(/[\p{Cc}\p{Cs}]/gu, '');
  words.set(index, [...clean].slice(0, MOST.label).join(''));
  return { ...setup, words: { ...setup.words, [side]: words } };
}

/** How many words are looked at. @param {Setup} setup */
export const keysOf = ({ cross, n, m }) => (cross ? m : n);

/** @param {Setup} setup  @param {SheetName} name  @returns {[rows: number, cols: number]} */
export function shapeOf(setup, name) {
  if (name === 'mask') return [setup.n, keysOf(setup)];
  if (name === 'x') return [setup.n, setup.width];
  return name === 'y' ? [setup.m, setup.width] : [setup.width, setup.width];
}

/** @param {Setup} setup  @param {Side} side */
export function labelsOf(setup, side) {
  const { words, others } = SANDBOX_PRESETS[setup.preset];
  const own = side === 'x' ? words : others;
  const count = side === 'x' ? setup.n : setup.m;
  return Array.from({ length: count }, (_, i) => setup.words[side].get(i) ?? own[i] ?? `${side}${i}`);
}

/** The labels of those that are looked at. @param {Setup} setup */
export const keyLabelsOf = (setup) => labelsOf(setup, setup.cross ? 'y' : 'x');

/**
 * @param {Setup} setup
 * @param {SheetName} name
 * @returns {Float32Array}
 */
export function valuesOf(setup, name) {
  const [rows, cols] = shapeOf(setup, name);
  const { edits } = setup.sheets[name];
  const values = new Float32Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      values[row * cols + col] = edits.get(placeOf(row, col)) ?? baseValue(setup, name, row, col);
    }
  }
  return values;
}

/** What a sheet has where nothing was changed. @param {Setup} setup  @param {SheetName} name  @param {number} row  @param {number} col */
function baseValue(setup, name, row, col) {
  const { fill, seed } = setup.sheets[name];
  if (fill !== 'preset') return plainValue(setup, name, fill, seed, row, col);
  const base = SANDBOX_PRESETS[setup.preset].sheets[name];
  if ('rows' in base) return base.rows[row]?.[col] ?? 0;
  return plainValue(setup, name, base.fill, base.seed ?? 0, row, col);
}

/** @param {Setup} setup  @param {SheetName} name  @param {PlainFill} fill  @param {number} seed  @param {number} row  @param {number} col */
function plainValue(setup, name, fill, seed, row, col) {
  if (fill === 'zero') return 0;
  if (fill === 'open') return 1;
  if (fill === 'identity') return row === col ? 1 : 0;
  if (fill === 'causal') return col <= row ? 1 : 0;
  /* A map's numbers are smaller, so that what it maps to has variance 1 as what it was given. */
  const spread = name === 'x' || name === 'y' ? 1 : 1 / Math.sqrt(setup.width);
  const number = normalAt(seed + MOST.seed * SHEETS.indexOf(name), row, col) * spread;
  return Math.round(number * 100) / 100 + 0;
}
