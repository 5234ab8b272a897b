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

/**
 * A call from its start to its answer. It must be closed.
 * @param {readonly Pick<Ending, 'check' | 'listen'>[]} endings
 * @param {AbortSignal | undefined} signal
 */
export function createCall(endings, signal) {
  const own = createEnding();
  const onAbort = () => void own.end(new QkvError('aborted', 'Cancelled', { cause: signal?.reason }));
  const stops = endings.map((ending) => ending.listen(own.end));
  signal?.addEventListener('abort', onAbort);

  function check() {
    if (signal?.aborted) onAbort();
    for (const ending of endings) ending.check();
    own.check();
  }

  return {
    check,
    listen: own.listen,

    /** Ends the call with an error of the caller's own. */
    fail: own.end,

    /**
     * What a promise comes to, unless the call ends first; the promise is then left to itself.
     * @template T
     * @param {PromiseLike<T>} promise
     * @returns {Promise<T>}
     */
    async wait(promise) {
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
    },

    close() {
      signal?.removeEventListener('abort', onAbort);
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
