/** Keys of a JSON file, each checked when it is asked for; what cannot be is an error that names file and key. */

import { QkvError } from '../../checks/errors.js';
import { isObject } from '../../formats/json.js';

/**
 * @typedef {object} Keys
 * @property {string} label
 * @property {boolean} isEmpty
 * @property {(key: string, want: string) => QkvError} wrong
 * @property {() => string[]} names of all keys
 * @property {(key: string) => boolean} has
 * @property {(key: string) => unknown} any
 * @property {(key: string, missing: boolean) => boolean} flag
 * @property {<T extends number | null | undefined>(key: string, missing: T) => number | T} count a whole number above 0
 * @property {(key: string) => number | null} limit may be larger than any text: 1e30 stands for none
 * @property {<T extends string | null>(key: string, missing: T) => string | T} text
 * @property {(key: string) => { [key: string]: unknown } | null} object
 * @property {(key: string) => Keys | null} inner the keys of an object in it
 */

/**
 * @param {{ [key: string]: unknown }} object
 * @param {string} label the file, for messages
 * @returns {Keys}
 */
export function keysOf(object, label) {
  /** @param {string} key */
  const objectAt = (key) => {
    const value = /** @type {import('../../formats/json.js').JsonValue} */ (object[key] ?? null);
    if (value === null || isObject(value)) return value;
    throw wrong(key, 'an object');
  };
  /** @param {string} key @param {string} want */
  const wrong = (key, want) =>
    new QkvError('format', `${label}: ${key}`, { got: object[key] === undefined ? 'nothing' : object[key], want });
  return {
    label,
    isEmpty: Object.keys(object).length === 0,
    wrong,
    names: () => Object.keys(object),
    has: (key) => object[key] !== undefined,
    any: (key) => object[key],

    flag(key, missing) {
      const value = object[key] ?? missing;
      if (typeof value === 'boolean') return value;
      throw wrong(key, 'true or false');
    },

    count(key, missing) {
      const value = object[key] ?? missing;
      if (value === missing && missing !== undefined) return missing;
      if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
      throw wrong(key, 'a whole number above 0');
    },

    limit(key) {
      const value = object[key] ?? null;
      if (value === null) return null;
      if (typeof value === 'number' && value >= 1) return Math.floor(value);
      throw wrong(key, 'a number above 0');
    },

    text(key, missing) {
      const value = object[key] ?? missing;
      if (typeof value === 'string' || value === missing) return /** @type {string} */ (value);
      throw wrong(key, 'a text');
    },

    object: objectAt,

    inner(key) {
      const value = objectAt(key);
      return value && keysOf(value, `${label}: ${key}`);
    },
  };
}
