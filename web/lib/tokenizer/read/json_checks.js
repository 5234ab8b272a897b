/** How the parts of tokenizer.json are asked for: each gives the value or an error that names its place in the file. */
import { QkvError } from '../../checks/errors.js';

/** @typedef {Record<string, unknown>} Json */

const FILE = 'tokenizer.json';
const MAX_NESTING = 8;
const MAX_STEPS = 64;

/** @param {string} key @param {unknown} got @param {string} want @param {string} [fix] @returns {QkvError} */
export const refusal = (key, got, want, fix) =>
  new QkvError('tokenizer', `${FILE}: ${key}`, { got: brief(got), want, fix });

/** @param {unknown} value @returns {unknown} what an error should show of it */
export function brief(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : value;
}

/** @param {unknown} value @returns {value is Json} */
export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {unknown} value @param {string} key @returns {Json} */
export function objectAt(value, key) {
  if (!isObject(value)) throw refusal(key, value, 'an object');
  return value;
}

/** @param {unknown} value @param {string} key @param {number} limit @returns {unknown[]} */
export function listAt(value, key, limit) {
  if (!Array.isArray(value)) throw refusal(key, value, 'a list');
  if (value.length > limit) throw refusal(key, value, `at most ${limit} entries`);
  return value;
}

/** @param {unknown} value @param {string} key @param {number} [limit] @returns {string} */
export function stringAt(value, key, limit = Infinity) {
  if (typeof value !== 'string') throw refusal(key, value, 'a string');
  if (value.length > limit) throw refusal(key, `${value.length} characters`, `at most ${limit}`);
  return value;
}

/** @param {unknown} value @param {string} key @returns {boolean} */
export function flagAt(value, key) {
  if (typeof value !== 'boolean') throw refusal(key, value, 'true or false');
  return value;
}

/** @param {unknown} value @param {string} key @param {number} least @param {number} most @returns {number} */
export function wholeAt(value, key, least, most) {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw refusal(key, value, `a whole number from ${least} to ${most}`);
}

/** @param {unknown} value @param {string} key @param {number} vocab @returns {number} */
export function idAt(value, key, vocab) {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < vocab) return value;
  const fix = 'tokenizer.json and the weights may not belong together.';
  throw refusal(key, value, `a whole number from 0 to ${vocab - 1}`, fix);
}

/**
 * @template T
 * @param {unknown} value
 * @param {string} key
 * @param {Record<string, T>} choices
 * @returns {T}
 */
export function choiceAt(value, key, choices) {
  if (typeof value === 'string' && Object.hasOwn(choices, value)) return choices[value];
  throw refusal(key, value, Object.keys(choices).join(', '));
}

/**
 * The steps of a part of the file that may be null, one step, or Sequences of steps inside each other.
 * @param {unknown} value
 * @param {string} key
 * @param {string} members what a Sequence calls its list
 * @returns {{ key: string, step: Json }[]} in order
 */
export function stepsAt(value, key, members) {
  /** @type {{ key: string, step: Json }[]} */
  const steps = [];
  /** @param {unknown} node @param {string} place @param {number} depth */
  const walk = (node, place, depth) => {
    const step = objectAt(node, place);
    if (step.type !== 'Sequence') {
      if (steps.length >= MAX_STEPS) throw refusal(key, 'more steps', `at most ${MAX_STEPS}`);
      steps.push({ key: place, step });
      return;
    }
    if (depth === MAX_NESTING) throw refusal(key, 'deeper nesting', `at most ${MAX_NESTING} sequences`);
    listAt(step[members], `${place}.${members}`, MAX_STEPS).forEach((member, i) => {
      walk(member, `${place}.${members}[${i}]`, depth + 1);
    });
  };
  if (value !== null && value !== undefined) walk(value, key, 0);
  return steps;
}
