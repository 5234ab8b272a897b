/** One allocation of wasm memory cut into named pieces: the struct of a call, its scratch and its arrays. */

import { writeStruct } from '../engine/describe.js';
import { memoryError } from '../engine/failures.js';

/** @typedef {import('../engine/core.js').Core} Core */

/**
 * Pieces begin half a step after a multiple of it, so never at a page. Where the target of a copy lies 16 bytes after its
 * source, modulo the size of a page, some processors (Zen 3 under glibc) copy 13 times slower, and the large buffers of
 * Node begin 16 bytes after a page.
 */
const STEP = 128;
const FIELD_BYTES = 4;

/**
 * Scratch bytes that a call with these sizes needs.
 * @param {Core} core
 * @param {string} call
 * @param {Record<string, number>} fields
 */
export function scratchBytes(core, call, fields) {
  const { operator } = core.description;
  return core.withMemory(call, operator.length * FIELD_BYTES, (at) => {
    writeStruct(core.heap.view(at, operator.length * FIELD_BYTES), operator, fields);
    return core.nonZero(call, core.call('qkv_attend_size', at)) >>> 0;
  });
}

/**
 * @template {string} Name
 * @param {Core} core
 * @param {string} call
 * @param {Record<Name, number>} bytes of each piece
 */
export function allocateBlock(core, call, bytes) {
  /** @type {Map<Name, number>} */
  const starts = new Map();
  let total = core.description.operator.length * FIELD_BYTES;
  for (const name of /** @type {Name[]} */ (Object.keys(bytes))) {
    total = Math.ceil(total / STEP + 0.5) * STEP - STEP / 2;
    starts.set(name, total);
    total += bytes[name];
  }
  total += STEP; // for the place of the block itself
  // A size above 2^32 would arrive in wasm as another number.
  if (total > core.available()) throw memoryError(call, total, core.available());
  const base = core.nonZero(call, core.call('qkv_alloc', total)) >>> 0;
  const lead = (STEP - (base % STEP)) % STEP;
  const at = (/** @type {Name} */ name) => base + lead + /** @type {number} */ (starts.get(name));
  return { base, bytes: total, at };
}

/**
 * Views of a block that are made anew when memory has grown and detached them: a detached view has no length.
 * @template T
 * @param {Core} core
 * @param {number} base
 * @param {number} bytes
 * @param {(floats: (at: number, count: number) => Float32Array) => T} make
 */
export function lastingViews(core, base, bytes, make) {
  /** @param {number} at @param {number} count */
  const floats = (at, count) => {
    const { buffer, byteOffset } = core.heap.bytes(at, count * 4);
    return new Float32Array(buffer, byteOffset, count);
  };
  let guard = core.heap.bytes(base, bytes);
  let views = make(floats);
  return () => {
    if (guard.length === 0) {
      guard = core.heap.bytes(base, bytes);
      views = make(floats);
    }
    return views;
  };
}
