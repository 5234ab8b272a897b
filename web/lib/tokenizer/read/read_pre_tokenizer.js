/** Pre-tokenizers: how tokenizer.json cuts a normalised text into the words that the model then cuts into tokens. */
import { eachWord, isPunctuation } from '../steps/bert_text.js';
import { byteCharsOf } from '../text/byte_level.js';
import { createTest, readRanges } from '../unicode/code_points.js';
import { choiceAt, flagAt, refusal, stepsAt, stringAt } from './json_checks.js';
import { createLiteral, createPattern } from '../pattern/pattern.js';
import { BEHAVIOURS, rewriting, splitting } from '../text/pieces.js';
import { readPattern } from './read_pattern.js';
import { NUMERIC, PATTERN_SPACE, WORD } from '../unicode/unicode_classes.js';

/** @typedef {import('./json_checks.js').Json} Json */
/** @typedef {import('../pattern/pattern.js').Finder} Finder */
/** @typedef {import('../text/pieces.js').Pieces} Pieces */
/** @typedef {import('../text/pieces.js').PreTokenizer} PreTokenizer */
/** @typedef {PreTokenizer} PreTokenize all steps, one after the other */

/** GPT-2's words: contractions, letters, digits, other signs, each with a space before it; spaces. */
const GPT2 = String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/** Steps to look at one unit, and to copy it with its place. */
const CHAR_WORK = 4;
const STEP_WORK = 8;

const isSpace = createTest(readRanges(PATTERN_SPACE));
const isWord = createTest(readRanges(WORD));
const isNumeric = createTest(readRanges(NUMERIC));

/** @param {(codePoint: number) => boolean} test @returns {Finder} each character that passes, by itself */
const eachChar = (test) => (text, from, to, onMatch, budget) => {
  budget?.work(CHAR_WORK * (to - from));
  for (let at = from; at < to; ) {
    const point = /** @type {number} */ (text.codePointAt(at));
    const next = at + (point > 0xffff ? 2 : 1);
    if (test(point)) onMatch(at, next);
    at = next;
  }
};

/** @type {Finder} */
function eachBertWord(text, from, to, onMatch, budget) {
  budget?.work(CHAR_WORK * (to - from));
  eachWord(text, from, to, onMatch);
}

/** Letters and digits in a row, or other signs in a row. @type {Finder} */
function wordsAndSigns(text, from, to, onMatch, budget) {
  budget?.work(CHAR_WORK * (to - from));
  let start = from;
  let kind = 0;
  for (let at = from; at <= to; ) {
    const point = at < to ? /** @type {number} */ (text.codePointAt(at)) : 0x20;
    const next = isWord(point) ? 1 : isSpace(point) ? 0 : 2;
    if (next !== kind) {
      if (kind !== 0) onMatch(start, at);
      start = at;
      kind = next;
    }
    at += point > 0xffff ? 2 : 1;
  }
}

/** @type {Record<string, (step: Json, key: string) => PreTokenizer>} */
const KINDS = {
  BertPreTokenizer: () => splitting(eachBertWord, BEHAVIOURS.Removed, true),
  ByteLevel: byteLevel,
  Split: (step, key) => {
    const { find } = readPattern(step.pattern, `${key}.pattern`);
    const behave = choiceAt(step.behavior, `${key}.behavior`, BEHAVIOURS);
    return splitting(find, behave, flagAt(step.invert ?? false, `${key}.invert`));
  },
  Digits: (step, key) => {
    const alone = flagAt(step.individual_digits ?? false, `${key}.individual_digits`);
    return splitting(eachChar(isNumeric), alone ? BEHAVIOURS.Isolated : BEHAVIOURS.Contiguous);
  },
  Whitespace: () => splitting(wordsAndSigns, BEHAVIOURS.Removed, true),
  WhitespaceSplit: () => splitting(eachChar(isSpace), BEHAVIOURS.Removed),
  Punctuation: (step, key) =>
    splitting(eachChar(isPunctuation), choiceAt(step.behavior ?? 'Isolated', `${key}.behavior`, BEHAVIOURS)),
  Metaspace: metaspace,
  CharDelimiterSplit: (step, key) => {
    const delimiter = stringAt(step.delimiter, `${key}.delimiter`, 2);
    if (Array.from(delimiter).length !== 1) throw refusal(`${key}.delimiter`, delimiter, 'one character');
    return splitting(createLiteral(delimiter), BEHAVIOURS.Removed);
  },
};

