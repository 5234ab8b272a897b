/**
 * BERT's text cleaning and word splitting, one code point at a time, so that every character of the result knows where
 * it came from. Same results as BertNormalizer and BertPreTokenizer of the Rust package tokenizers, whose order is
 * kept: clean, Chinese characters, accents, lower case.
 *
 * Working by code point is exact here: the only thing that normalising the whole text would add is the reordering of
 * combining marks, and these are dropped or, where the package's older tables keep one, sit inside a word that no
 * vocabulary spells. It also is why a capital sigma at the end of a word becomes σ, never ς, as in the package.
 */
import { CHINESE, MARKS, PUNCTUATION, REMOVED, SPACE } from '../unicode/bert_classes.js';
import { createTest, readRanges, union } from '../unicode/code_points.js';
import { CANONICAL } from '../unicode/unicode_marks.js';

/**
 * @typedef {object} BertOptions
 * @property {boolean} clean drop control characters, make every kind of space a plain one
 * @property {boolean} chinese put spaces around Chinese characters
 * @property {boolean} accents decompose and drop combining marks
 * @property {boolean} lower
 */

/** @typedef {import('../text/aligned_text.js').CharMap} CharMap */

/** @param {string} ranges @returns {RegExp} */
function classOf(ranges) {
  const source = ranges.trim().replace(/[0-9a-f]+/g, '\\u{$&}');
  return new RegExp(`[${source.replace(/\s+/g, '')}]`, 'u');
}

const chinese = classOf(CHINESE);
const marks = classOf(MARKS);
const allMarks = new RegExp(marks.source, 'gu');
const punctuation = classOf(PUNCTUATION);
const removed = classOf(REMOVED);
const space = classOf(SPACE);
/** What the package takes apart, whatever newer versions of Unicode the browser has. */
const decomposed = createTest(union(readRanges(CANONICAL), [0xac00, 0xd7a3]));

/** A lone surrogate counts as U+FFFD: the Rust package takes UTF-8, which has none. */
const LONE_SURROGATE = /^[\ud800-\udfff]$/;

/** @param {string} char @returns {string} */
function clean(char) {
  if (removed.test(char)) return '';
  return space.test(char) ? ' ' : char;
}

/** @param {string} text @returns {string} */
function withoutMarks(text) {
  // Chinese characters have spaces around them by now, and some are taken apart as well.
  const whole = Array.from(text, (char) =>
    decomposed(/** @type {number} */ (char.codePointAt(0))) ? char.normalize('NFD') : char,
  );
  return whole.join('').replace(allMarks, '');
}

/** @param {string} text @returns {string} lower case of each code point by itself */
function lower(text) {
  return Array.from(text, (char) => char.toLowerCase()).join('');
}

/**
 * What each code point becomes. Results are remembered: texts use few different characters.
 * @param {BertOptions} options
 * @returns {CharMap}
 */
export function bertCharMap(options) {
  /** @type {Map<string, string>} */
  const known = new Map();
  /** @param {string} char */
  const compute = (char) => {
    let text = LONE_SURROGATE.test(char) ? '\ufffd' : char;
    if (options.clean) text = clean(text);
    if (options.chinese && chinese.test(text)) text = ` ${text} `;
    if (options.accents) text = withoutMarks(text);
    return options.lower ? lower(text) : text;
  };
  return (char) => {
    const before = known.get(char);
    if (before !== undefined) return before;
    const text = compute(char);
    known.set(char, text);
    return text;
  };
}

/** @type {Map<number, number>} */
const kinds = new Map();
const WORD = 0;
const GAP = 1;
const ALONE = 2;

/** @param {number} codePoint @returns {number} */
function kindOf(codePoint) {
  let kind = kinds.get(codePoint);
  if (kind === undefined) {
    const char = String.fromCodePoint(codePoint);
    kind = space.test(char) ? GAP : punctuation.test(char) ? ALONE : WORD;
    kinds.set(codePoint, kind);
  }
  return kind;
}

/** @param {number} codePoint @returns {boolean} */
export const isPunctuation = (codePoint) => kindOf(codePoint) === ALONE;

/**
 * Words are what stands between spaces; each punctuation mark is a word of its own.
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @param {(start: number, end: number) => void} onWord
 */
export function eachWord(text, from, to, onWord) {
  let start = from;
  let at = from;
  while (at < to) {
    const codePoint = /** @type {number} */ (text.codePointAt(at));
    const next = at + (codePoint > 0xffff ? 2 : 1);
    const kind = kindOf(codePoint);
    if (kind !== WORD) {
      if (start < at) onWord(start, at);
      if (kind === ALONE) onWord(at, next);
      start = next;
    }
    at = next;
  }
  if (start < to) onWord(start, to);
}
