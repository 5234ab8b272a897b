/** The engine as JavaScript sees it. A core is one wasm instance with its memory: exports wrapped so that a status
 * becomes a QkvError and a trap ends the instance, because after one the module's stack pointer and heap mean nothing.
 * An engine is a compiled module and the core it now uses; a dead core is replaced when the next model is loaded. */

import { parseDescription } from './describe.js';
import { QkvError } from '../checks/errors.js';
import { createHeap } from './heap.js';
import { createPool, endsAtOnce, mayWait } from './pool.js';

/** The ABI number of qkv.h this library was written for. */
export const ABI = 3;

/** Linear memory cannot become larger: 65,536 pages of 64 KiB. */
const LARGEST_MEMORY = 2 ** 32;
const PAGE = 65536;
/** At least what the module asks for. */
const FIRST_PAGES = 16;
const LEAST_SHARED = 2 ** 28;

/** @typedef {import('./loader.js').Compiled} Compiled */
/**
 * variant: 'custom' for a module that was handed in without saying which; wasmBytes: null if it was compiled before;
 * threads: what computes now; in a page, which may not wait for others, what models in a worker compute with
 * @typedef {{ version: string, variant: Compiled['variant'], threads: number, wasmBytes: number | null }} EngineInfo
 */
/** @typedef {(...args: number[]) => number} WasmFunction */
/** @typedef {import('../checks/errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./pool.js').PoolPlan} PoolPlan */
/** @typedef {Awaited<ReturnType<typeof createCore>>} Core */
/** @typedef {{ limit?: number, pool?: PoolPlan | null }} CoreOptions limit: ceiling for linear memory in bytes, 0 = none */

/** Ends the threads of a core that a caller forgot; a backstop only. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ endPool) => endPool());

/**
 * One closure, so that nothing reaches the exports past `call`.
 * @param {WebAssembly.Module} module
 * @param {CoreOptions} [options]
 */
export async function createCore(module, { limit = 0, pool: plan = null } = {}) {
  const { exports, memory, isShared } = await instantiate(module);
  const heap = createHeap(memory);
  /** @type {QkvError | null} */
  let ended = null;
  /** @type {import('./pool.js').Pool | null} */
  let pool = null;

  function endPool() {
    pool?.end(/** @type {() => void} */ (exports.qkv_close_pool));
    pool = null;
    // What is registered would hold the exports, and with them the memory, for as long as the core is reachable.
    forgotten.unregister(endPool);
  }

  /** @param {QkvError} error what later calls get */
  function end(error) {
    ended ??= error;
    endPool();
  }

  /**
   * @param {string} name
   * @param {number[]} args
   */
  function call(name, ...args) {
    if (ended) throw ended;
    const run = /** @type {WasmFunction | undefined} */ (exports[name]);
    if (!run) throw mismatch(`export ${name}`, 'none', 'a function');
    try {
      return run(...args);
    } catch (cause) {
      // Whatever comes out of wasm (RuntimeError, RangeError, Firefox's InternalError) has left it half way.
      const message = cause instanceof Error ? cause.message : String(cause);
      const error = new QkvError('crash', `The engine stopped in ${name} (${message})`, {
        cause,
        fix: 'Load the model again.',
      });
      end(error);
      throw error;
    }
  }

  if (exports._initialize) call('_initialize');
  const description = parseDescription(heap.readText(call('qkv_describe')));
  if (limit > 0) {
    // The heap is laid out, without a ceiling, by the first allocation.
    call('qkv_free', call('qkv_alloc', 1));
    call('qkv_heap_limit', limit);
  }
  if (isShared && plan && plan.threads > 1 && mayWait()) {
    pool = createPool({ module, memory, call, plan });
    await pool.start();
  }

  /**
   * Throws what the engine says went wrong.
   * @param {string} subject the call or thing, for the sentence
   * @returns {never}
   */
  function fail(subject) {
    const at = call('qkv_last_error');
    const code = /** @type {ErrorCode | 'thread'} */ (
      description.statuses.get(heap.readInt32(at, 1)[0])?.toLowerCase() ?? 'state'
    );
    const what = heap.readText(heap.readInt32(at + 4, 1)[0]);
    const got = heap.readFloat64(at + 8);
    const want = heap.readFloat64(at + 16);
    if (code === 'memory') throw shortage(subject, want, got);
    if (code === 'thread') throw loseThread(subject, got !== 0);
    throw new QkvError(code, `${subject}: ${what}`, { got, want });
  }

  /**
   * What was being computed is incomplete; all else is as it was, once the thread is known to do nothing any more. The next
   * call that can wait has all threads again.
   * @param {string} subject
   * @param {boolean} hasTrapped
   */
  function loseThread(subject, hasTrapped) {
    const goesOn = endsAtOnce() && !hasTrapped;
    const fix = goesOn ? 'Try again.' : 'Load the model again.';
    const error = new QkvError('crash', `A thread of the engine stopped in ${subject}`, { fix });
    if (goesOn) pool?.close();
    else end(error);
    return error;
  }

  const ceiling = limit > 0 ? Math.min(limit, LARGEST_MEMORY) : LARGEST_MEMORY;
  const available = () => Math.max(0, ceiling - (call('qkv_heap_used') >>> 0));

  /**
   * @param {string} subject
   * @param {number} needed bytes
   * @param {number} largest bytes of the largest free block that is reserved already
   */
  function shortage(subject, needed, largest) {
    const left = available();
    if (needed > left) return memoryError(subject, needed, left);
    // The count would allow it: either no gap is large enough, or the machine gave less than the ceiling.
    if (heap.size() + needed > ceiling)
      return memoryError(subject, needed, left, 'though in pieces that are too small');
    return memoryError(subject, needed, largest, 'since the machine gives no more');
  }

  /**
   * @param {string} subject
   * @param {number} status
   */
  function check(subject, status) {
    if (status !== 0) fail(subject);
  }

  /**
   * @param {string} subject
   * @param {number} result a pointer or a size, 0 = failed
   */
  const nonZero = (subject, result) => (result === 0 ? fail(subject) : result);

  /** @param {number} offset */
  function free(offset) {
    if (!ended) call('qkv_free', offset);
  }

  /**
   * Memory for the length of one call.
   * @template T
   * @param {string} subject
   * @param {number} bytes
   * @param {(offset: number) => T} use
   * @returns {T}
   */
  function withMemory(subject, bytes, use) {
    // A larger number would reach the engine without its upper bits.
    if (bytes >= LARGEST_MEMORY) throw memoryError(subject, bytes, available());
    const offset = nonZero(subject, call('qkv_alloc', bytes));
    try {
      return use(offset);
    } finally {
      free(offset);
    }
  }

  const core = {
    module,
    description,
    heap,
    call,
    check,
    nonZero,
    free,
    withMemory,
    /** Bytes a model or run may still take. */
    available,
    isAlive: () => ended === null,
    threads: () => pool?.threads() ?? 1,
    /** To be waited for before computing: starts threads for those that were lost; null when there is nothing to do. */
    mend: () => pool?.mend() ?? null,
    end,
  };
  if (pool) forgotten.register(core, endPool, endPool);
  return core;
}

