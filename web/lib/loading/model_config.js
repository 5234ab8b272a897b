/** Writes a model's config as the engine reads it: the struct qkv_config, and behind it the lists that its pointers lead
 * to, in memory that is held only while the engine looks at it. */

import { writeStruct } from '../engine/describe.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../families/parts/engine_config.js').EngineConfig} EngineConfig */
/** @typedef {import('../families/index.js').Quantization} Quantization */
/** @typedef {'f32' | 'q10' | 'q8'} Precision */

/** @type {readonly Precision[]} */
const PRECISIONS = ['f32', 'q10', 'q8'];

/**
 * The precisions that weights can be held in, that of the files first. Weights of eight bits fit into ten without loss; ten
 * bits would be rounded a second time to become eight.
 * @param {Quantization | null} quantization
 * @returns {readonly Precision[]}
 */
export function precisionsOf(quantization) {
  if (quantization === null) return PRECISIONS;
  return quantization.bits === 10 ? ['q10', 'f32'] : ['q8', 'q10', 'f32'];
}

/**
 * @template T
 * @param {Core} core
 * @param {string} label for messages
 * @param {EngineConfig} engine
 * @param {string} table the plane that the token table is held in
 * @param {(config: number) => T} use
 * @returns {T}
 */
export function withConfig(core, label, engine, table, use) {
  const { config: fields } = core.description;
  const structBytes = fields.length * 4;
  const given = /** @type {Record<string, unknown>} */ (engine);
  const lists = fields
    .map(({ name }) => ({ name, list: given[name] }))
    .filter((entry) => /** @type {(e: typeof entry) => e is List} */ (({ list }) => ArrayBuffer.isView(list))(entry));
  const listBytes = lists.reduce((sum, { list }) => sum + list.byteLength, 0);
  return core.withMemory(label, structBytes + listBytes, (config) => {
    /** @type {Record<string, number | string>} */
    const values = { table };
    for (const { name } of fields) {
      const value = given[name];
      if (typeof value === 'number' || typeof value === 'string') values[name] = value;
      else if (value === null) values[name] = 0;
    }
    let at = config + structBytes;
    for (const { name, list } of lists) {
      if (list instanceof Float32Array) core.heap.writeFloat32(at, list);
      else core.heap.writeInt32(at, list);
      values[name] = at;
      at += list.byteLength;
    }
    writeStruct(core.heap.view(config, structBytes), fields, values);
    return use(config);
  });
}

/** @typedef {{ name: string, list: Float32Array | Int32Array }} List */

/**
 * @param {Core} core
 * @param {Precision} precision
 */
export const precisionNumber = (core, precision) => core.description.precisions.indexOf(precision);

/**
 * Bytes the model will take, before anything of it is downloaded. The form of the token table and the head are not known
 * yet, so the smallest possible ones count: what is refused here could never have been loaded.
 * @param {Core} core
 * @param {{ label: string, engine: EngineConfig, quantization: Quantization | null }} resolved
 * @param {Precision} precision
 */
export function estimateBytes(core, { label, engine, quantization }, precision) {
  // A table that the file has rounded keeps its form.
  const form = quantization === null ? precision : precisionsOf(quantization)[0];
  const table = { f32: 'f16', q10: 'q10_high', q8: 'q8' }[form];
  return withConfig(core, label, engine, table, (config) =>
    core.nonZero(label, core.call('qkv_model_size', config, precisionNumber(core, precision))),
  );
}
