/**
 * Reads the patterns of tokenizer.json (Oniguruma's syntax) into a tree. Only what published tokenizers use: sets of
 * characters, groups, alternatives, repetition, a look at one neighbour, and (?i:) over ASCII letters. Everything else,
 * captures that are referred to for instance, is refused: then matching takes time in proportion to the text.
 */
import { complement, intersection, LAST, readRanges, union } from '../unicode/code_points.js';
import {
  HAN,
  LL,
  LM,
  LO,
  LT,
  LU,
  M,
  ND,
  NL,
  NO,
  P,
  PATTERN_SPACE,
  PATTERN_WORD,
  S,
} from '../unicode/unicode_classes.js';

/** @typedef {import('../unicode/code_points.js').Ranges} Ranges */
/**
 * @typedef {{ kind: 'set', set: Ranges }
 *   | { kind: 'look', set: Ranges, negative: boolean, behind: boolean }
 *   | { kind: 'row', parts: Tree[] }
 *   | { kind: 'choice', parts: Tree[] }
 *   | { kind: 'repeat', part: Tree, least: number, most: number, greedy: boolean }} Tree
 */
/** @typedef {(problem: string) => Error} Fail */

const MAX_LENGTH = 4_000;
const MAX_DEPTH = 20;
const MAX_COUNT = 100;

/** @type {Map<string, Ranges>} */
const properties = new Map();
for (const [name, text] of Object.entries({
  Lu: LU,
  Ll: LL,
  Lt: LT,
  Lm: LM,
  Lo: LO,
  M,
  Nd: ND,
  Nl: NL,
  No: NO,
  P,
  S,
})) {
  properties.set(name, readRanges(text));
}
/** @param {...string} names */
const together = (...names) => union(...names.map((name) => properties.get(name) ?? []));
properties.set('L', together('Lu', 'Ll', 'Lt', 'Lm', 'Lo'));
properties.set('N', together('Nd', 'Nl', 'No'));
properties.set('Han', readRanges(HAN));

const SPACE = readRanges(PATTERN_SPACE);
const SHORTHANDS = new Map([
  ['s', SPACE],
  ['d', together('Nd')],
  ['w', readRanges(PATTERN_WORD)],
]);
const CONTROLS = new Map(Object.entries({ n: 10, r: 13, t: 9, f: 12, v: 11, a: 7, e: 27 }));
/** What (?i:) adds to letters: besides the other case, long s and the Kelvin sign. */
const FOLDS = new Map([
  ['s', 0x17f],
  ['k', 0x212a],
]);
/** Anything but a line feed. */
const DOT = complement([10, 10]);

/**
 * @param {string} source
 * @param {Fail} fail makes the error for a problem
 * @returns {Tree}
 */
