/** Keys of a JSON file, each checked when it is asked for; what cannot be is an error that names file and key. */

import { QkvError } from '../../checks/errors.js';
import { isObject } from '../../formats/json.js';

/** @typedef {ReturnType<typeof keysOf>} Keys */

/**
 * @param {{ [key: string]: unknown }} object
 * @param {string} label the file, for messages
 */
export function keysOf(object, label) {
  /** @param {string} key @param {string} want */
  const wrong = (key, want) =>
    new QkvError('format', `${label}: ${key}`, { got: object[key] === undefined ? 'nothing' : object[key], want });
  return {
    label,
    isEmpty: Object.keys(object).length === 0,
    wrong,
    /** @param {string} key */
    has: (key) => object[key] !== undefined,
    /** @param {string} key @returns {unknown} */
    any: (key) => object[key],

    /** @param {string} key @param {boolean} missing @returns {boolean} */
    flag(key, missing) {
      const value = object[key] ?? missing;
      if (typeof value === 'boolean') return value;
      throw wrong(key, 'true or false');
    },

    /** A whole number above 0. @template {number | null | undefined} T @param {string} key @param {T} missing @returns {number | T} */
    count(key, missing) {
      const value = object[key] ?? missing;
      if (value === missing && missing !== undefined) return missing;
      if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
      throw wrong(key, 'a whole number above 0');
    },

    /** A limit, which may be larger than any text: 1e30 stands for none. @param {string} key @returns {number | null} */
    limit(key) {
      const value = object[key] ?? null;
      if (value === null) return null;
      if (typeof value === 'number' && value >= 1) return Math.floor(value);
      throw wrong(key, 'a number above 0');
    },

    /** @template {string | null} T @param {string} key @param {T} missing @returns {string | T} */
    text(key, missing) {
      const value = object[key] ?? missing;
      if (typeof value === 'string' || value === missing) return /** @type {string | T} */ (value);
      throw wrong(key, 'a text');
    },

    /** @param {string} key @returns {{ [key: string]: unknown } | null} */
    object(key) {
      const value = object[key] ?? null;
      if (value === null) return null;
      if (isObject(/** @type {import('../../formats/json.js').JsonValue} */ (value))) {
        return /** @type {{ [key: string]: unknown }} */ (value);
      }
      throw wrong(key, 'an object');
    },
  };
}
