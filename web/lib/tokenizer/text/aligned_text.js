/**
 * Text that knows where it came from: unit i (UTF-16) of `text` came from [starts[i], ends[i]) of the text a person gave.
 * Every normaliser and pre-tokenizer takes such a text and gives another.
 */
import { QkvError } from '../../checks/errors.js';

/** @typedef {{ text: string, starts: number[], ends: number[] }} AlignedText */
/** @typedef {(char: string) => string} CharMap from one code point to what replaces it, perhaps nothing */

/** @typedef {(units: number) => void} Spend */

/** A file may ask for a character to become a thousand, forty times over. What one step may make of a text, and all steps
 * together: the longest real expansion is 18 units for one, times the bytes of each, times a few steps. */
const MAX_UNITS = 2 ** 23;
const MAX_SPENT = 2 ** 26;
const SPENT_PER_UNIT = 256;
const SPENT_ON_ANY = 4096;

/** @param {string} text @param {number} from @param {number} to @returns {AlignedText} as it is */
export function alignSlice(text, from, to) {
  /** @type {number[]} */
  const starts = [];
  /** @type {number[]} */
  const ends = [];
  for (let at = from; at < to; ) {
    const next = at + sizeAt(text, at);
    for (let unit = at; unit < next; unit++) {
      starts.push(at);
      ends.push(next);
    }
    at = next;
  }
  return { text: text.slice(from, to), starts, ends };
}

/** @param {AlignedText} source @param {number} from @param {number} to @returns {AlignedText} */
export function sliceAligned({ text, starts, ends }, from, to) {
  if (from === 0 && to === text.length) return { text, starts, ends };
  return { text: text.slice(from, to), starts: starts.slice(from, to), ends: ends.slice(from, to) };
}

/** @param {string} text @param {number} at @returns {number} units of the code point there */
export const sizeAt = (text, at) => (/** @type {number} */ (text.codePointAt(at)) > 0xffff ? 2 : 1);

/** @param {number} limit @returns {QkvError} */
function tooLong(limit) {
  const want = `at most ${limit} characters`;
  return new QkvError('text', 'The text as tokenizer.json rewrites it', {
    got: 'more',
    want,
    fix: 'Take another tokenizer.json, or a shorter text.',
  });
}

/** Counts what the steps make of one text. @param {number} given units of the text @returns {Spend} */
export function newBudget(given) {
  const most = Math.min(MAX_SPENT, SPENT_ON_ANY + SPENT_PER_UNIT * given);
  let spent = 0;
  return (units) => {
    spent += units;
    if (spent > most) throw tooLong(most);
  };
}

/**
 * Collects a new text piece by piece.
 * @returns {{ push: (piece: string, start: number, end: number) => void, done: () => AlignedText }}
 */
export function createBuilder() {
  /** @type {string[]} */
  const parts = [];
  /** @type {number[]} */
  const starts = [];
  /** @type {number[]} */
  const ends = [];
  return {
    push(piece, start, end) {
      if (starts.length + piece.length > MAX_UNITS) throw tooLong(MAX_UNITS);
      parts.push(piece);
      for (let i = 0; i < piece.length; i++) {
        starts.push(start);
        ends.push(end);
      }
    },
    done: () => ({ text: parts.join(''), starts, ends }),
  };
}

/** @param {AlignedText} source @param {CharMap} map @returns {AlignedText} each code point by itself */
export function mapAligned({ text, starts, ends }, map) {
  const result = createBuilder();
  let at = 0;
  for (const char of text) {
    const mapped = map(char);
    if (mapped !== '') result.push(mapped, starts[at], ends[at]);
    at += char.length;
  }
  return result.done();
}