export function parsePattern(source, fail) {
  if (source.length > MAX_LENGTH) throw fail(`${source.length} characters, more than ${MAX_LENGTH}`);
  const chars = Array.from(source);
  let at = 0;
  let depth = 0;
  let anyCase = false;

  const tree = choice();
  if (at < chars.length) throw fail('a ")" without "("');
  return tree;

  /** @param {string} text @returns {boolean} whether it stood here; then it is passed */
  function take(text) {
    for (let i = 0; i < text.length; i++) if (chars[at + i] !== text[i]) return false;
    at += text.length;
    return true;
  }

  /** @returns {Tree} */
  function choice() {
    if (++depth > MAX_DEPTH) throw fail(`more than ${MAX_DEPTH} groups inside each other`);
    const parts = [row()];
    while (take('|')) parts.push(row());
    depth--;
    return parts.length === 1 ? parts[0] : { kind: 'choice', parts };
  }

  /** @returns {Tree} */
  function row() {
    /** @type {Tree[]} */
    const parts = [];
    while (at < chars.length && chars[at] !== '|' && chars[at] !== ')') parts.push(repeated(atom()));
    if (parts.length === 0) throw fail('an empty alternative');
    return parts.length === 1 ? parts[0] : { kind: 'row', parts };
  }

  /** @param {Tree} part @returns {Tree} */
  function repeated(part) {
    const counts = quantifier();
    if (counts === null) return part;
    if (part.kind === 'look') throw fail('a repeated look at a neighbour');
    const greedy = !take('?');
    if (chars[at] === '+' || chars[at] === '*') throw fail('a repetition of a repetition');
    return { kind: 'repeat', part, least: counts[0], most: counts[1], greedy };
  }

  /** @returns {[number, number] | null} */
  function quantifier() {
    if (take('*')) return [0, Infinity];
    if (take('+')) return [1, Infinity];
    if (take('?')) return [0, 1];
    const braces = /^\{(\d{1,4})(,)?(\d{1,4})?\}/.exec(chars.slice(at, at + 12).join(''));
    if (chars[at] !== '{') return null;
    if (braces === null) throw fail('a "{" that is no count');
    at += braces[0].length;
    const least = Number(braces[1]);
    const most = braces[3] !== undefined ? Number(braces[3]) : braces[2] === undefined ? least : Infinity;
    if (least > most || most === 0 || least > MAX_COUNT || (most !== Infinity && most > MAX_COUNT)) {
      throw fail(`the count ${braces[0]}, want 1 to ${MAX_COUNT}`);
    }
    return [least, most];
  }

  /** @returns {Tree} */
  function atom() {
    const char = chars[at];
    if (take('(')) return group();
    if (take('[')) return { kind: 'set', set: cased(bracket()) };
    if (take('.')) return { kind: 'set', set: DOT };
    if ('^$*+?'.includes(char)) throw fail(`"${char}"`);
    return { kind: 'set', set: cased(single()) };
  }

  /** @returns {Tree} */
  function group() {
    for (const [opening, behind, negative] of LOOKS) {
      if (!take(opening)) continue;
      const inner = closed();
      if (inner.kind !== 'set') throw fail(`"${opening}" with more than one character`);
      return { kind: 'look', set: inner.set, negative, behind };
    }
    const outer = anyCase;
    if (take('?i:')) anyCase = true;
    else if (!take('?:') && chars[at] === '?') throw fail(`"(?${chars[at + 1] ?? ''}"`);
    const inner = closed();
    anyCase = outer;
    return inner;
  }

  /** @returns {Tree} up to the ")" */
  function closed() {
    const inner = choice();
    if (!take(')')) throw fail('a "(" without ")"');
    return inner;
  }

  /** @returns {Ranges} what stands for one character outside of brackets, or an item inside */
  function single() {
    if (!take('\\')) return point(chars[at++]);
    const letter = chars[at++];
    if (letter === undefined) throw fail('a "\\" at the end');
    if (letter === 'p' || letter === 'P') return property(letter === 'P');
    const shorthand = SHORTHANDS.get(letter.toLowerCase());
    if (shorthand !== undefined) return letter === letter.toLowerCase() ? shorthand : complement(shorthand);
    const control = CONTROLS.get(letter);
    if (control !== undefined) return [control, control];
    if (letter === 'u' || letter === 'x') return numbered(letter);
    if (/[a-zA-Z0-9]/.test(letter)) throw fail(`"\\${letter}"`);
    return point(letter);
  }

  /** @param {boolean} negative @returns {Ranges} */
  function property(negative) {
    const name = /^\{(\^?)(\w{1,20})\}/.exec(chars.slice(at, at + 24).join(''));
    const set = properties.get(name?.[2] ?? '');
    if (name === null || set === undefined) throw fail(`the property ${chars.slice(at, at + 24).join('')}`);
    at += name[0].length;
    return negative !== (name[1] === '^') ? complement(set) : set;
  }

  /** @param {string} letter @returns {Ranges} */
  function numbered(letter) {
    const form = letter === 'u' ? /^([0-9a-fA-F]{4})/ : /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/;
    const found = form.exec(chars.slice(at, at + 8).join(''));
    const value = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
    if (found === null || value > LAST) throw fail(`"\\${letter}" without a code point`);
    at += found[0].length;
    return [value, value];
  }

  /** @returns {Ranges} after the "[" */
  function bracket() {
    if (++depth > MAX_DEPTH) throw fail(`more than ${MAX_DEPTH} groups inside each other`);
    const negative = take('^');
    /** @type {Ranges | null} */
    let whole = null;
    /** @type {Ranges[]} */
    let items = [];
    while (!take(']')) {
      if (at >= chars.length) throw fail('a "[" without "]"');
      if (chars[at] === '[' && chars[at + 1] === ':') throw fail('"[:"');
      if (take('&&')) {
        whole = whole === null ? union(...items) : intersection(whole, union(...items));
        items = [];
      } else {
        items.push(take('[') ? bracket() : span());
      }
    }
    depth--;
    const last = union(...items);
    if (last.length === 0) throw fail('an empty "[]"');
    const set = whole === null ? last : intersection(whole, last);
    return negative ? complement(set) : set;
  }

  /** @returns {Ranges} one item, or what lies between two */
  function span() {
    const first = single();
    if (chars[at] !== '-' || chars[at + 1] === ']' || chars[at + 1] === '[' || chars[at + 1] === undefined)
      return first;
    at++;
    const last = single();
    if (first[0] !== first.at(-1) || last[0] !== last.at(-1) || first[0] > last[0])
      throw fail('a "-" between two sets');
    return [first[0], last[0]];
  }

  /** @param {Ranges} set @returns {Ranges} with the other case of its letters, inside of (?i:) */
  function cased(set) {
    if (!anyCase) return set;
    if (set.length > 100 || (set.at(-1) ?? 0) > 0x7f) throw fail('"(?i" over more than ASCII');
    /** @type {Ranges[]} */
    const more = [set];
    for (let i = 0; i < set.length; i += 2) {
      for (let code = set[i]; code <= set[i + 1]; code++) {
        const lower = String.fromCharCode(code).toLowerCase();
        more.push(point(lower), point(lower.toUpperCase()));
        const fold = FOLDS.get(lower);
        if (fold !== undefined) more.push([fold, fold]);
      }
    }
    return union(...more);
  }
}

/** What opens a look at a neighbour: whether at the one before, whether it must not be so. */
const LOOKS = /** @type {const} */ ([
  ['?=', false, false],
  ['?!', false, true],
  ['?<=', true, false],
  ['?<!', true, true],
]);

/** @param {string} char @returns {Ranges} */
function point(char) {
  const code = /** @type {number} */ (char.codePointAt(0));
  return [code, code];
}
