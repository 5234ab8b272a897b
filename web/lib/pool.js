/** The threads of an engine beside the calling one: workers that make their own instance over the engine's shared memory
 * and stay inside wasm, where the work is shared out. From here they are only started and ended. */

import { trusted } from './script_address.js';

/** @typedef {import('./join_pool.js').Entering} Entering */
/** @typedef {import('./join_pool.js').Joining} Joining */
/** @typedef {{ threads: number, address: string }} PoolPlan threads: the calling one included; address: of thread.js */
/** @typedef {{ onMessage: (message: Entering) => void, onEnd: () => void }} Handlers */
/** @typedef {{ send: (message: Joining) => void, end: () => void, release: () => void }} Thread */
/** @typedef {Awaited<ReturnType<typeof startPool>>} Pool */

/** As in pool.h. */
const MOST_THREADS = 16;
/** More than this many are asked for by number only: spinning threads that outnumber the cores are a loss. */
const MOST_AUTO = 4;
const STACK_BYTES = 65536;
/** A thread that is not inside by then is done without. */
const PATIENCE_MILLISECONDS = 5000;

const isNode = () => typeof globalThis.process?.getBuiltinModule === 'function';

/**
 * How many threads there will be where so many are wanted: one where memory cannot be shared.
 * @param {number | 'auto'} wanted
 */
export function threadsFor(wanted) {
  const canShare = typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;
  if (!canShare || !(isNode() || typeof Worker === 'function')) return 1;
  return wanted === 'auto' ? Math.min(cores(), MOST_AUTO) : Math.min(wanted, MOST_THREADS);
}

function cores() {
  if (typeof navigator === 'object' && navigator.hardwareConcurrency) return navigator.hardwareConcurrency;
  return isNode() ? process.getBuiltinModule('node:os').availableParallelism() : 1;
}

/** Whether this thread may wait for others: that of a page may not. */
export const mayWait = () => typeof document === 'undefined';

/** Whether a thread that was ended is known to do nothing any more: in browsers it may go on for a while. */
export const endsAtOnce = isNode;

/**
 * Starts the threads and comes back when they are inside. There may be fewer than planned, down to none.
 * @param {object} parts
 * @param {WebAssembly.Module} parts.module
 * @param {WebAssembly.Memory} parts.memory
 * @param {(name: string, ...args: number[]) => number} parts.call of the first instance
 * @param {PoolPlan} parts.plan
 */
export async function startPool({ module, memory, call, plan }) {
  /** @type {Map<number, Thread>} */
  const members = new Map();
  const slots = call('qkv_set_threads', plan.threads);
  const starting = Array.from({ length: slots - 1 }, (_, index) => start(index + 1));
  const started = await Promise.all(starting);
  const inside = started.filter((entered) => entered).length;
  // The message comes just before the thread is inside.
  for (let tries = 0; call('qkv_workers') < inside && tries < PATIENCE_MILLISECONDS; tries++) await moment(1);
  for (const thread of members.values()) thread.release();

  /**
   * @param {number} slot
   * @returns {Promise<boolean>} whether it is inside
   */
  function start(slot) {
    const stack = call('qkv_alloc', STACK_BYTES) >>> 0;
    if (stack === 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = () => {
        members.delete(slot);
        resolve(false);
      };
      try {
        const thread = spawn(plan.address, { onMessage: () => resolve(true), onEnd: leave });
        members.set(slot, thread);
        thread.send({ module, memory, slot, stack: stack + STACK_BYTES });
        moment(PATIENCE_MILLISECONDS).then(() => resolve(false));
      } catch {
        // No worker may be started here; one thread is enough for the same numbers.
        leave();
      }
    });
  }

  return {
    /** How many compute, the calling one included. */
    threads: () => 1 + members.size,

    /** @param {() => void} close lets the threads out of wasm, should they look */
    end(close) {
      close();
      for (const thread of members.values()) thread.end();
      members.clear();
    },
  };
}

/** @param {number} milliseconds @returns {Promise<void>} */
const moment = (milliseconds) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    if (milliseconds > 1 && typeof timer === 'object') /** @type {{ unref?: () => void }} */ (timer).unref?.();
  });

/**
 * @param {string} address
 * @param {Handlers} handlers
 * @returns {Thread}
 */
function spawn(address, { onMessage, onEnd }) {
  if (isNode()) {
    const { Worker: NodeWorker } = process.getBuiltinModule('node:worker_threads');
    // Options of the process are not for the thread: `node --input-type=module -e` would end it at once.
    const thread = new NodeWorker(new URL(address), { name: 'qkv-thread', execArgv: [] });
    thread.on('message', onMessage);
    thread.on('error', onEnd);
    thread.on('exit', onEnd);
    return {
      send: (message) => thread.postMessage(message),
      end: () => void thread.terminate(),
      release: () => thread.unref(),
    };
  }
  const thread = new Worker(trusted(new URL(address)), { type: 'module', name: 'qkv-thread' });
  thread.onmessage = ({ data }) => onMessage(data);
  thread.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
  return { send: (message) => thread.postMessage(message), end: () => thread.terminate(), release: () => {} };
}
