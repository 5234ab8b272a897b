/**
 * Text that knows where it came from: unit i (UTF-16) of `text` came from [starts[i], ends[i]) of the text a person gave.
 * Every normaliser and pre-tokenizer takes such a text and gives another.
 */
import { QkvError } from '../../checks/errors.js';

/** @typedef {{ text: string, starts: number[], ends: number[] }} AlignedText */
/** @typedef {(char: string) => string} CharMap from one code point to what replaces it, perhaps nothing */

/**
 * What the file may cost for one text. make: units that a step made; work: steps that were taken, each some nanoseconds.
 * @typedef {{ make: (units: number) => void, work: (steps: number) => void }} Budget
 */

/** A file may ask for a character to become a thousand, forty times over. What one step may make of a text, and all steps
 * together: the longest real expansion is 18 units for one, times the bytes of each, times a few steps. */
const MAX_UNITS = 2 ** 23;
const MAX_MADE = 2 ** 26;
const MADE_PER_UNIT = 256;
const MADE_OF_ANY = 4096;
/** And it may ask for endless comparing that makes nothing. Those of tests/golden take at most some 300 steps for a unit of
 * a long text, 500 of a short one (tests/lib/tokenizer/work.test.js); a second has some 2 ** 28 of them. */
const MAX_WORK = 2 ** 29;
const WORK_PER_UNIT = 1024;
const WORK_FOR_ANY = 2 ** 22;

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

/** @param {number} given units of the text @returns {number} the steps that may be taken for it */
export const mostWork = (given) => Math.min(MAX_WORK, WORK_FOR_ANY + WORK_PER_UNIT * given);

/** Counts what the steps make of one text, and what they take. @param {number} given units of the text @returns {Budget} */
export function newBudget(given) {
  const most = Math.min(MAX_MADE, MADE_OF_ANY + MADE_PER_UNIT * given);
  const mostSteps = mostWork(given);
  let made = 0;
  let taken = 0;
  return {
    make(units) {
      made += units;
      if (made > most) throw tooLong(most);
    },
    work(steps) {
      taken += steps;
      if (taken <= mostSteps) return;
      throw new QkvError('text', 'The work that tokenizer.json asks for on this text', {
        got: 'more',
        want: `at most ${mostSteps} steps`,
        fix: 'Take another tokenizer.json, or a shorter text.',
      });
    },
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
