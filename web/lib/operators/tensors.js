/** Checks of the tensors that operators take. A tensor is {data, shape}, row-major. What is refused is named by the call
 * and the argument. Each part of what is given is read once, and what was read is what is checked, returned and used: behind
 * a property may be a getter. No array is made where all is well. */

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
  const parts = partsOf(value);
  const { data } = parts;
  if (!isFloats(data)) throw refusal(call, `${name}: data`, kindOf(data), 'a Float32Array');
  return { data, shape: checkShape(call, name, data, parts.shape, fewest, most) };
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
  const parts = partsOf(value);
  const { data } = parts;
  if (!isBytes(data)) throw refusal(call, `${name}: data`, kindOf(data), 'a Uint8Array of 0 and 1');
  return { data, shape: checkShape(call, name, data, parts.shape, fewest, most) };
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
  const parts = partsOf(value);
  const { data } = parts;
  if (isFloats(data) || isBytes(data)) {
    return { data, shape: checkShape(call, name, data, parts.shape, fewest, most) };
  }
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
 * Where a result goes: a buffer, or the tensor of an earlier result.
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @returns {Float32Array | null} null: a new one
 */
export function reusedBuffer(call, name, value) {
  if (value === undefined || value === null) return null;
  const data = isFloats(value) ? value : partsOf(value).data;
  if (!isFloats(data)) throw refusal(call, `out.${name}`, kindOf(value), 'a Float32Array');
  return data;
}

/**
 * @param {string} call
 * @param {string} name
 * @param {Float32Array | null} data
 * @param {number} count
 */
export function sameCount(call, name, data, count) {
  if (data === null || lengthOf(data) === count) return;
  throw refusal(call, `out.${name}: elements`, lengthOf(data), count, detachedHint(data));
}

/**
 * Results go into one buffer after the other: one that shares memory with another would be written over.
 * @param {string} call
 * @param {Record<string, Float32Array | null>} targets by their names in out
 */
export function separateBuffers(call, targets) {
  for (const name in targets) {
    for (const other in targets) {
      if (other === name) break;
      const [a, b] = [targets[name], targets[other]];
      if (a === null || b === null || !overlap(a, b)) continue;
      const fix = 'Each result needs memory of its own.';
      throw refusal(call, `out.${name}`, `memory that out.${other} has too`, 'memory of its own', fix);
    }
  }
}

/** @param {Float32Array} a @param {Float32Array} b */
const overlap = (a, b) =>
  a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;

/** @param {unknown} value */
export function kindOf(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
}

const ARRAYS = Object.getPrototypeOf(Uint8Array.prototype);
/** Of the arrays themselves: a prototype, an own property or another realm's constructor can say anything. */
const [typeOf, countOf] = /** @type {const} */ ([Symbol.toStringTag, 'length']).map(
  (key) => /** @type {() => unknown} */ (Object.getOwnPropertyDescriptor(ARRAYS, key)?.get),
);

/** @param {unknown} value @returns {value is Float32Array} */
const isFloats = (value) => ArrayBuffer.isView(value) && Reflect.apply(typeOf, value, NO_ARGUMENTS) === 'Float32Array';

/** @param {unknown} value @returns {value is Uint8Array} */
const isBytes = (value) => ArrayBuffer.isView(value) && Reflect.apply(typeOf, value, NO_ARGUMENTS) === 'Uint8Array';

/** @param {unknown} value @returns {value is Int32Array} */
export const isIntegers = (value) =>
  ArrayBuffer.isView(value) && Reflect.apply(typeOf, value, NO_ARGUMENTS) === 'Int32Array';

/** @type {[]} */
const NO_ARGUMENTS = [];

/** @param {Float32Array | Uint8Array | Int32Array} data */
export const lengthOf = (data) => /** @type {number} */ (Reflect.apply(countOf, data, NO_ARGUMENTS));

const NOTHING = Object.freeze({ data: undefined, shape: undefined });

/** @param {unknown} value */
function partsOf(value) {
  const { data, shape } = /** @type {{ data?: unknown, shape?: unknown }} */ (value ?? NOTHING);
  return { data, shape };
}

/**
 * @param {string} call
 * @param {string} name
 * @param {Float32Array | Uint8Array} data
 * @param {unknown} shape
 * @param {number} fewest
 * @param {number} most
 * @returns {number[]} a copy
 */
function checkShape(call, name, data, shape, fewest, most) {
  if (!Array.isArray(shape)) throw refusal(call, `${name}: shape`, kindOf(shape), 'an array of whole numbers');
  const axes = shape.length;
  if (axes < fewest || axes > most) {
    const want = fewest === most ? `${fewest} axes` : `${fewest} to ${most} axes`;
    throw refusal(call, `${name}: shape`, shape, want);
  }
  let count = 1;
  /** @type {number[]} */
  const sizes = [];
  for (let axis = 0; axis < axes; axis++) {
    const size = shape[axis];
    if (!Number.isInteger(size) || size < 0 || size > LONGEST_AXIS) {
      throw refusal(call, `${name}: shape[${axis}]`, size, 'a whole number from 0 to 2^30');
    }
    count *= size;
    sizes.push(size);
  }
  if (lengthOf(data) !== count) {
    const want = `${count} for the shape ${JSON.stringify(sizes)}`;
    throw refusal(call, `${name}: elements of data`, lengthOf(data), want, detachedHint(data));
  }
  return sizes;
}

/** @param {Float32Array | Uint8Array} data */
const detachedHint = (data) =>
  lengthOf(data) === 0 && data.buffer.byteLength === 0
    ? 'Its buffer is empty: was it transferred elsewhere?'
    : undefined;
