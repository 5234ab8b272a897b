/** Reads the text in which the wasm module describes itself (qkv_describe in src/wasm.c): the names behind its numbers and
 * the fields of its structs. JavaScript holds no copy of those lists, so the two sides cannot drift. */

import { QkvError } from '../checks/errors.js';

/** @typedef {'i32' | 'f32' | 'ptr'} FieldType */
/** @typedef {{ name: string, type: FieldType }} Field */
/** @typedef {{ index: number, scope: 'model' | 'layer', role: 'table' | 'matrix' | 'vector' | 'norm' }} Slot */
/**
 * @typedef {object} Description
 * @property {string} version
 * @property {Map<number, string>} statuses
 * @property {string[]} precisions
 * @property {string[]} planes
 * @property {string[]} activations
 * @property {string[]} kinds
 * @property {string[]} stages
 * @property {string[]} stats
 * @property {string[]} poolings
 * @property {Field[]} config
 * @property {Field[]} input
 * @property {Field[]} operator
 * @property {Map<string, Slot>} slots
 */

const FIELD_TYPES = ['i32', 'f32', 'ptr'];

/**
 * @param {string} text
 * @returns {Description}
 */
export function parseDescription(text) {
  const lines = new Map(
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [key, ...words] = line.trim().split(/\s+/);
        return /** @type {const} */ ([key, words]);
      }),
  );
  /** @param {string} key */
  const words = (key) => lines.get(key) ?? fail(`has no line "${key}"`);
  return {
    version: words('version')[0] ?? fail('has no version'),
    statuses: new Map(words('statuses').map(parseStatus)),
    precisions: words('precisions'),
    planes: words('planes'),
    activations: words('activations'),
    kinds: words('kinds'),
    stages: words('stages'),
    stats: words('stats'),
    poolings: words('poolings'),
    config: words('config').map(parseField),
    input: words('input').map(parseField),
    operator: words('operator').map(parseField),
    slots: new Map(words('slots').map(parseSlot)),
  };
}

/**
 * Writes a struct of 4-byte fields. Every field must be given: a forgotten one is our bug and must not become 0.
 * @param {DataView} view at the start of the struct
 * @param {Field[]} fields
 * @param {Record<string, number>} values
 */
export function writeStruct(view, fields, values) {
  fields.forEach(({ name, type }, index) => {
    const value = values[name];
    if (typeof value !== 'number') fail(`has the field "${name}", which this library does not set`);
    if (type === 'f32') view.setFloat32(index * 4, value, true);
    else view.setInt32(index * 4, value, true);
  });
}

/** @param {string} word NAME:number */
function parseStatus(word) {
  const [name, number] = word.split(':');
  return /** @type {const} */ ([Number(number), name]);
}

/**
 * @param {string} word name:type
 * @returns {Field}
 */
function parseField(word) {
  const [name, type] = word.split(':');
  if (!FIELD_TYPES.includes(type)) fail(`has the field "${word}" of an unknown type`);
  return { name, type: /** @type {FieldType} */ (type) };
}

/**
 * @param {string} word name:scope:role
 * @param {number} index
 */
function parseSlot(word, index) {
  const [name, scope, role] = word.split(':');
  return /** @type {const} */ ([name, /** @type {Slot} */ ({ index, scope, role })]);
}

/**
 * @param {string} what
 * @returns {never}
 */
function fail(what) {
  throw new QkvError('wasm', `The wasm module ${what}`, { fix: 'Take the wasm file of the same version of qkv.' });
}