/** @param {unknown} value @returns {PreTokenize} */
export function readPreTokenizer(value) {
  const steps = stepsAt(value, 'pre_tokenizer', 'pretokenizers').map(({ key, step }) => {
    const kind = typeof step.type === 'string' && Object.hasOwn(KINDS, step.type) ? KINDS[step.type] : null;
    if (kind === null) throw refusal(`${key}.type`, step.type, `one of ${Object.keys(KINDS).join(', ')}`);
    return kind(step, key);
  });
  return (pieces, budget) =>
    steps.reduce((before, step) => {
      const after = step(before, budget);
      if (after.source !== before.source) budget.work(STEP_WORK * after.source.text.length);
      budget.make(after.source.text.length);
      return after;
    }, pieces);
}

/** @param {Json} step @param {string} key @returns {PreTokenizer} */
function byteLevel(step, key) {
  const addSpace = flagAt(step.add_prefix_space ?? true, `${key}.add_prefix_space`);
  const cutWords = flagAt(step.use_regex ?? true, `${key}.use_regex`)
    ? splitting(
        createPattern(GPT2, (problem) => refusal(key, problem, 'ByteLevel')),
        BEHAVIOURS.Isolated,
      )
    : (/** @type {Pieces} */ pieces) => pieces;
  return (pieces, budget) => {
    const cut = cutWords(addSpace ? prefixing(pieces, ' ', () => true) : pieces, budget);
    const { text, starts, ends } = cut.source;
    return rewriting(cut, (push, from, to) => {
      for (let at = from; at < to; ) {
        const point = /** @type {number} */ (text.codePointAt(at));
        push(byteCharsOf(point), starts[at], ends[at]);
        at += point > 0xffff ? 2 : 1;
      }
    });
  };
}

/**
 * Puts a mark before each piece that does not begin with it; the mark has the place of the first character.
 * @param {Pieces} pieces
 * @param {string} mark
 * @param {(from: number) => boolean} wanted
 * @returns {Pieces}
 */
function prefixing(pieces, mark, wanted) {
  const { text, starts, ends } = pieces.source;
  if (pieces.froms.every((from) => text.startsWith(mark, from) || !wanted(from))) return pieces;
  return rewriting(pieces, (push, from, to) => {
    if (!text.startsWith(mark, from) && wanted(from)) push(mark, starts[from], ends[from]);
    for (let at = from; at < to; at++) push(text[at], starts[at], ends[at]);
  });
}

/** @param {Json} step @param {string} key @returns {PreTokenizer} */
function metaspace(step, key) {
  const mark = stringAt(step.replacement, `${key}.replacement`, 2);
  if (Array.from(mark).length !== 1) throw refusal(`${key}.replacement`, mark, 'one character');
  // Older files have add_prefix_space in place of the scheme.
  const older = flagAt(step.add_prefix_space ?? true, `${key}.add_prefix_space`) ? 'always' : 'never';
  const scheme = choiceAt(step.prepend_scheme ?? older, `${key}.prepend_scheme`, { always: 2, first: 1, never: 0 });
  const split = flagAt(step.split ?? true, `${key}.split`);
  const cutWords = splitting(createLiteral(mark), BEHAVIOURS.MergedWithNext);
  return (pieces, budget) => {
    const { text, starts, ends } = pieces.source;
    budget.work(STEP_WORK * text.length);
    const marked = rewriting(pieces, (push, from, to) => {
      for (let at = from; at < to; at++) push(text[at] === ' ' ? mark : text[at], starts[at], ends[at]);
    });
    const wanted = (/** @type {number} */ from) => scheme === 2 || (scheme === 1 && marked.source.starts[from] === 0);
    const prefixed = prefixing(marked, mark, wanted);
    return split ? cutWords(prefixed, budget) : prefixed;
  };
}
