/** Checks of the tensors that operators take. A tensor is {data, shape}, row-major. What is refused is named by the call
 * and the argument; nothing is allocated where all is well. */

import { QkvError } from '../checks/errors.js';

/** @typedef {{ data: Float32Array, shape: readonly number[] }} FloatTensor */
/** @typedef {{ data: Uint8Array, shape: readonly number[] }} BoolTensor 0 is false, anything else true */

/** No axis can be longer: 4 GiB hold 2^30 floats. */
const LONGEST_AXIS = 2 ** 30;

/**
 * @param {string} call
 * @param {string} name of the argument
 * @param {unknown} got
 * @param {unknown} want
 * @param {string} [fix]
 */
export const refusal = (call, name, got, want, fix) => new QkvError('argument', `${call}: ${name}`, { got, want, fix });

/**
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @param {number} fewest axes
 * @param {number} most axes
 * @returns {FloatTensor}
 */
export function floatTensor(call, name, value, fewest, most) {
  const { data, shape } = partsOf(value);
  if (!(data instanceof Float32Array)) throw refusal(call, `${name}: data`, kindOf(data), 'a Float32Array');
  checkShape(call, name, data, shape, fewest, most);
  return /** @type {FloatTensor} */ (value);
}

/**
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @param {number} fewest axes
 * @param {number} most axes
 * @returns {BoolTensor}
 */
export function boolTensor(call, name, value, fewest, most) {
  const { data, shape } = partsOf(value);
  if (!(data instanceof Uint8Array)) throw refusal(call, `${name}: data`, kindOf(data), 'a Uint8Array of 0 and 1');
  checkShape(call, name, data, shape, fewest, most);
  return /** @type {BoolTensor} */ (value);
}

/**
 * A tensor of either kind, as torch takes masks.
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @param {number} fewest axes
 * @param {number} most axes
 */
export function anyTensor(call, name, value, fewest, most) {
  const { data } = partsOf(value);
  if (data instanceof Float32Array) return floatTensor(call, name, value, fewest, most);
  if (data instanceof Uint8Array) return boolTensor(call, name, value, fewest, most);
  throw refusal(call, `${name}: data`, kindOf(data), 'a Uint8Array (true or false) or a Float32Array (added)');
}

/**
 * @param {string} call
 * @param {string} name
 * @param {number} axis
 * @param {number} got
 * @param {number} want
 * @param {string} meaning of the axis
 */
export function sameSize(call, name, axis, got, want, meaning) {
  if (got !== want) throw refusal(call, `${name}: shape[${axis}]`, got, `${want}, ${meaning}`);
}

/**
 * Where a result goes: a buffer of exactly its length, or the tensor of an earlier result.
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @param {number} count
 * @returns {Float32Array | null} null: a new one
 */
export function reusedBuffer(call, name, value, count) {
  if (value === undefined || value === null) return null;
  const data = value instanceof Float32Array ? value : /** @type {Partial<FloatTensor>} */ (value).data;
  if (!(data instanceof Float32Array)) throw refusal(call, `out.${name}`, kindOf(value), 'a Float32Array');
  if (data.length !== count) throw refusal(call, `out.${name}: elements`, data.length, count, detachedHint(data));
  return data;
}

/** @param {unknown} value */
export function kindOf(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
}

const NOTHING = Object.freeze({ data: undefined, shape: undefined });

/** @param {unknown} value */
const partsOf = (value) => /** @type {{ data?: unknown, shape?: unknown }} */ (value ?? NOTHING);

/**
 * @param {string} call
 * @param {string} name
 * @param {Float32Array | Uint8Array} data
 * @param {unknown} shape
 * @param {number} fewest
 * @param {number} most
 */
function checkShape(call, name, data, shape, fewest, most) {
  if (!Array.isArray(shape)) throw refusal(call, `${name}: shape`, kindOf(shape), 'an array of whole numbers');
  if (shape.length < fewest || shape.length > most) {
    const want = fewest === most ? `${fewest} axes` : `${fewest} to ${most} axes`;
    throw refusal(call, `${name}: shape`, shape, want);
  }
  let count = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const size = shape[axis];
    if (!Number.isInteger(size) || size < 0 || size > LONGEST_AXIS) {
      throw refusal(call, `${name}: shape[${axis}]`, size, 'a whole number from 0 to 2^30');
    }
    count *= size;
  }
  if (data.length !== count) {
    const want = `${count} for the shape ${JSON.stringify(shape)}`;
    throw refusal(call, `${name}: elements of data`, data.length, want, detachedHint(data));
  }
}

/** @param {Float32Array | Uint8Array} data */
const detachedHint = (data) =>
  data.length === 0 && data.buffer.byteLength === 0 ? 'Its buffer is empty: was it transferred elsewhere?' : undefined;
