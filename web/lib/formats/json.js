/**
 * JSON, strictly. JSON.parse keeps the last of two equal keys without a word, turns 18446744073709551614 into another
 * number and makes `__proto__` special; a file that means one thing to us and another to the next program is how
 * damaged or hostile models get in. Objects here have no prototype, so every key is an ordinary key.
 */
import { QkvError } from '../checks/errors.js';
import { sniff } from './sniff.js';

/** @typedef {null | boolean | number | string | JsonValue[] | JsonObject} JsonValue */
/** @typedef {{ [key: string]: JsonValue }} JsonObject */

/**
 * @typedef {object} JsonLimits
 * @property {'any' | 'unsigned'} [numbers] unsigned: only whole numbers from 0 to 2^53 - 1, written as digits
 * @property {number} [maxDepth] of nested lists and objects
 * @property {number} [maxValues] in the whole text
 * @property {number} [maxBytes]
 */

const MAX_DEPTH = 64;
const MAX_VALUES = 5_000_000;
const MAX_BYTES = 100_000_000;
const SHOWN = 24;

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const UNSIGNED = /^(?:0|[1-9][0-9]*)$/;
// Unescaped part of a string: everything but quotes, backslashes and control characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const HEX = /[0-9a-fA-F]{4}/y;
/** @type {Record<string, string>} */
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
/** @type {Record<string, null | boolean>} */
const WORDS = { null: null, true: true, false: false };

/**
 * @param {Uint8Array} bytes
 * @param {string} label the file, as messages name it
 * @param {number} [maxBytes]
 * @returns {string}
 */
function decode(bytes, label, maxBytes = MAX_BYTES) {
  if (bytes.length > maxBytes) {
    throw new QkvError('json', `${label}: size in bytes`, { got: bytes.length, want: `at most ${maxBytes}` });
  }
  try {
    // ignoreBOM keeps a byte order mark in the text, where it is an error as JSON wants it.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw notJson(bytes, label, 'text that is not UTF-8', cause);
  }
}

/** @param {Uint8Array} bytes @param {string} label @param {string} got @param {unknown} [cause] @returns {QkvError} */
function notJson(bytes, label, got, cause) {
  const kind = bytes.length === 0 ? 'an empty file' : (markOf(bytes) ?? sniff(bytes));
  const known = kind !== null && kind !== 'JSON text';
  return new QkvError('json', `${label} is not JSON: ${known ? `it is ${kind}` : got}`, { cause });
}

/**
 * What stands invisibly at the beginning of files that some editors write.
 * @param {Uint8Array} bytes
 * @returns {string | null}
 */
function markOf([first, second, third]) {
  const fix = 'save it as UTF-8 without one';
  if (first === 0xef && second === 0xbb && third === 0xbf) return `text that begins with a byte order mark; ${fix}`;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isWide ? `UTF-16 that begins with a byte order mark; ${fix}` : null;
}

/**
 * @param {Uint8Array} bytes
 * @param {string} label
 * @param {JsonLimits} [limits]
 * @returns {JsonObject} objects have no prototype
 */
export function parseJson(bytes, label, limits = {}) {
  const value = parseAny(bytes, label, limits);
  if (isObject(value)) return value;
  throw new QkvError('json', label, { got: value, want: 'an object' });
}

/** As parseJson, of a file that holds a list. @param {Uint8Array} bytes @param {string} label @returns {JsonValue[]} */
export function parseJsonList(bytes, label) {
  const value = parseAny(bytes, label, {});
  if (Array.isArray(value)) return value;
  throw new QkvError('json', label, { got: value, want: 'a list' });
}

/** @param {Uint8Array} bytes @param {string} label @param {JsonLimits} limits @returns {JsonValue} */
function parseAny(bytes, label, limits) {
  const text = decode(bytes, label, limits.maxBytes);
  const kind = sniff(bytes);
  if (markOf(bytes) !== null) throw notJson(bytes, label, '');
  if (text.trim() === '' || (kind !== null && kind !== 'JSON text')) throw notJson(bytes, label, 'it holds nothing');
  return new Reader(text, label, limits).document();
}

/** @param {JsonValue | undefined} value @returns {value is JsonObject} */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A class because the place in the text is state that every step reads and moves. */
class Reader {
  /** @param {string} text @param {string} label @param {JsonLimits} limits */
  constructor(text, label, { numbers = 'any', maxDepth = MAX_DEPTH, maxValues = MAX_VALUES }) {
    this.text = text;
    this.label = label;
    this.numbers = numbers;
    this.maxDepth = maxDepth;
    this.maxValues = maxValues;
    this.values = 0;
    this.at = 0;
  }

