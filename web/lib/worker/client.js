/** The client's side of a worker. Every request has an id and is settled exactly once: by its answer, by an abort, or,
 * when the worker dies, by an error; nothing stays pending. A connection is one worker's life: what a worker that was
 * given up still says is dropped with it. */

import { QkvError, throwIfAborted } from '../checks/errors.js';
import { spawnWorker } from './spawn.js';

/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('./protocol.js').RunReply} RunReply */
/** @typedef {import('./protocol.js').ToClient} ToClient */
/** @typedef {import('../api/model.js').OnToken} OnToken */
/** @typedef {{ signal?: AbortSignal, onProgress?: OnProgress, onToken?: OnToken, run?: number }} Extras */
/**
 * @typedef {object} Pending
 * @property {(result: unknown) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {OnProgress | undefined} onProgress
 * @property {OnToken | undefined} onToken
 * @property {Promise<void>} told settles when onToken has had all tokens that came
 * @property {boolean} isAborted rejected already; an answer is only awaited to know that the worker lives
 */
/** @typedef {ReturnType<typeof connect>} Connection */

/** Requests that are answered by a run. */
const RUN_MAKERS = ['forward', 'generate'];

/** A worker that has not answered an abort after this time hangs: layers of the largest inputs take about a second. */
const HANG_MILLISECONDS = 10_000;

/**
 * One closure, because answers, aborts, failures and the end of the worker all settle the same pending requests.
 * @param {(error: QkvError) => void} onCrash
 */
export function connect(onCrash) {
  /** @type {Map<number, Pending>} */
  const pending = new Map();
  let lastId = 0;
  let isReady = false;
  /** @type {QkvError | null} */
  let ended = null;

  const worker = spawnWorker({
    onMessage: receive,
    onFailure(what, cause) {
      const fix = isReady
        ? 'Its runs are lost; the next call starts a new worker and loads the model again.'
        : 'Use loadModel(source, { worker: false }) to compute in this thread.';
      crash(new QkvError(isReady ? 'crash' : 'worker', `The worker stopped (${what})`, { cause, fix }));
    },
  });

  /** @param {ToClient} message */
  function receive(message) {
    if ('ready' in message) {
      isReady = true;
      return;
    }
    const waiting = pending.get(message.id);
    if (!waiting) return;
    if ('progress' in message) {
      if (!waiting.isAborted) waiting.onProgress?.(message.progress);
      return;
    }
    if ('token' in message) {
      tell(message.id, waiting, message.token);
      return;
    }
    settle(message.id);
    if ('result' in message) {
      const { result } = message;
      waiting.told.then(() => waiting.resolve(result));
      return;
    }
    const error = QkvError.fromJSON(message.error);
    waiting.reject(error);
    // After a trap the worker's instance is dead. One that has only lost a thread could go on, but says the same; a new
    // worker has all threads as well.
    if (error.code === 'crash') crash(error);
  }

  /** @param {number} id */
  function settle(id) {
    pending.delete(id);
    if (pending.size === 0) worker.release();
  }

  /** @param {QkvError} error */
  function end(error) {
    if (ended) return;
    ended = error;
    worker.end();
    for (const [id, { reject }] of pending) {
      settle(id);
      reject(error);
    }
  }

  /** @param {QkvError} error */
  function crash(error) {
    if (ended) return;
    end(error);
    onCrash(error);
  }

  /**
   * One token after the other, as without a worker: what the caller's function throws, or rejects, ends the call.
   * @param {number} id
   * @param {Pending} waiting
   * @param {import('../api/model.js').NewToken} token
   */
  function tell(id, waiting, token) {
    waiting.told = waiting.told.then(async () => {
      if (waiting.isAborted) return;
      try {
        await waiting.onToken?.(token);
      } catch (error) {
        abort(id, waiting, /** @type {Error} */ (error));
      }
    });
  }

  /**
   * @param {number} id
   * @param {Pending} waiting
   * @param {Error} error
   */
  function abort(id, waiting, error) {
    if (waiting.isAborted) return;
    waiting.isAborted = true;
    waiting.reject(error);
    // It may have been answered while onToken was still busy.
    if (pending.get(id) !== waiting) return;
    worker.port.postMessage({ abort: id });
    const timer = setTimeout(() => {
      if (pending.get(id) === waiting) crash(new QkvError('timeout', 'The worker did not answer and was stopped'));
    }, HANG_MILLISECONDS);
    if (typeof timer === 'object') /** @type {{ unref?: () => void }} */ (timer).unref?.();
  }

  return {
    end,
    isAlive: () => ended === null,

    /**
     * @param {string} method
     * @param {unknown[]} args
     * @param {Extras} [extras]
     * @returns {Promise<unknown>}
     */
    request(method, args, { signal, onProgress, onToken, run } = {}) {
      return new Promise((resolve, reject) => {
        throwIfAborted(signal);
        if (ended) throw ended;
        const id = ++lastId;
        try {
          worker.port.postMessage({ id, method, run: run ?? null, args });
        } catch (cause) {
          // Functions, detached buffers and the like; the argument is at fault, not the worker.
          const message = cause instanceof Error ? cause.message : String(cause);
          throw new QkvError('argument', `${method}: the arguments cannot go to a worker (${message})`, { cause });
        }
        worker.hold();
        /** @type {Pending} */
        const waiting = {
          resolve(result) {
            signal?.removeEventListener('abort', onAbort);
            // An aborted call may still have finished; nobody has its run.
            if (waiting.isAborted && RUN_MAKERS.includes(method)) drop(/** @type {RunReply} */ (result).run);
            resolve(result);
          },
          reject(error) {
            signal?.removeEventListener('abort', onAbort);
            reject(error);
          },
          onProgress,
          onToken,
          told: Promise.resolve(),
          isAborted: false,
        };
        const onAbort = () => abort(id, waiting, new QkvError('aborted', 'Cancelled', { cause: signal?.reason }));
        signal?.addEventListener('abort', onAbort);
        pending.set(id, waiting);
      });
    },

    drop,
  };

  /** @param {number} run */
  function drop(run) {
    if (!ended) worker.port.postMessage({ id: ++lastId, method: 'dispose', run, args: [] });
  }
}
