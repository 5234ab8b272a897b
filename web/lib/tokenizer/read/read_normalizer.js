/** Normalisers: what tokenizer.json does to a text before it is cut. Each is a function from text to text, with origins. */
import { createBuilder, mapAligned, sliceAligned } from '../text/aligned_text.js';
import { bertCharMap } from '../steps/bert_text.js';
import { toByteChars } from '../text/byte_level.js';
import { createCharsmap } from '../steps/charsmap.js';
import { createTest, readRanges } from '../unicode/code_points.js';
import { flagAt, refusal, stepsAt, stringAt } from './json_checks.js';
import { readPattern } from './read_pattern.js';
import { PATTERN_SPACE } from '../unicode/unicode_classes.js';
import { createForm } from '../steps/unicode_forms.js';
import { ACCENTS } from '../unicode/unicode_marks.js';

/** @typedef {import('../text/aligned_text.js').AlignedText} AlignedText */
/** @typedef {import('./json_checks.js').Json} Json */
/** @typedef {(source: AlignedText, budget: import('../text/aligned_text.js').Budget) => AlignedText} Normalizer */
/** @typedef {Normalizer} Normalize all steps, one after the other */

const MAX_CONTENT = 1_000;
/** Steps that any normaliser takes for a unit: it is looked up, and copied with its place. */
const STEP_WORK = 8;
const MAX_CHARSMAP = 4_000_000;
const isSpace = createTest(readRanges(PATTERN_SPACE));
const isAccent = createTest(readRanges(ACCENTS));
/** sentencepiece's first clean-up: controls go, what looks like a space is one. */
const isControl = createTest([0x1, 0x8, 0xb, 0xb, 0xe, 0x1f, 0x7f, 0x7f, 0x8f, 0x8f, 0x9f, 0x9f]);
const isBlank = createTest(readRanges('9-a c-d 1680 200b-200f 2028-2029 2581 feff fffd'));

/** @type {Record<string, (step: Json, key: string) => Normalizer>} */
const KINDS = {
  BertNormalizer: (step) => bertNormalizer(step),
  NFC: () => createForm('NFC'),
  NFD: () => createForm('NFD'),
  NFKC: () => createForm('NFKC'),
  NFKD: () => createForm('NFKD'),
  Lowercase: () => (source) => mapAligned(source, (char) => char.toLowerCase()),
  StripAccents: () => (source) => mapAligned(source, (char) => (isAccent(codeOf(char)) ? '' : char)),
  Nmt: () => (source) => mapAligned(source, cleanChar),
  Replace: replacing,
  Prepend: (step, key) => prepending(stringAt(step.prepend, `${key}.prepend`, MAX_CONTENT)),
  Strip: (step, key) =>
    stripping(flagAt(step.strip_left, `${key}.strip_left`), flagAt(step.strip_right, `${key}.strip_right`)),
  Precompiled: charsmap,
  ByteLevel: () => toByteChars,
};

/** @param {unknown} value @returns {Normalize} */
export function readNormalizer(value) {
  const steps = stepsAt(value, 'normalizer', 'normalizers').map(({ key, step }) => {
    const kind = typeof step.type === 'string' && Object.hasOwn(KINDS, step.type) ? KINDS[step.type] : null;
    if (kind === null) throw refusal(`${key}.type`, step.type, `one of ${Object.keys(KINDS).join(', ')}`);
    return kind(step, key);
  });
  return (source, budget) =>
    steps.reduce((before, step) => {
      budget.work(STEP_WORK * before.text.length);
      const after = step(before, budget);
      budget.make(after.text.length);
      return after;
    }, source);
}

/** @param {string} char @returns {number} */
const codeOf = (char) => /** @type {number} */ (char.codePointAt(0));

/** @param {string} char @returns {string} */
function cleanChar(char) {
  const code = codeOf(char);
  if (isControl(code)) return '';
  return isBlank(code) ? ' ' : char;
}

/** @param {Json} step @returns {Normalizer} */
function bertNormalizer(step) {
  const lower = step.lowercase !== false;
  const map = bertCharMap({
    clean: step.clean_text !== false,
    chinese: step.handle_chinese_chars !== false,
    accents: typeof step.strip_accents === 'boolean' ? step.strip_accents : lower,
    lower,
  });
  return (source) => mapAligned(source, map);
}

/** What is put in has the place of the last character taken out. @param {Json} step @param {string} key */
function replacing(step, key) {
  const { find } = readPattern(step.pattern, `${key}.pattern`);
  const content = stringAt(step.content, `${key}.content`, MAX_CONTENT);
  /** @type {Normalizer} */
  return (source, budget) => {
    const { text, starts, ends } = source;
    const result = createBuilder();
    let done = 0;
    /** @param {number} to */
    const keep = (to) => {
      for (; done < to; done++) result.push(text[done], starts[done], ends[done]);
    };
    let changed = false;
    const onMatch = (/** @type {number} */ start, /** @type {number} */ end) => {
      changed = true;
      keep(start);
      // An addition has the place of what stands before it.
      const origin = Math.max(0, end - 1);
      if (text !== '') result.push(content, starts[origin], ends[origin]);
      done = end;
    };
    find(text, 0, text.length, onMatch, budget);
    if (!changed) return source;
    keep(text.length);
    return result.done();
  };
}

/** @param {string} prefix @returns {Normalizer} what is put in front has the place of the first character */
function prepending(prefix) {
  return (source) => {
    if (source.text === '') return source;
    const added = Array.from({ length: prefix.length });
    return {
      text: prefix + source.text,
      starts: [...added.map(() => source.starts[0]), ...source.starts],
      ends: [...added.map(() => source.ends[0]), ...source.ends],
    };
  };
}

/** @param {boolean} left @param {boolean} right @returns {Normalizer} */
function stripping(left, right) {
  return (source) => {
    const { text } = source;
    let from = 0;
    let to = text.length;
    if (left) while (from < to && isSpace(text.charCodeAt(from))) from++;
    if (right) while (to > from && isSpace(text.charCodeAt(to - 1))) to--;
    return sliceAligned(source, from, to);
  };
}

/** @param {Json} step @param {string} key @returns {Normalizer} */
function charsmap(step, key) {
  const place = `${key}.precompiled_charsmap`;
  const base64 = stringAt(step.precompiled_charsmap, place, MAX_CHARSMAP);
  // Only what is made of a GGUF file says so.
  const map = createCharsmap(bytesOf(base64, place), step.longest_match === true);
  if (map === null) throw refusal(place, `${base64.length} characters`, 'a charsmap of sentencepiece');
  return map;
}

/** @param {string} base64 @param {string} key @returns {Uint8Array} */
function bytesOf(base64, key) {
  try {
    const text = atob(base64);
    return Uint8Array.from(text, (char) => char.charCodeAt(0));
  } catch {
    throw refusal(key, `${base64.length} characters`, 'base64');
  }
}
