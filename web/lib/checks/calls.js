/** What can end a call before its answer: its signal, the end of what it works with (a model, an engine, a worker), an error of
 * the caller's own callbacks. State that was looked at before an `await` may be another behind it, so every wait of a call goes
 * through `call.wait`, which hears all of these at once and looks again before it comes back. */

import { QkvError } from './errors.js';

/** @typedef {(error: unknown) => void} Listener */
/** @typedef {ReturnType<typeof createEnding>} Ending */
/** @typedef {ReturnType<typeof createCall>} Call */

/** The end of something, once: known to whoever looks, told to whoever listens. */
export function createEnding() {
  /** @type {{ error: unknown } | null} */
  let ended = null;
  /** @type {Set<Listener>} */
  const listeners = new Set();
  return {
    hasEnded: () => ended !== null,

    /** Throws the error that it ended with. */
    check() {
      if (ended) throw ended.error;
    },

    /**
     * @param {unknown} error what calls get from now on
     * @returns {boolean} false where it had ended before
     */
    end(error) {
      if (ended) return false;
      ended = { error };
      const told = [...listeners];
      listeners.clear();
      for (const listener of told) listener(error);
      return true;
    },

    /**
     * @param {Listener} listener called at most once, at the end
     * @returns {() => void} stops it
     */
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Listeners of each signal. @type {WeakMap<EventTarget, Set<() => void>>} */
const hearers = new WeakMap();

/** @param {Event} event */
function onAbort({ target }) {
  for (const hearer of [...(hearers.get(/** @type {EventTarget} */ (target)) ?? [])]) hearer();
}

/**
 * All calls with one signal share a listener: Node takes more than ten of a signal for a leak, and says so.
 * @param {AbortSignal} signal
 * @param {() => void} hearer
 * @returns {() => void} stops it
 */
function hearAbort(signal, hearer) {
  const all = hearers.get(signal) ?? new Set();
  hearers.set(signal, all.add(hearer));
  signal.addEventListener('abort', onAbort);
  return () => {
    all.delete(hearer);
    if (all.size === 0) signal.removeEventListener('abort', onAbort);
  };
}

/**
 * A call from its start to its answer. It must be closed.
 * @param {readonly Pick<Ending, 'check' | 'listen'>[]} endings
 * @param {AbortSignal | undefined} signal
 */
export function createCall(endings, signal) {
  const own = createEnding();
  const cancel = () => void own.end(new QkvError('aborted', 'Cancelled', { cause: signal?.reason }));
  const stops = endings.map((ending) => ending.listen(own.end));
  if (signal) stops.push(hearAbort(signal, cancel));
  /** What callbacks returned and has not settled. @type {Set<Promise<unknown>>} */
  const telling = new Set();

  function check() {
    if (signal?.aborted) cancel();
    for (const ending of endings) ending.check();
    own.check();
  }

  /**
   * What a promise comes to, unless the call ends first; the promise is then left to itself.
   * @template T
   * @param {PromiseLike<T>} promise
   * @returns {Promise<T>}
   */
  async function wait(promise) {
    // Whoever waited may be gone when it fails; without a handler that would be an unhandled rejection.
    Promise.resolve(promise).then(undefined, () => {});
    check();
    /** @type {() => void} */
    let stop = () => {};
    const ended = new Promise((_, reject) => {
      stop = own.listen(reject);
    });
    try {
      return /** @type {T} */ (await Promise.race([promise, ended]));
    } finally {
      stop();
      check();
    }
  }

  return {
    check,
    wait,

    /** Ends the call with an error of the caller's own. @param {unknown} error */
    fail: (error) => void own.end(error),

    /** A signal for what the call starts: aborted where the call ends early, whatever ended it. */
    get signal() {
      const controller = new AbortController();
      own.listen(() => controller.abort());
      return controller.signal;
    },

    /**
     * Calls a callback that is not waited for. What it throws, or the promise it returns rejects with, ends the call.
     * @template T
     * @param {((value: T) => unknown) | undefined} callback
     * @param {T} value
     */
    tell(callback, value) {
      try {
        const result = Promise.resolve(callback?.(value)).catch(own.end);
        telling.add(result);
        result.then(() => telling.delete(result));
      } catch (error) {
        own.end(error);
      }
      check();
    },

    /** Comes back when the promises of all callbacks have settled. */
    told: () => wait(Promise.all(telling)),

    close() {
      for (const stop of stops) stop();
    },
  };
}

/**
 * @template T
 * @param {readonly Pick<Ending, 'check' | 'listen'>[]} endings
 * @param {AbortSignal | undefined} signal
 * @param {(call: Call) => Promise<T>} work
 */
export async function withCall(endings, signal, work) {
  const call = createCall(endings, signal);
  try {
    call.check();
    return await work(call);
  } finally {
    call.close();
  }
}
