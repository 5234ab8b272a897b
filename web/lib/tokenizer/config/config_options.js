/** How the options of tokenizer_config.json are asked for: each gives the value, or an error that names the file and the key. */
import { QkvError } from '../../checks/errors.js';
import { brief } from '../read/json_checks.js';

/** @typedef {import('../read/json_checks.js').Json} Json */
/**
 * @typedef {object} Options
 * @property {Json} config
 * @property {(key: string, missing: boolean) => boolean} flag null counts as missing
 * @property {(key: string) => string | null} text
 * @property {(key: string, missing: number, most: number) => number} count
 * @property {(key: string, got: unknown, want: string) => QkvError} refuse
 */

/** @param {Json} config @param {string} label of the file @returns {Options} */
export function createOptions(config, label) {
  const refuse = (/** @type {string} */ key, /** @type {unknown} */ got, /** @type {string} */ want) =>
    new QkvError('tokenizer', `${label}: ${key}`, { got: brief(got), want });
  return {
    config,
    refuse,
    flag(key, missing) {
      const value = config[key] ?? missing;
      if (typeof value !== 'boolean') throw refuse(key, value, 'true or false');
      return value;
    },
    text(key) {
      const value = config[key] ?? null;
      if (value !== null && typeof value !== 'string') throw refuse(key, value, 'a string');
      return value;
    },
    count(key, missing, most) {
      const value = config[key] ?? missing;
      if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
      throw refuse(key, value, `a whole number from 0 to ${most}`);
    },
  };
}
