/**
 * A setup as text for the address and back: `heads*n.5*t.0.5*wq.r7_65_1.5` is the preset, then what differs from it. Only
 * characters that addresses carry as they are: `*` between parts, `.` after a name, `_` between numbers.
 *
 * Addresses are written by strangers: what is read is capped and checked, and left out where it does not fit.
 */
import { PRESET_NAMES } from './presets.js';
import { changed, labelled, MOST, SHEETS, setupOf, tidy } from './setup.js';

/** @typedef {import('./setup.js').Setup} Setup */
/** @typedef {import('./setup.js').Fill} Fill */
/** @typedef {import('./setup.js').SheetName} SheetName */

/** Some 3,000 changed numbers; more work, but no link carries them. */
export const MAX_SANDBOX_LINK = 30_000;

const NUMBERS = /** @type {const} */ ({ n: 'n', m: 'm', d: 'width', h: 'heads', i: 'head' });
const SWITCHES = /** @type {const} */ ({ cross: 'cross', scaled: 'scaled' });
/** A Map, so that `constructor` and its like are just unknown keys. */
const SIDES = new Map(
  /** @type {[string, 'x' | 'y'][]} */ ([
    ['wordsx', 'x'],
    ['wordsy', 'y'],
  ]),
);
const LETTERS = new Map(
  /** @type {[string, Fill][]} */ ([
    ['p', 'preset'],
    ['r', 'random'],
    ['z', 'zero'],
    ['e', 'identity'],
    ['o', 'open'],
    ['c', 'causal'],
  ]),
);
const MASK_FILLS = ['preset', 'open', 'causal'];
const NUMBER = /^-?\d{1,7}(\.\d{1,12})?(e-\d{1,2})?$/;

/** @param {string} label */
const escaped = (label) => encodeURIComponent(label).replace(/[_*]/g, (sign) => (sign === '_' ? '%5F' : '%2A'));

/** @param {Setup} setup */
export function writeSetup(setup) {
  const before = setupOf(setup.preset);
  const parts = [/** @type {string} */ (setup.preset)];
  for (const [key, field] of Object.entries(NUMBERS)) {
    if (setup[field] !== before[field]) parts.push(`${key}.${setup[field]}`);
  }
  for (const [key, field] of Object.entries(SWITCHES)) {
    if (setup[field] !== before[field]) parts.push(`${key}.${setup[field] ? 1 : 0}`);
  }
  if (setup.temperature !== 1) parts.push(`t.${setup.temperature}`);
  for (const side of /** @type {const} */ (['x', 'y'])) {
    const pairs = [...setup.words[side]].map(([i, label]) => `${i}_${escaped(label)}`);
    if (pairs.length) parts.push(`words${side}.${pairs.join('_')}`);
  }
  for (const name of SHEETS) {
    const { fill, seed, edits } = setup.sheets[name];
    if (fill === 'preset' && edits.size === 0) continue;
    const letter = [...LETTERS].find(([, one]) => one === fill)?.[0];
    parts.push([`${name}.${letter}${seed || ''}`, ...[...edits].flat()].join('_'));
  }
  return parts.join('*');
}

/**
 * @param {string} text
 * @returns {Setup} the first preset where the text names none
 */
export function readSetup(text) {
  const [name, ...parts] = text.split('*', 40);
  const preset = PRESET_NAMES.find((one) => one === name);
  if (!preset) return setupOf(PRESET_NAMES[0]);
  let setup = setupOf(preset);
  /** @type {Record<string, number | boolean>} */
  const patch = {};
  for (const part of parts) {
    const dot = part.indexOf('.');
    const [key, value] = [part.slice(0, dot), part.slice(dot + 1)];
    const field = Object.hasOwn(NUMBERS, key) ? NUMBERS[/** @type {keyof typeof NUMBERS} */ (key)] : null;
    const side = SIDES.get(key);
    const sheet = SHEETS.find((one) => one === key);
    if (field && /^\d{1,2}$/.test(value)) patch[field] = Number(value);
    else if (Object.hasOwn(SWITCHES, key) && /^[01]$/.test(value)) patch[key] = value === '1';
    else if (key === 't' && NUMBER.test(value)) patch.temperature = Number(value);
    else if (side) setup = readWords(setup, side, value.split('_'));
    else if (sheet) setup = { ...setup, sheets: { ...setup.sheets, [sheet]: readSheet(sheet, value.split('_')) } };
  }
  return changed(setup, patch);
}

/** @param {Setup} setup  @param {'x' | 'y'} side  @param {string[]} fields */
function readWords(setup, side, fields) {
  let next = setup;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const index = Number(fields[at]);
    if (!/^\d{1,2}$/.test(fields[at]) || index >= MOST.words) continue;
    try {
      next = labelled(next, side, index, decodeURIComponent(fields[at + 1]));
    } catch {
      /* Not a percent-encoded text: the word keeps its label. */
    }
  }
  return next;
}

/** @param {SheetName} name  @param {string[]} fields  @returns {import('./setup.js').Sheet} */
function readSheet(name, fields) {
  const [, letter, digits] = /^([a-z])(\d{0,4})$/.exec(fields[0]) ?? [];
  const wanted = LETTERS.get(letter) ?? 'preset';
  const fill = MASK_FILLS.includes(wanted) === (name === 'mask') ? wanted : 'preset';
  /** @type {Map<number, number>} */
  const edits = new Map();
  for (let at = 1; at + 1 < fields.length; at += 2) {
    const place = Number(fields[at]);
    if (!/^\d{1,4}$/.test(fields[at]) || place >= MOST.width ** 2 || !NUMBER.test(fields[at + 1])) continue;
    const value = tidy(Number(fields[at + 1]));
    edits.set(place, name === 'mask' ? (value ? 1 : 0) : value);
  }
  // The numbers of a preset have their own seed.
  return { fill, seed: fill === 'preset' ? 0 : Number(digits ?? 0), edits };
}
