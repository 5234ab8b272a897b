/** One instance of the wasm module with its memory, checked to be of the version that this library was written for. */

import { QkvError } from '../checks/errors.js';

/** The ABI number of qkv.h this library was written for. */
export const ABI = 4;

/** Linear memory cannot become larger: 65,536 pages of 64 KiB. */
export const LARGEST_MEMORY = 2 ** 32;
const PAGE = 65536;
/** At least what the module asks for. */
const FIRST_PAGES = 16;
const LEAST_SHARED = 2 ** 28;

/** @param {WebAssembly.Module} module */
export async function instantiate(module) {
  /** @type {WebAssembly.Exports} */
  let exports;
  // A module for several threads does not bring its memory.
  const isShared = WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
  const memory = isShared ? shareMemory() : null;
  try {
    exports = (await WebAssembly.instantiate(module, memory ? { env: { memory } } : {})).exports;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new QkvError('wasm', `The wasm module cannot be started: ${message}`, { cause });
  }
  const abi = exports.qkv_abi;
  const number = typeof abi === 'function' ? abi() : 'none';
  if (number !== ABI) throw mismatch('ABI number', number, ABI);
  const own = memory ?? exports.memory;
  if (!(own instanceof WebAssembly.Memory)) throw mismatch('exported memory', 'none', 'one');
  return { exports, memory: own, isShared };
}

/** Shared memory reserves address space for its maximum at once: where that fails, a smaller maximum is tried. */
function shareMemory() {
  for (let maximum = LARGEST_MEMORY / PAGE; ; maximum /= 2) {
    try {
      return new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true });
    } catch (cause) {
      if (maximum > LEAST_SHARED / PAGE) continue;
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new QkvError('wasm', `No memory can be shared between threads: ${message}`, {
        cause,
        fix: 'Use one thread, or serve the page with the headers that isolate it.',
      });
    }
  }
}

/**
 * @param {string} what
 * @param {unknown} got
 * @param {unknown} want
 */
export function mismatch(what, got, want) {
  return new QkvError('wasm', `${what} of the wasm module`, {
    got,
    want,
    fix: 'Take the wasm file of the same version of qkv.',
  });
}
