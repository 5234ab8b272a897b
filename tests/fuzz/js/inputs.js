/** How inputs are made of those that are there: the pool holds valid files and whatever has been answered in a new way. */
import fc from 'fast-check';
import { byteChanges, changeBytes } from './byte_changes.js';
import { changeTree, nearlyJson, textOf, treeChanges, treeOf } from './json_tree.js';

/** @typedef {readonly Uint8Array[]} Pool */
/**
 * @typedef {object} Target
 * @property {string} name
 * @property {Uint8Array[]} seeds valid files, to begin with
 * @property {boolean} isJson inputs are JSON, at least at first
 * @property {(pool: Pool) => fc.Arbitrary<Uint8Array>} inputs
 * @property {(bytes: Uint8Array) => Promise<string> | string} check says in a few words what the input was; throws a QkvError
 *   where the library refuses the input, anything else where it does not do what it should
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {string} text @returns {Uint8Array} */
export const bytesOf = (text) => encoder.encode(text);

/** @param {unknown} value @returns {Uint8Array} */
export const jsonBytes = (value) => bytesOf(JSON.stringify(value));

/** @param {Uint8Array} bytes @returns {unknown} undefined where they are no JSON */
export function jsonValueOf(bytes) {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

/** @param {Pool} pool @returns {fc.Arbitrary<Uint8Array>} */
export const anyOf = (pool) => fc.nat(1_000_000).map((i) => pool[i % pool.length]);

/** @param {Pool} pool @returns {fc.Arbitrary<Uint8Array>} */
export const changedBytes = (pool) =>
  fc.tuple(anyOf(pool), anyOf(pool), byteChanges).map(([bytes, other, changes]) => changeBytes(bytes, changes, other));

/** @param {Pool} pool @returns {fc.Arbitrary<Uint8Array>} */
export const changedJson = (pool) =>
  fc.tuple(anyOf(pool), treeChanges).map(([bytes, changes]) => {
    const value = jsonValueOf(bytes);
    return value === undefined ? bytes : bytesOf(textOf(changeTree(treeOf(value), changes)));
  });

/** @param {Pool} pool @returns {fc.Arbitrary<Uint8Array>} */
export const jsonInputs = (pool) =>
  fc.oneof(
    { weight: 12, arbitrary: changedJson(pool) },
    { weight: 2, arbitrary: changedBytes(pool) },
    { weight: 1, arbitrary: nearlyJson.map(bytesOf) },
  );

/** A number that follows from the bytes alone, so that an input means the same whenever it is run. @param {Uint8Array} bytes */
export const sumOf = (bytes) => bytes.reduce((sum, byte) => (sum * 31 + byte) >>> 0, bytes.length);

/** Two ways to hand out the same file. @param {Uint8Array} bytes @returns {{ sizes: number[], knowsSize: boolean }[]} */
export function readings(bytes) {
  const sum = sumOf(bytes);
  const sizes = [1 + (sum % 7), 1 + ((sum >>> 3) % 300), 1 + ((sum >>> 9) % 40)];
  return [
    { sizes: [1 << 16], knowsSize: true },
    { sizes, knowsSize: (sum & 0x10000) !== 0 },
  ];
}