/** @param {WebAssembly.Module} module */
async function instantiate(module) {
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

/** Address space for all that the memory may grow to is taken at once; where there is less, it has to do. */
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
function mismatch(what, got, want) {
  return new QkvError('wasm', `${what} of the wasm module`, {
    got,
    want,
    fix: 'Take the wasm file of the same version of qkv.',
  });
}

/**
 * @param {string} subject
 * @param {number} needed bytes; what 32 bits cannot count comes from the engine as their largest number
 * @param {number} available bytes
 * @param {string} [why] in spite of these numbers, or how they come about
 */
export function memoryError(subject, needed, available, why = '') {
  const isCounted = needed !== LARGEST_MEMORY - 1;
  const need = isCounted ? megabytes(needed) : 'more than 4 GiB';
  return new QkvError('memory', `${subject}: bytes of memory`, {
    got: available,
    want: isCounted ? needed : `more than ${needed}`,
    fix: `It needs ${need} and ${megabytes(available)} are available${why && `, ${why}`}.`,
  });
}

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** @typedef {{ compiled: Compiled, limit: number, core: Core, isDisposed: boolean }} EngineState */
/** @type {WeakMap<Engine, EngineState>} */
const engines = new WeakMap();

/** Compiled once, shared by the models that are loaded with it; they then share its memory as well. */
export class Engine {
  /**
   * @param {Compiled} compiled
   * @param {Core} core
   * @param {number} limit
   */
  constructor(compiled, core, limit) {
    engines.set(this, { compiled, limit, core, isDisposed: false });
  }

  /** @returns {Readonly<EngineInfo>} */
  get info() {
    const { compiled, core } = /** @type {EngineState} */ (engines.get(this));
    const { variant, wasmBytes, pool } = compiled;
    const threads = mayWait() ? core.threads() : (pool?.threads ?? 1);
    return Object.freeze({ version: core.description.version, variant, threads, wasmBytes });
  }

  /** Bytes of linear memory: reserved never shrinks while the engine lives, used is what models and runs hold now. */
  memory() {
    const { core } = stateOf(this);
    return { reserved: core.heap.size(), used: core.call('qkv_heap_used') >>> 0 };
  }

  /** Ends all models and runs of this engine. */
  dispose() {
    const state = engines.get(this);
    if (!state || state.isDisposed) return;
    state.isDisposed = true;
    state.core.end(new QkvError('disposed', 'The engine was disposed', { fix: 'Make a new one with init().' }));
  }

  [Symbol.dispose]() {
    this.dispose();
  }
}

/**
 * @param {Compiled} compiled
 * @param {number} [limit]
 */
export async function createEngine(compiled, limit = 0) {
  return new Engine(compiled, await createCore(compiled.module, { limit, pool: compiled.pool }), limit);
}

/** @param {Engine} engine */
function stateOf(engine) {
  const state = engines.get(engine);
  if (!state) throw new QkvError('argument', 'engine', { got: engine, want: 'what init() returned' });
  if (state.isDisposed)
    throw new QkvError('disposed', 'The engine was disposed', { fix: 'Make a new one with init().' });
  return state;
}

/** @param {Engine} engine */
export function compiledOf(engine) {
  const { compiled, limit } = stateOf(engine);
  return { ...compiled, limit };
}

/**
 * The engine's core as it is, for calls that cannot wait: after a trap its calls say so, and where threads were lost they
 * come back in the meantime.
 * @param {Engine} engine
 */
export function coreOf(engine) {
  const { core } = stateOf(engine);
  core.mend();
  return core;
}

/**
 * The engine's core; a new one from the compiled module where the last one trapped.
 * @param {Engine} engine
 */
export async function liveCore(engine) {
  const state = stateOf(engine);
  const { compiled, limit } = state;
  if (!state.core.isAlive()) state.core = await createCore(compiled.module, { limit, pool: compiled.pool });
  await state.core.mend();
  return state.core;
}
