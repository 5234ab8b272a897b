/** Reads the text in which the wasm module describes itself (qkv_describe in src/wasm.c): the names behind its numbers and
 * the fields of its structs. JavaScript holds no copy of those lists, so the two sides cannot drift. */

import { QkvError } from '../checks/errors.js';

/** @typedef {'i32' | 'f32' | 'ptr'} FieldType */
/** @typedef {{ name: string, type: FieldType, names: readonly string[] | null }} Field names: of its numbers, from 0 on */
/** @typedef {{ index: number, scope: 'model' | 'layer', role: 'table' | 'matrix' | 'vector' | 'norm' }} Slot */
/** @typedef {'width' | 'heads' | 'head' | 'keys'} StageColumns heads: those of all heads; keys: [N, M], one a head */
/**
 * @typedef {object} Description
 * @property {string} version
 * @property {Map<number, string>} statuses
 * @property {{ threads: number, thumbnail: number }} limits the most that there may be
 * @property {string[]} precisions
 * @property {string[]} planes
 * @property {string[]} kinds
 * @property {string[]} poolings
 * @property {string[]} stages
 * @property {Map<string, StageColumns>} columns of the rows of each stage
 * @property {string[]} stats
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
  const pairs = (/** @type {string} */ key) =>
    words(key).map((word) => /** @type {[string, string]} */ (word.split(':')));
  const limits = new Map(pairs('limits').map(([name, most]) => [name, Number(most)]));
  const limit = (/** @type {string} */ name) => limits.get(name) ?? fail(`has no limit "${name}"`);
  const fields = (/** @type {string} */ key) => words(key).map((word) => parseField(word, words));
  return {
    version: words('version')[0] ?? fail('has no version'),
    statuses: new Map(pairs('statuses').map(([name, number]) => [Number(number), name])),
    limits: { threads: limit('threads'), thumbnail: limit('thumbnail') },
    precisions: words('precisions'),
    planes: words('planes'),
    kinds: words('kinds'),
    poolings: words('poolings'),
    stages: pairs('stages').map(([name]) => name),
    columns: new Map(/** @type {[string, StageColumns][]} */ (pairs('stages'))),
    stats: words('stats'),
    config: fields('config'),
    input: fields('input'),
    operator: fields('operator'),
    slots: new Map(words('slots').map(parseSlot)),
  };
}

/**
 * Writes a struct of 4-byte fields. Every field must be given: a forgotten one is our bug and must not become 0.
 * @param {DataView} view at the start of the struct
 * @param {Field[]} fields
 * @param {Record<string, number | string>} values a name where the field's numbers have names
 */
export function writeStruct(view, fields, values) {
  fields.forEach(({ name, type, names }, index) => {
    const given = values[name];
    const value = typeof given === 'string' ? (names ?? []).indexOf(given) : given;
    if (value === -1 && typeof given === 'string') fail(`has no ${name} "${given}"`);
    if (typeof value !== 'number') fail(`has the field "${name}", which this library does not set`);
    if (type === 'f32') view.setFloat32(index * 4, value, true);
    else view.setInt32(index * 4, value, true);
  });
}

/**
 * @param {string} word name:type, or name:i32:the line with the names of its numbers
 * @param {(key: string) => string[]} words
 * @returns {Field}
 */
function parseField(word, words) {
  const [name, type, line] = word.split(':');
  if (!FIELD_TYPES.includes(type)) fail(`has the field "${word}" of an unknown type`);
  return { name, type: /** @type {FieldType} */ (type), names: line === undefined ? null : words(line) };
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
