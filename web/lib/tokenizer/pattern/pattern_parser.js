/**
 * Reads the patterns of tokenizer.json (Oniguruma's syntax, as Ruby has it) into a tree: sets of characters with their
 * properties, groups, alternatives, repetition (greedy, lazy, possessive), atomic groups, a look ahead at anything and behind
 * at one character, the edges of words, lines and texts, and (?i) where each character folds to one. Everything else, what
 * refers back to a capture for instance, is refused.
 */
import { foldedSet, foldsAlone } from './case_folds.js';
import { readSet, take } from './pattern_sets.js';

/** @typedef {import('../unicode/code_points.js').Ranges} Ranges */
/** @typedef {'word' | 'inside' | 'line' | 'lineEnd' | 'text' | 'textEnd'} Edge */
/**
 * @typedef {{ kind: 'set', set: Ranges, letter?: string }
 *   | { kind: 'look', part: Tree, negative: boolean, behind: boolean }
 *   | { kind: 'edge', edge: Edge }
 *   | { kind: 'atomic', part: Tree }
 *   | { kind: 'row', parts: Tree[] }
 *   | { kind: 'choice', parts: Tree[] }
 *   | { kind: 'repeat', part: Tree, least: number, most: number, greedy: boolean }} Tree letter: of (?i)
 */
/** @typedef {import('./pattern_sets.js').Fail} Fail */
/** @typedef {import('./pattern_sets.js').Reader} Reader */

const MAX_LENGTH = 4_000;
const MAX_DEPTH = 20;
const MAX_COUNT = 100;

/** How looking ahead and behind is written: whether it is behind, and whether it is negative. */
const LOOKS = /** @type {const} */ ([
  ['?=', false, false],
  ['?!', false, true],
  ['?<=', true, false],
  ['?<!', true, true],
]);
/** @type {ReadonlyMap<string, Edge>} */
const EDGES = new Map([
  ['^', 'line'],
  ['$', 'lineEnd'],
  ['\\b', 'word'],
  ['\\B', 'inside'],
  ['\\A', 'text'],
  ['\\z', 'textEnd'],
]);

/**
 * @param {string} source
 * @param {Fail} fail makes the error for a problem
 * @returns {Tree}
 */
export function parsePattern(source, fail) {
  if (source.length > MAX_LENGTH) throw fail(`${source.length} characters, more than ${MAX_LENGTH}`);
  /** @type {Reader} */
  const reader = { chars: Array.from(source), at: 0, fail, depth: 0, spans: 0 };
  let anyCase = false;

  const tree = choice();
  if (reader.at < reader.chars.length) throw fail('a ")" without "("');
  return tree;

  /** @returns {Tree} */
  function choice() {
    if (++reader.depth > MAX_DEPTH) throw fail(`more than ${MAX_DEPTH} groups inside each other`);
    const parts = [row()];
    while (take(reader, '|')) parts.push(row());
    reader.depth--;
    return parts.length === 1 ? parts[0] : { kind: 'choice', parts };
  }

  /** @returns {Tree} */
  function row() {
    /** @type {Tree[]} */
    const parts = [];
    const { chars } = reader;
    while (reader.at < chars.length && chars[reader.at] !== '|' && chars[reader.at] !== ')') {
      const part = caseSwitch() ?? repeated(atom());
      parts.push(part);
    }
    if (!foldsAlone(parts)) throw fail('"(?i" over letters that fold to others together');
    return parts.length === 1 ? parts[0] : { kind: 'row', parts };
  }

  /** (?i) holds to the end of its group, the alternatives behind it included. @returns {Tree | null} */
  function caseSwitch() {
    const on = take(reader, '(?i)');
    if (!on && !take(reader, '(?-i)')) return null;
    const outer = anyCase;
    anyCase = on;
    const rest = choice();
    anyCase = outer;
    return rest;
  }

  /** @param {Tree} part @returns {Tree} */
  function repeated(part) {
    const counts = quantifier();
    if (counts === null) return part;
    if (part.kind === 'look' || part.kind === 'edge') throw fail('a repeated look at a neighbour');
    const [least, most, isCount] = counts;
    const isLazy = take(reader, '?');
    if (isLazy && isCount && least === most) throw fail('a "?" behind a count');
    const isPossessive = !isLazy && !isCount && take(reader, '+');
    if ('+*?{'.includes(reader.chars[reader.at] ?? ' ')) throw fail('a repetition of a repetition');
    /** @type {Tree} */
    const tree = { kind: 'repeat', part, least, most, greedy: !isLazy };
    return isPossessive ? { kind: 'atomic', part: tree } : tree;
  }

  /** @returns {[least: number, most: number, isCount: boolean] | null} */
  function quantifier() {
    if (take(reader, '*')) return [0, Infinity, false];
    if (take(reader, '+')) return [1, Infinity, false];
    if (take(reader, '?')) return [0, 1, false];
    const { chars } = reader;
    const braces = /^\{(\d{1,4})(,)?(\d{1,4})?\}/.exec(chars.slice(reader.at, reader.at + 12).join(''));
    if (chars[reader.at] !== '{') return null;
    if (braces === null) throw fail('a "{" that is no count');
    reader.at += braces[0].length;
    const least = Number(braces[1]);
    const most = braces[3] !== undefined ? Number(braces[3]) : braces[2] === undefined ? least : Infinity;
    if (least > most || most === 0 || least > MAX_COUNT || (most !== Infinity && most > MAX_COUNT)) {
      throw fail(`the count ${braces[0]}, want 1 to ${MAX_COUNT}`);
    }
    return [least, most, true];
  }

  /** @returns {Tree} */
  function atom() {
    for (const [sign, edge] of EDGES) if (take(reader, sign)) return { kind: 'edge', edge };
    if (take(reader, '(')) return group();
    const { chars } = reader;
    const char = chars[reader.at];
    if ('*+?'.includes(char)) throw fail(`"${char}"`);
    const set = readSet(reader, anyCase ? foldedSet : null);
    if (!anyCase || set.length !== 2 || set[0] !== set[1]) return { kind: 'set', set };
    return { kind: 'set', set: foldedSet(set, false, fail), letter: String.fromCodePoint(set[0]) };
  }

  /** @returns {Tree} */
  function group() {
    for (const [opening, behind, negative] of LOOKS) {
      if (!take(reader, opening)) continue;
      const part = closed();
      if (behind && part.kind !== 'set') throw fail(`"${opening}" with more than one character`);
      return { kind: 'look', part, negative, behind };
    }
    if (take(reader, '?>')) return { kind: 'atomic', part: closed() };
    const outer = anyCase;
    const name = /^\?<\w{1,40}>/.exec(reader.chars.slice(reader.at, reader.at + 43).join(''));
    if (name !== null) reader.at += name[0].length;
    else if (take(reader, '?i:')) anyCase = true;
    else if (take(reader, '?-i:')) anyCase = false;
    else if (!take(reader, '?:') && reader.chars[reader.at] === '?') {
      throw fail(`"(?${reader.chars[reader.at + 1] ?? ''}"`);
    }
    const inner = closed();
    anyCase = outer;
    // A group of its own, so that a letter in it is not taken for a neighbour of one outside.
    return inner.kind === 'set' ? { kind: 'set', set: inner.set } : inner;
  }

  /** @returns {Tree} up to the ")" */
  function closed() {
    const inner = choice();
    if (!take(reader, ')')) throw fail('a "(" without ")"');
    return inner;
  }
}
