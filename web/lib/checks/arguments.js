/** Checks of what callers hand in. Each returns the value in the type it was asked for, or throws a QkvError naming the
 * argument, what it was and what it may be. */

import { errorText, QkvError } from './errors.js';

/** @typedef {{ data: Uint8Array | Float32Array, shape: number[] }} Tensor */

/**
 * @param {string} what
 * @param {unknown} value
 * @param {number} from
 * @param {number} to inclusive
 * @returns {number}
 */
export function wholeNumber(what, value, from, to) {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new QkvError('argument', what, { got: value, want: `a whole number from ${from} to ${to}` });
  }
  if (value < from || value > to) throw new QkvError('range', what, { got: value, want: `${from} to ${to}` });
  return value;
}

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {number}
 */
export function finiteNumber(what, value) {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new QkvError('argument', what, { got: value, want: 'a finite number' });
  }
  return value;
}

/**
 * @template {string} T
 * @param {string} what
 * @param {unknown} value
 * @param {readonly T[]} choices
 * @returns {T}
 */
export function oneOf(what, value, choices) {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new QkvError('argument', what, { got: value, want: choices.join(', ') });
  return found;
}

/**
 * The options of a call: an object, or nothing. What comes back is a copy, so that nothing is read twice, or later.
 * @template {object} T
 * @param {string} call
 * @param {T | undefined} options
 * @param {readonly (keyof T & string)[]} known the options there are
 * @returns {Partial<T>}
 */
export function optionsOf(call, options, known) {
  if (options === undefined) return {};
  return readArguments(call, () => {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      throw new QkvError('argument', `${call}: options`, { got: options, want: 'an object' });
    }
    refuseOthers(`${call}: name of an option`, options, known);
    /** @type {Partial<T>} */
    const copy = {};
    for (const name of known) {
      const value = options[name];
      if (value !== undefined) copy[name] = value;
    }
    return copy;
  });
}

/**
 * Reads what a caller gave. A getter may throw, and objects that stand for others (a Proxy, a subclass) may do anything: that
 * is an error of the argument, and of this call alone.
 * @template T
 * @param {string} call
 * @param {() => T} read
 */
export function readArguments(call, read) {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof QkvError) throw cause;
    throw new QkvError('argument', `${call}: the arguments cannot be read (${errorText(cause)})`, { cause });
  }
}

/**
 * A misspelt key would otherwise be ignored without a word.
 * @param {string} what
 * @param {object} value
 * @param {readonly string[]} known
 */
export function refuseOthers(what, value, known) {
  // Not Object.keys: operators are called in loops that should leave nothing for the garbage collector.
  for (const key in value) {
    if (!known.includes(key)) throw new QkvError('argument', what, { got: key, want: known.join(', ') });
  }
}

/**
 * @param {string} what
 * @param {unknown} signal
 * @returns {AbortSignal | undefined}
 */
export function signalOf(what, signal) {
  if (signal === undefined || signal === null) return undefined;
  // Only a real one can say whether it is aborted.
  const isSignal = readArguments(what, () => signal instanceof AbortSignal && typeof signal.aborted === 'boolean');
  if (isSignal) return /** @type {AbortSignal} */ (signal);
  throw new QkvError('argument', `${what}: signal`, { got: signal, want: 'an AbortSignal' });
}

/**
 * @param {string} what
 * @param {unknown} timeout milliseconds; Infinity: no limit
 * @returns {number | undefined}
 */
export function timeoutOf(what, timeout) {
  if (timeout === undefined) return undefined;
  const want = 'milliseconds, more than 0; Infinity: no limit';
  if (typeof timeout !== 'number' || Number.isNaN(timeout)) {
    throw new QkvError('argument', `${what}: timeout`, { got: timeout, want });
  }
  if (timeout <= 0) throw new QkvError('range', `${what}: timeout`, { got: timeout, want });
  return timeout;
}

/**
 * @template {(...args: never[]) => void} T
 * @param {string} what
 * @param {T | undefined} value
 * @returns {T | undefined}
 */
export function callbackOf(what, value) {
  if (value === undefined || typeof value === 'function') return value;
  throw new QkvError('argument', what, { got: value, want: 'a function' });
}

/**
 * A {data, shape} whose two parts agree.
 * @template {Float32ArrayConstructor | Uint8ArrayConstructor} T
 * @param {string} what
 * @param {unknown} value
 * @param {T} type
 * @returns {{ data: InstanceType<T>, shape: number[] }}
 */
export function tensor(what, value, type) {
  const { data, shape: given } = /** @type {Partial<Tensor>} */ (value ?? {});
  // A copy without holes, which `every` and `reduce` pass over.
  const shape = Array.isArray(given) ? Array.from(given) : given;
  if (!(data instanceof type)) {
    throw new QkvError('argument', `${what}: data`, { got: nameOf(data), want: `a ${type.name}` });
  }
  if (!Array.isArray(shape) || !shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw new QkvError('argument', `${what}: shape`, { got: shape, want: 'an array of whole numbers' });
  }
  const count = shape.reduce((product, size) => product * size, 1);
  if (count !== data.length) {
    const want = `${count} for the shape ${JSON.stringify(shape)}`;
    throw new QkvError('argument', `${what}: elements of data`, { got: data.length, want });
  }
  return { data: /** @type {InstanceType<T>} */ (data), shape };
}

/** @param {unknown} value */
function nameOf(value) {
  return typeof value === 'object' && value !== null ? value.constructor?.name : typeof value;
}
