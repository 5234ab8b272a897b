/** The threads of an engine beside the calling one: workers that make their own instance over the engine's shared memory
 * and stay inside wasm, where the work is shared out. From here they are only started and ended. */

import { spawnThread } from './thread.js';

/** @typedef {import('./thread.js').Thread} Thread */
/** @typedef {{ threads: number, address: string }} PoolPlan threads: the calling one included; address: of thread.js */
/**
 * @typedef {object} PoolParts
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {(name: string, ...args: number[]) => number} call of the first instance
 * @property {PoolPlan} plan
 */
/** @typedef {ReturnType<typeof createMembers>} Members */
/** @typedef {ReturnType<typeof createPool>} Pool */

/** 'auto' takes no more than this; a number may. Threads that outnumber the cores only slow each other down. */
const MOST_AUTO = 4;
const STACK_BYTES = 65536;
/** A thread that is not inside by then is left out. */
const PATIENCE_MILLISECONDS = 5000;

const isNode = () => typeof globalThis.process?.getBuiltinModule === 'function';

/**
 * How many threads there will be where so many are wanted: one where memory cannot be shared.
 * @param {number | 'auto'} wanted
 */
export function threadsFor(wanted) {
  const canShare = typeof SharedArrayBuffer === 'function' && globalThis.crossOriginIsolated !== false;
  if (!canShare || !(isNode() || typeof Worker === 'function')) return 1;
  return wanted === 'auto' ? Math.min(cores(), MOST_AUTO) : wanted;
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
 * How many threads there are to be, and when they are started anew.
 * @param {PoolParts} parts
 */
export function createPool(parts) {
  const { call, plan } = parts;
  const members = createMembers(parts);
  /** How many are to be there beside the calling one: as many as could be started last. */
  let wanted = 0;
  let isEnded = false;
  /** @type {Promise<void> | null} */
  let mending = null;

  /** Comes back when the threads are inside. There may be fewer than planned, down to none. */
  async function start() {
    const slots = call('qkv_set_threads', plan.threads);
    const started = await Promise.all(Array.from({ length: slots - 1 }, (_, index) => members.join(index + 1)));
    wanted = started.filter((entered) => entered).length;
    if (isEnded) return;
    // The message comes just before the thread is inside.
    for (let tries = 0; call('qkv_workers') < wanted && tries < PATIENCE_MILLISECONDS; tries++) await moment();
    members.release();
  }

  /** Tells the threads to leave wasm, and ends them. Until mend has started new ones the calling thread computes alone. */
  function close() {
    call('qkv_close_pool');
    members.leave();
  }

  /** Starts all threads again: a lost one may have left its counters in the shared memory in any state. */
  async function startAgain() {
    close();
    if (!(await members.areGone())) {
      wanted = 0;
      return;
    }
    if (!isEnded) await start();
    if (isEnded) members.leave();
  }

  return {
    start,
    close,

    /** How many compute, the calling one included. */
    threads: () => 1 + members.count(),

    /** Starts threads for those that were lost; null when all are there. Never rejects. */
    mend() {
      if (isEnded || members.count() >= wanted || !endsAtOnce()) return mending;
      mending ??= startAgain()
        .catch(() => {
          // The engine has ended meanwhile, and the next call says so.
        })
        .finally(() => {
          mending = null;
        });
      return mending;
    },

    /** @param {() => void} closeAnyway where calls are no longer possible */
    end(closeAnyway) {
      isEnded = true;
      closeAnyway();
      members.leave();
    },
  };
}

/**
 * The threads that are there, each with a slot and a stack of its own.
 * @param {PoolParts} parts
 */
export function createMembers({ module, memory, call, plan }) {
  /** @type {Map<number, Thread>} */
  const members = new Map();
  /** Where the stack of each slot ends: whoever has the slot next has it. @type {Map<number, number>} */
  const stacks = new Map();
  /** @type {Promise<unknown>[]} threads on their way out */
  let leaving = [];

  /** @param {number} slot */
  function stackOf(slot) {
    const known = stacks.get(slot);
    if (known !== undefined) return known;
    const lowest = call('qkv_alloc', STACK_BYTES) >>> 0;
    if (lowest !== 0) stacks.set(slot, lowest + STACK_BYTES);
    return stacks.get(slot) ?? 0;
  }

  /**
   * @param {number} slot
   * @param {Thread} thread
   */
  function remove(slot, thread) {
    if (members.get(slot) !== thread) return;
    members.delete(slot);
    leaving.push(thread.end());
  }

  return {
    count: () => members.size,

    /**
     * @param {number} slot
     * @returns {Promise<boolean>} whether it is inside
     */
    join(slot) {
      const stack = stackOf(slot);
      if (stack === 0) return Promise.resolve(false);
      /** @type {Promise<boolean>} */
      const entering = new Promise((resolve) => {
        try {
          const thread = spawnThread(plan.address, {
            onMessage: () => resolve(true),
            onEnd() {
              remove(slot, thread);
              resolve(false);
            },
          });
          members.set(slot, thread);
          thread.send({ module, memory, slot, stack });
        } catch {
          // No worker may be started here; one thread is enough for the same numbers.
          resolve(false);
        }
      });
      return inTime(entering);
    },

    /** Ends all of them. */
    leave() {
      for (const [slot, thread] of members) remove(slot, thread);
    },

    /** Whether those that left are gone, after some patience. */
    async areGone() {
      const gone = await inTime(Promise.all(leaving).then(() => true));
      if (gone) leaving = [];
      return gone;
    },

    /** They no longer keep the process alive. */
    release() {
      for (const thread of members.values()) thread.release();
    },
  };
}

/** @returns {Promise<void>} */
const moment = () => new Promise((resolve) => setTimeout(resolve, 1));

/**
 * What a promise comes to, false if that takes too long. No timer is left behind: it would hold the engine's memory.
 * @param {Promise<boolean>} promise
 */
async function inTime(promise) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Promise<boolean>} */
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MILLISECONDS, false);
    if (typeof timer === 'object') /** @type {{ unref?: () => void }} */ (timer).unref?.();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
