/**
 * NFC, NFD, NFKC and NFKD with the origin of every character. What single characters decompose into comes from
 * String.prototype.normalize, but only for those that the Rust package decomposes: newer ones stay whole in every
 * browser. Unicode promises that the others never change.
 *
 * Origins are the package's: the k-th character that is not an addition takes the place of the k-th one of the source,
 * an addition that of the one before; a composed character has the place of its first part.
 */
import { createBuilder, sizeAt } from '../text/aligned_text.js';
import { createTest, readRanges, union } from '../unicode/code_points.js';
import { CANONICAL, COMPATIBLE, ORDERS, SECONDS } from '../unicode/unicode_marks.js';

/** @typedef {import('../text/aligned_text.js').AlignedText} AlignedText */
/** @typedef {import('../text/aligned_text.js').Budget} Budget */
/** @typedef {'NFC' | 'NFD' | 'NFKC' | 'NFKD'} FormName */

/**
 * A text on its way: characters, how many of the source's each stands for (0: it is an addition), and their orders.
 * @typedef {{ chars: string[], stands: number[], orders: number[] }} Working
 */

/** Combining classes are below this. */
const ORDERS_END = 256;
const SYLLABLES = [0xac00, 0xd7a3];
const VOWELS_AND_TAILS = [0x1161, 0x1175, 0x11a8, 0x11c2];
const REMEMBERED = 20_000;
/** Steps for a unit: it is taken apart, sorted among its marks, joined and written. */
const FORM_WORK = 64;

/** @type {Map<string, number>} combining class of what has one other than 0 */
const orderOf = readOrders();
const canonical = createTest(union(readRanges(CANONICAL), SYLLABLES));
const compatible = createTest(readRanges(COMPATIBLE));
const joinsBefore = createTest(union(readRanges(SECONDS), VOWELS_AND_TAILS));

function readOrders() {
  /** @type {Map<string, number>} */
  const orders = new Map();
  for (const [, order, spans] of ORDERS.matchAll(/(\d+):([^:]*)(?=\s\d+:|$)/g)) {
    const set = readRanges(spans);
    for (let i = 0; i < set.length; i += 2) {
      for (let point = set[i]; point <= set[i + 1]; point++) orders.set(String.fromCodePoint(point), Number(order));
    }
  }
  return orders;
}

/** @param {FormName} name @returns {(source: AlignedText, budget: Budget) => AlignedText} */
export function createForm(name) {
  const decompose = createDecompose(name.startsWith('NFK'));
  const join = name.endsWith('C') ? createJoin() : null;
  return (source, { work }) => {
    if (isPlain(source.text)) return source;
    work(FORM_WORK * source.text.length);
    const working = decompose(source.text);
    sortMarks(working);
    if (join !== null) compose(working, join);
    return settle(source, working);
  };
}

/** @param {string} text @returns {boolean} nothing in it takes part in any form */
const isPlain = (text) => /^[\0-\x7f]*$/.test(text);

/** @param {boolean} further whether compatibility characters are taken apart as well */
function createDecompose(further) {
  /** @type {Map<string, string[]>} */
  const known = new Map();
  /** @param {string} char @returns {string[]} */
  const partsOf = (char) => {
    const point = /** @type {number} */ (char.codePointAt(0));
    if (further && (compatible(point) || canonical(point))) return Array.from(char.normalize('NFKD'));
    return canonical(point) ? Array.from(char.normalize('NFD')) : [char];
  };
  /** @param {string} text @returns {Working} */
  return (text) => {
    /** @type {Working} */
    const working = { chars: [], stands: [], orders: [] };
    for (const char of text) {
      const parts = char < '\x80' ? [char] : remembered(known, char, partsOf);
      for (let i = 0; i < parts.length; i++) {
        working.chars.push(parts[i]);
        working.stands.push(i === 0 ? 1 : 0);
        working.orders.push(orderOf.get(parts[i]) ?? 0);
      }
    }
    return working;
  };
}

/**
 * @template T
 * @param {Map<string, T>} known
 * @param {string} key
 * @param {(key: string) => T} compute
 * @returns {T}
 */
function remembered(known, key, compute) {
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size >= REMEMBERED) known.clear();
  const value = compute(key);
  known.set(key, value);
  return value;
}

/** Marks in a row stand in the order of their classes: a row is counted by class, so its length costs no more. @param {Working} working */
function sortMarks(working) {
  const { chars, orders } = working;
  for (let from = 0; from < chars.length; from++) {
    if (orders[from] === 0) continue;
    let to = from + 1;
    let sorted = true;
    while (to < chars.length && orders[to] !== 0) {
      sorted &&= orders[to] >= orders[to - 1];
      to++;
    }
    if (!sorted) sortRow(working, from, to);
    from = to;
  }
}

/** @param {Working} working @param {number} from @param {number} to */
function sortRow({ chars, stands, orders }, from, to) {
  const places = new Uint32Array(ORDERS_END + 1);
  for (let i = from; i < to; i++) places[orders[i] + 1]++;
  for (let order = 0; order < ORDERS_END; order++) places[order + 1] += places[order];
  const row = { chars: chars.slice(from, to), stands: stands.slice(from, to), orders: orders.slice(from, to) };
  row.orders.forEach((order, i) => {
    const place = from + places[order]++;
    chars[place] = row.chars[i];
    stands[place] = row.stands[i];
    orders[place] = order;
  });
}

/** @returns {(first: string, second: string) => string | null} the character of both, if there is one */
function createJoin() {
  /** @type {Map<string, string | null>} */
  const known = new Map();
  /** @param {string} both */
  const joined = (both) => {
    const composed = both.normalize('NFC');
    const point = /** @type {number} */ (composed.codePointAt(0));
    return composed.length === sizeAt(composed, 0) && canonical(point) ? composed : null;
  };
  return (first, second) =>
    joinsBefore(/** @type {number} */ (second.codePointAt(0))) ? remembered(known, first + second, joined) : null;
}

/** @param {Working} working changed in place @param {(first: string, second: string) => string | null} join */
function compose({ chars, stands, orders }, join) {
  let length = 0;
  let starter = -1;
  let highest = -1;
  for (let i = 0; i < chars.length; i++) {
    const order = orders[i];
    // A mark composes with its starter unless one of the same or a higher class lies between; a starter only if nothing does.
    const free = starter >= 0 && (length === starter + 1 || (order > highest && order !== 0));
    const composed = free ? join(chars[starter], chars[i]) : null;
    if (composed !== null) {
      chars[starter] = composed;
      stands[starter] += stands[i];
      continue;
    }
    if (order === 0) {
      starter = length;
      highest = -1;
    } else {
      highest = order;
    }
    chars[length] = chars[i];
    stands[length] = stands[i];
    orders[length] = order;
    length++;
  }
  chars.length = length;
  stands.length = length;
  orders.length = length;
}

/** @param {AlignedText} source @param {Working} working @returns {AlignedText} */
function settle({ text, starts, ends }, { chars, stands }) {
  const result = createBuilder();
  let at = 0;
  let before = 0;
  for (let i = 0; i < chars.length; i++) {
    const origin = stands[i] === 0 ? before : at;
    result.push(chars[i], starts[origin], ends[origin]);
    for (let n = stands[i]; n > 0; n--) {
      before = at;
      at += sizeAt(text, at);
    }
  }
  return result.done();
}