  /** @returns {JsonValue} */
  document() {
    const value = this.value(0);
    this.skipSpace();
    if (this.at < this.text.length) throw this.wrong('the end of the file');
    return value;
  }

  /** @param {number} depth @returns {JsonValue} */
  value(depth) {
    if (++this.values > this.maxValues) throw this.wrong(`at most ${this.maxValues} values`);
    if (depth > this.maxDepth) throw this.wrong(`at most ${this.maxDepth} levels of nesting`);
    this.skipSpace();
    const char = this.text[this.at];
    if (char === '{') return this.object(depth);
    if (char === '[') return this.list(depth);
    if (char === '"') return this.string();
    return char === '-' || (char >= '0' && char <= '9') ? this.number() : this.word();
  }

  /** @param {number} depth @returns {JsonObject} */
  object(depth) {
    /** @type {JsonObject} */
    const object = Object.create(null);
    this.at++;
    if (this.taken('}')) return object;
    do {
      this.skipSpace();
      const start = this.at;
      if (this.text[start] !== '"') throw this.wrong('a key in double quotes');
      const key = this.string();
      if (key in object) {
        this.at = start;
        throw this.wrong('each key only once');
      }
      if (!this.taken(':')) throw this.wrong('":"');
      object[key] = this.value(depth + 1);
    } while (this.taken(','));
    if (!this.taken('}')) throw this.wrong('"," or "}"');
    return object;
  }

  /** @param {number} depth @returns {JsonValue[]} */
  list(depth) {
    /** @type {JsonValue[]} */
    const list = [];
    this.at++;
    if (this.taken(']')) return list;
    do list.push(this.value(depth + 1));
    while (this.taken(','));
    if (!this.taken(']')) throw this.wrong('"," or "]"');
    return list;
  }

  /** @returns {string} */
  string() {
    this.at++;
    const start = this.at;
    let result = this.match(PLAIN);
    while (this.text[this.at] !== '"') {
      if (this.text[this.at] !== '\\') throw this.wrong('a closed string without control characters');
      result += this.escape();
      result += this.match(PLAIN);
    }
    // Text from UTF-8 is well formed; only escapes can bring in half a surrogate pair.
    if (this.at - start !== result.length && LONE_SURROGATE.test(result)) throw this.wrong('whole surrogate pairs');
    this.at++;
    return result;
  }

  /** @returns {string} */
  escape() {
    const char = this.text[this.at + 1];
    if (char !== 'u') {
      const plain = char === undefined || !Object.hasOwn(ESCAPES, char) ? undefined : ESCAPES[char];
      if (plain === undefined) throw this.wrong('an escape that JSON has');
      this.at += 2;
      return plain;
    }
    this.at += 2;
    const digits = this.match(HEX);
    if (digits === '') throw this.wrong('four hexadecimal digits');
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  /** @returns {number} */
  number() {
    const start = this.at;
    const digits = this.match(NUMBER);
    const value = Number(digits);
    const end = this.at;
    this.at = start;
    if (digits === '' || !Number.isFinite(value)) throw this.wrong('a number');
    if (this.numbers === 'unsigned' && !(UNSIGNED.test(digits) && Number.isSafeInteger(value))) {
      throw this.wrong('a whole number from 0 to 2^53 - 1, in digits');
    }
    this.at = end;
    return value;
  }

  /** @returns {null | boolean} */
  word() {
    for (const [word, value] of Object.entries(WORDS)) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    throw this.wrong('a value');
  }

  skipSpace() {
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  /** @param {string} char @returns {boolean} whether it came next, after spaces */
  taken(char) {
    this.skipSpace();
    if (this.text[this.at] !== char) return false;
    this.at++;
    return true;
  }

  /** @param {RegExp} pattern sticky @returns {string} */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return '';
    this.at = pattern.lastIndex;
    return found[0];
  }

  /** @param {string} want @returns {QkvError} naming line and column */
  wrong(want) {
    const before = this.text.slice(0, this.at);
    const line = before.split('\n').length;
    const column = this.at - before.lastIndexOf('\n');
    const got = this.at < this.text.length ? this.text.slice(this.at, this.at + SHOWN) : 'the end of the file';
    return new QkvError('json', `${this.label}, line ${line}, column ${column}`, { got, want });
  }
}
