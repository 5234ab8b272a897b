/** The module of kernels_module.c, in both variants, and its memory, which is handed out and never given back. */
import { bytesOf, inTree } from './runtime.js';

/** @typedef {(...args: number[]) => number} WasmFunction */
/** @typedef {NonNullable<Awaited<ReturnType<typeof loadKernels>>>} Kernels */

const PAGE = 65536;
const ALIGNED = 64;

/** @type {Record<'plain' | 'relaxed', string>} */
const FILES = {
  plain: 'build/wasm/kernels_module.wasm',
  relaxed: 'build/wasm-relaxed/kernels_module.wasm',
};

/**
 * Null where this program has no relaxed SIMD.
 * @param {'plain' | 'relaxed'} variant
 */
export async function loadKernels(variant) {
  const bytes = await bytesOf(inTree(FILES[variant])).catch(() => {
    throw new Error('The module of the kernels is not built; please run ./build.sh bench');
  });
  if (!WebAssembly.validate(bytes)) return null;
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
  let next = call('heap');

  /** @param {string} name @param {number[]} args */
  function call(name, ...args) {
    return /** @type {WasmFunction} */ (instance.exports[`bench_${name}`])(...args);
  }

  /** The address of so many bytes. @param {number} size */
  function take(size) {
    const at = Math.ceil(next / ALIGNED) * ALIGNED;
    next = at + size;
    const missing = next - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    return at;
  }

  /** The address of floats in [-1, 1): pages that nobody wrote to would be read too fast. @param {number} count */
  function takeFloats(count) {
    const at = take(count * 4);
    const view = new Float32Array(memory.buffer, at, count);
    let state = count;
    for (let i = 0; i < count; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      view[i] = state / 2 ** 31 - 1;
    }
    return at;
  }

  const names = Object.keys(instance.exports).map((name) => name.replace(/^bench_/, ''));
  return { variant, names, call, take, takeFloats };
}

/** More than any cache holds. */
export const MEMORY_BYTES = 128 * 2 ** 20;

/**
 * Ways to read bytes from an address; the fastest says what memory gives, if they are MEMORY_BYTES.
 * @param {Kernels} kernels
 * @param {number} at
 * @param {number} bytes a multiple of 512
 */
export const memoryProbes = ({ names, call }, at, bytes) =>
  names
    .filter((name) => name.startsWith('read_'))
    .map((name) => ({ name: `probe ${name}`, run: () => call(name, at, bytes) }));
