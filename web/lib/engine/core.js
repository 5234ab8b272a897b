/** A core: one wasm instance with its memory, as JavaScript sees it. Exports are wrapped so that a status becomes a QkvError and a
 * trap ends the instance, because after one the module's stack pointer and heap mean nothing. */

import { createEnding } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { parseDescription } from './describe.js';
import { createFailures, memoryError } from './failures.js';
import { createHeap } from './heap.js';
import { instantiate, LARGEST_MEMORY, mismatch } from './instance.js';
import { createPool, endsAtOnce, mayWait } from './pool.js';
import { createTurns } from './turns.js';

/** @typedef {(...args: number[]) => number} WasmFunction */
/** @typedef {import('./pool.js').Pool} Pool */
/** @typedef {import('./pool.js').PoolPlan} PoolPlan */
/** @typedef {ReturnType<typeof createCalls>} Calls */
/** @typedef {Awaited<ReturnType<typeof createCore>>} Core */
/**
 * limit: ceiling for linear memory in bytes, 0 = none; threads: what a caller of init named, whether they can be had or not
 * @typedef {{ limit?: number, pool?: PoolPlan | null, threads?: number | 'auto' }} CoreOptions
 */

/** 2^32 divided by the golden ratio: multiples of it, modulo 2^32, lie far from each other. */
const GOLDEN = 0x9e3779b1;
let cores = 0;

/** Ends the threads of a core that a caller forgot; a backstop only. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ endPool) => endPool());

/**
 * @param {WebAssembly.Module} module
 * @param {CoreOptions} [options]
 */
export async function createCore(module, { limit = 0, pool: plan = null, threads = 1 } = {}) {
  const { exports, memory, isShared } = await instantiate(module);
  const calls = createCalls(exports);
  const { call, ending } = calls;
  const heap = createHeap(memory);
  if (exports._initialize) call('_initialize');
  // So that handles of one core are none of another.
  cores += 1;
  call('qkv_salt', Math.imul(cores, GOLDEN));
  const description = parseDescription(heap.readText(call('qkv_describe')));
  if (threads !== 'auto') checkThreads(threads, description.limits.threads);
  if (limit > 0) {
    // The heap is laid out, without a ceiling, by the first allocation.
    call('qkv_free', call('qkv_alloc', 1));
    call('qkv_heap_limit', limit);
  }
  const pool = isShared && plan && plan.threads > 1 && mayWait() ? createPool({ module, memory, call, plan }) : null;
  const endPool = pool ? poolEnder(pool, exports) : () => {};
  ending.listen(endPool);
  await pool?.start();
  const loseThread = (/** @type {string} */ subject, /** @type {boolean} */ hasTrapped) =>
    threadError(calls, pool, subject, hasTrapped);
  const failures = createFailures({ call, heap, statuses: description.statuses, limit, loseThread });
  const core = {
    module,
    description,
    heap,
    call,
    ...failures,
    ...createMemory(calls, failures),
    turns: createTurns(),
    ending,
    isAlive: () => !ending.hasEnded(),
    threads: () => pool?.threads() ?? 1,
    /** To be waited for before computing: starts threads for those that were lost; null when there is nothing to do. */
    mend: () => pool?.mend() ?? null,
    /** @param {QkvError} error what later calls get */
    end: (error) => void ending.end(error),
  };
  if (pool) forgotten.register(core, endPool, endPool);
  return core;
}

/**
 * How many there may be is for the module to say, so a wrong number is refused once the module is there.
 * @param {number} threads
 * @param {number} most
 */
function checkThreads(threads, most) {
  if (Number.isInteger(threads) && threads >= 1 && threads <= most) return;
  const want = `'auto' or a whole number from 1 to ${most}`;
  throw new QkvError(Number.isInteger(threads) ? 'range' : 'argument', 'init: threads', { got: threads, want });
}

/**
 * The one way to the exports: nothing reaches them past `call`.
 * @param {WebAssembly.Exports} exports
 */
function createCalls(exports) {
  const ending = createEnding();

  /**
   * @param {string} name
   * @param {number[]} args
   */
  function call(name, ...args) {
    ending.check();
    const run = /** @type {WasmFunction | undefined} */ (exports[name]);
    if (!run) throw mismatch(`export ${name}`, 'none', 'a function');
    try {
      return run(...args);
    } catch (cause) {
      // Whatever comes out of wasm (RuntimeError, RangeError, Firefox's InternalError) has left it half way.
      const message = cause instanceof Error ? cause.message : String(cause);
      const fix = 'Load the models of this engine again, and make its operators anew.';
      const error = new QkvError('crash', `The engine stopped in ${name} (${message})`, { cause, fix });
      ending.end(error);
      throw error;
    }
  }

  return { call, ending };
}

/**
 * Ends the threads. What is registered would hold the exports, and with them the memory, for as long as the core is
 * reachable, so the first call takes it off the registry.
 * @param {Pool} pool
 * @param {WebAssembly.Exports} exports
 */
function poolEnder(pool, exports) {
  let isDone = false;
  return function endPool() {
    if (isDone) return;
    isDone = true;
    pool.end(/** @type {() => void} */ (exports.qkv_close_pool));
    forgotten.unregister(endPool);
  };
}

/**
 * What was being computed is incomplete; all else is as it was, once the thread is known to do nothing any more. The next
 * call that can wait has all threads again.
 * @param {Calls} calls
 * @param {Pool | null} pool
 * @param {string} subject
 * @param {boolean} hasTrapped
 */
function threadError({ ending }, pool, subject, hasTrapped) {
  const goesOn = endsAtOnce() && !hasTrapped;
  const fix = goesOn ? 'Try again.' : 'Load the model again.';
  const error = new QkvError('crash', `A thread of the engine stopped in ${subject}`, { fix });
  if (goesOn) pool?.close();
  else ending.end(error);
  return error;
}

/**
 * @param {Calls} calls
 * @param {import('./failures.js').Failures} failures
 */
function createMemory({ call, ending }, { available, nonZero }) {
  /** @param {number} offset */
  function free(offset) {
    if (!ending.hasEnded()) call('qkv_free', offset);
  }

  return {
    free,

    /**
     * Memory for the length of one call.
     * @template T
     * @param {string} subject
     * @param {number} bytes
     * @param {(offset: number) => T} use
     * @returns {T}
     */
    withMemory(subject, bytes, use) {
      // A larger number would reach the engine without its upper bits.
      if (bytes >= LARGEST_MEMORY) throw memoryError(subject, bytes, available());
      const offset = nonZero(subject, call('qkv_alloc', bytes));
      try {
        return use(offset);
      } finally {
        free(offset);
      }
    },
  };
}
