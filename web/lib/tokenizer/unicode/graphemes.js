/**
 * Where one grapheme (what a reader takes for one character) ends and the next begins, by the rules that matter for
 * sentencepiece's charsmap: it looks at graphemes of at most five bytes. Emoji sequences and Indic conjuncts are longer
 * than that however they are cut, so their rules are left out.
 */
import { createTest, readRanges } from './code_points.js';
import { BREAKING, JOINING, LEADING } from './unicode_marks.js';

const joining = createTest(readRanges(JOINING));
const leading = createTest(readRanges(LEADING));
const breaking = createTest(readRanges(BREAKING));

const LEAD = 1;
const VOWEL = 2;
const TAIL = 3;
const OPEN = 4;
const CLOSED = 5;

/** @param {number} point @returns {number} kind of Hangul, 0 for anything else */
function hangulOf(point) {
  if (point < 0x1100 || point > 0xd7fb) return 0;
  if (point <= 0x115f || (point >= 0xa960 && point <= 0xa97c)) return LEAD;
  if ((point >= 0x1160 && point <= 0x11a7) || (point >= 0xd7b0 && point <= 0xd7c6)) return VOWEL;
  if ((point >= 0x11a8 && point <= 0x11ff) || point >= 0xd7cb) return TAIL;
  if (point >= 0xac00 && point <= 0xd7a3) return (point - 0xac00) % 28 === 0 ? OPEN : CLOSED;
  return 0;
}

/** @param {number} before @param {number} after @returns {boolean} */
function oneSyllable(before, after) {
  if (before === 0 || after === 0) return false;
  if (before === LEAD) return after !== TAIL;
  if (before === VOWEL || before === OPEN) return after === VOWEL || after === TAIL;
  return after === TAIL;
}

/** @param {number} before @param {number} after code points @returns {boolean} */
function together(before, after) {
  if (before === 0x0d) return after === 0x0a;
  if (breaking(before) || breaking(after)) return false;
  return joining(after) || leading(before) || oneSyllable(hangulOf(before), hangulOf(after));
}

/**
 * @param {string} text
 * @param {(start: number, end: number) => void} onGrapheme
 */
export function eachGrapheme(text, onGrapheme) {
  let start = 0;
  let before = -1;
  for (let at = 0; at < text.length; ) {
    const point = /** @type {number} */ (text.codePointAt(at));
    if (before >= 0 && !together(before, point)) {
      onGrapheme(start, at);
      start = at;
    }
    before = point;
    at += point > 0xffff ? 2 : 1;
  }
  if (start < text.length) onGrapheme(start, text.length);
}
