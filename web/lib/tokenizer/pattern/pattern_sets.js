/** The sets of characters in a pattern: single ones, \p{...}, shorthands, and brackets with all that may stand in them. */
import { complement, intersection, LAST, readRanges, union } from '../unicode/code_points.js';
import { propertyOf } from '../unicode/properties.js';
import { PATTERN_SPACE, PATTERN_WORD } from '../unicode/unicode_classes.js';

/** @typedef {import('../unicode/code_points.js').Ranges} Ranges */
/** @typedef {(problem: string) => Error} Fail */
/** @typedef {(set: Ranges, negative: boolean, fail: Fail) => Ranges} Fold */
/**
 * Where the reading of a pattern is. depth: of groups and brackets; spans: how much all sets have together
 * @typedef {{ chars: string[], at: number, fail: Fail, depth: number, spans: number }} Reader
 */

const MAX_DEPTH = 20;
/** Of all sets of a pattern, with each operation on them: the longest published one needs some 40,000. */
const MAX_SPANS = 400_000;

export const WORD_SET = readRanges(PATTERN_WORD);
const SHORTHANDS = new Map([
  ['s', readRanges(PATTERN_SPACE)],
  ['d', propertyOf('Nd') ?? []],
  ['w', WORD_SET],
]);
const CONTROLS = new Map(Object.entries({ n: 10, r: 13, t: 9, f: 12, v: 11, a: 7, e: 27 }));
/** Anything but a line feed. */
const DOT = complement([10, 10]);

/** @param {string} char @returns {Ranges} */
export function point(char) {
  const code = /** @type {number} */ (char.codePointAt(0));
  return [code, code];
}

/** @param {Reader} reader @param {Ranges} set @returns {Ranges} the same, counted */
function counted(reader, set) {
  reader.spans += set.length / 2;
  if (reader.spans > MAX_SPANS) throw reader.fail('a pattern of too many sets');
  return set;
}

/** @param {Reader} reader @param {string} text @returns {boolean} whether it stood here; then it is passed */
export function take(reader, text) {
  for (let i = 0; i < text.length; i++) if (reader.chars[reader.at + i] !== text[i]) return false;
  reader.at += text.length;
  return true;
}

/**
 * @param {Reader} reader
 * @param {Fold | null} fold inside of (?i) what is in brackets folds, and properties outside of them do not
 * @returns {Ranges} a bracket, a dot or what stands for one character outside of brackets
 */
export function readSet(reader, fold) {
  if (take(reader, '[')) return bracket(reader, fold);
  if (take(reader, '.')) return DOT;
  return single(reader);
}

/** @param {Reader} reader @returns {Ranges} what stands for one character outside of brackets, or an item inside */
function single(reader) {
  const { chars, fail } = reader;
  if (!take(reader, '\\')) return point(chars[reader.at++]);
  const letter = chars[reader.at++];
  if (letter === undefined) throw fail('a "\\" at the end');
  if (letter === 'p' || letter === 'P') return counted(reader, property(reader, letter === 'P'));
  const shorthand = SHORTHANDS.get(letter.toLowerCase());
  if (shorthand !== undefined) {
    return counted(reader, letter === letter.toLowerCase() ? shorthand : complement(shorthand));
  }
  const control = CONTROLS.get(letter);
  if (control !== undefined) return [control, control];
  if (letter === 'u' || letter === 'x') return numbered(reader, letter);
  if (/[a-zA-Z0-9]/.test(letter)) throw fail(`"\\${letter}"`);
  return point(letter);
}

/** @param {Reader} reader @param {boolean} negative @returns {Ranges} */
function property(reader, negative) {
  const text = reader.chars.slice(reader.at, reader.at + 44).join('');
  const name = /^\{(\^?)([\w\s-]{1,40})\}/.exec(text);
  const set = propertyOf(name?.[2] ?? '');
  if (name === null || set === null) throw reader.fail(`the property ${text.slice(0, 24)}`);
  reader.at += name[0].length;
  return negative !== (name[1] === '^') ? complement(set) : set;
}

/** @param {Reader} reader @param {string} letter @returns {Ranges} */
function numbered(reader, letter) {
  const form = letter === 'u' ? /^([0-9a-fA-F]{4})/ : /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/;
  const found = form.exec(reader.chars.slice(reader.at, reader.at + 8).join(''));
  const value = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
  if (found === null || value > LAST) throw reader.fail(`"\\${letter}" without a code point`);
  reader.at += found[0].length;
  return [value, value];
}

/** @param {Reader} reader @param {Fold | null} fold @returns {Ranges} after the "[" */
function bracket(reader, fold) {
  const { chars, fail } = reader;
  if (++reader.depth > MAX_DEPTH) throw fail(`more than ${MAX_DEPTH} groups inside each other`);
  const negative = take(reader, '^');
  /** @type {Ranges | null} */
  let whole = null;
  /** @type {Ranges[]} */
  let items = [];
  while (!take(reader, ']')) {
    if (reader.at >= chars.length) throw fail('a "[" without "]"');
    if (chars[reader.at] === '[' && chars[reader.at + 1] === ':') throw fail('"[:"');
    if (take(reader, '&&')) {
      whole = whole === null ? union(...items) : intersection(whole, union(...items));
      counted(reader, whole);
      items = [];
    } else {
      items.push(take(reader, '[') ? bracket(reader, null) : span(reader));
    }
  }
  reader.depth--;
  const last = union(...items);
  if (last.length === 0) throw fail('an empty "[]"');
  const plain = whole === null ? last : intersection(whole, last);
  const set = fold === null ? plain : fold(plain, negative, fail);
  return counted(reader, negative ? complement(set) : set);
}

/** @param {Reader} reader @returns {Ranges} one item, or what lies between two */
function span(reader) {
  const { chars, fail } = reader;
  const first = single(reader);
  const after = chars[reader.at + 1];
  if (chars[reader.at] !== '-' || after === ']' || after === '[' || after === undefined) return first;
  reader.at++;
  const last = single(reader);
  if (first[0] !== first.at(-1) || last[0] !== last.at(-1) || first[0] > last[0]) {
    throw fail('a "-" between two sets');
  }
  return [first[0], last[0]];
}
