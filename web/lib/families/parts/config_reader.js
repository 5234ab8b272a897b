/** Reads config.json key by key. What a key holds is checked where it is read, and an error names the key, what it held
 * and what it may hold. null counts as absent wherever something is assumed for an absent key. */
import { QkvError } from '../../checks/errors.js';

/** @typedef {Record<string, unknown>} Config */
/** A whole number. Without `missing` the key must be there. */
/** @typedef {{ min?: number, max: number, missing?: number }} SizeRule */
/** above and max are the limits, the first excluded */
/** @typedef {{ above: number, max: number, missing?: number }} NumberRule */
/** @typedef {'none' | 'gelu' | 'gelu_tanh' | 'relu' | 'silu' | 'quick_gelu'} Activation */
/**
 * @typedef {object} ConfigReader
 * @property {string} label
 * @property {(key: string) => unknown} raw undefined where the key is absent
 * @property {(key: string, want: string, code?: 'config' | 'unsupported') => QkvError} wrong to be thrown
 * @property {(key: string, rule: SizeRule) => number} size
 * @property {(key: string, rule: NumberRule) => number} number
 * @property {(key: string, missing: boolean) => boolean} flag
 * @property {(key: string, missing: string) => Activation} activation missing: as transformers names it
 * @property {(key: string, length: number) => number[] | null} numbers null where the key is absent
 * @property {(key: string) => ConfigReader | null} object of the object there; null where the key is absent
 * @property {(key: string, allowed: readonly (string | boolean | number)[]) => void} only throws where the key is present
 *   and says something else, because the engine computes nothing else
 */

/** The engine's activations by the names that transformers gives them. @type {ReadonlyMap<unknown, Activation>} */
const ACTIVATIONS = new Map([
  ['gelu', 'gelu'],
  ['gelu_python', 'gelu'],
  ['gelu_new', 'gelu_tanh'],
  ['gelu_fast', 'gelu_tanh'],
  ['gelu_pytorch_tanh', 'gelu_tanh'],
  ['gelu_python_tanh', 'gelu_tanh'],
  ['relu', 'relu'],
  ['silu', 'silu'],
  ['swish', 'silu'],
  ['quick_gelu', 'quick_gelu'],
]);

/**
 * @param {Config} config an object of parsed JSON
 * @param {string} label its name for messages
 * @returns {ConfigReader}
 */
export function createReader(config, label) {
  /** @type {ConfigReader['raw']} */
  const raw = (key) => (Object.hasOwn(config, key) ? config[key] : undefined);

  /** @type {ConfigReader['wrong']} */
  const wrong = (key, want, code = 'config') => {
    const fix = code === 'unsupported' ? 'This version computes nothing else for this family.' : undefined;
    return new QkvError(code, `${label}: ${key}`, { got: raw(key) === undefined ? 'nothing' : raw(key), want, fix });
  };

  return {
    label,
    raw,
    wrong,

    size(key, { min = 1, max, missing }) {
      const value = raw(key) ?? missing;
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
      throw wrong(key, `a whole number from ${min} to ${max}`);
    },

    number(key, { above, max, missing }) {
      const value = raw(key) ?? missing;
      if (typeof value === 'number' && value > above && value <= max) return value;
      throw wrong(key, `a number above ${above}, at most ${max}`);
    },

    flag(key, missing) {
      const value = raw(key) ?? missing;
      if (typeof value === 'boolean') return value;
      throw wrong(key, 'true or false');
    },

    activation(key, missing) {
      const found = ACTIVATIONS.get(raw(key) ?? missing);
      if (found !== undefined) return found;
      throw wrong(key, [...ACTIVATIONS.keys()].join(', '), 'unsupported');
    },

    numbers(key, length) {
      const value = raw(key) ?? null;
      const isList = Array.isArray(value) && value.length === length;
      if (value === null || (isList && value.every((one) => Number.isFinite(one)))) return value;
      throw wrong(key, `an array of ${length} numbers`);
    },

    object(key) {
      const value = raw(key) ?? null;
      if (value === null) return null;
      if (typeof value !== 'object' || Array.isArray(value)) throw wrong(key, 'an object');
      return createReader(/** @type {Config} */ (value), `${label}: ${key}`);
    },

    only(key, allowed) {
      const value = raw(key) ?? null;
      if (value === null || allowed.some((one) => one === value)) return;
      throw wrong(key, allowed.join(' or '), 'unsupported');
    },
  };
}
