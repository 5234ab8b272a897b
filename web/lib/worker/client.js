/** The client's side of a worker. Every request has an id and is settled exactly once: by its answer, by whatever ends its call
 * early, or, when the worker dies, by an error; nothing stays pending. A connection is one worker's life: what a worker that was
 * given up still says is dropped with it. */

import { createEnding } from '../checks/calls.js';
import { errorText, QkvError } from '../checks/errors.js';
import { createLine } from '../engine/line.js';
import { createHeartbeat } from './heartbeat.js';
import { isRunReply, isToClient } from './protocol.js';
import { spawnWorker } from './spawn.js';

/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('../api/model.js').OnToken} OnToken */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('./protocol.js').ToClient} ToClient */
/**
 * call: what can end the request early; its callbacks fail it
 * @typedef {{ call: Call, onProgress?: OnProgress, onToken?: OnToken, run?: number | null }} Extras
 */
/**
 * @typedef {object} Pending
 * @property {(result: unknown) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {Teller} teller
 */
/** @typedef {ReturnType<typeof createTeller>} Teller */
/** @typedef {ReturnType<typeof connect>} Connection */
/**
 * @typedef {object} ConnectOptions
 * @property {(error: QkvError) => void} onCrash
 * @property {typeof spawnWorker} [spawn]
 * @property {import('./heartbeat.js').Beat} [beat]
 */

/** Requests that are answered by a run. */
const RUN_MAKERS = ['forward', 'generate'];

/**
 * Requests of which only so many are with the worker at once: it computes one after the other, and thousands of answers in a row
 * would keep the caller's thread. Texts that are written are no part of it, for they take turns.
 */
const IN_LINE = ['forward', 'embed', 'tokenize'];
const MOST_AT_ONCE = 16;

/** A worker that has not answered an abort after this time hangs: layers of the largest inputs take about a second. */
const HANG_MILLISECONDS = 10_000;
/** Where the caller's thread slept past that time, the answer waits behind the timer: it gets this long to be read. */
const LAST_MOMENT_MILLISECONDS = 1000;

const OTHER_VERSION = 'Take worker.js of the same version of qkv.';
const NEXT = 'Its runs are lost; the next call starts a new worker and loads the model again.';

/** @param {ConnectOptions} options */
export function connect({ onCrash, spawn = spawnWorker, beat }) {
  /** @type {Map<number, Pending>} */
  const pending = new Map();
  const ending = createEnding();
  const line = createLine(MOST_AT_ONCE);
  let lastId = 0;
  let isReady = false;

  const worker = spawn({
    onMessage: receive,
    onFailure(what, cause) {
      const fix = isReady ? NEXT : 'Use loadModel(source, { worker: false }) to compute in this thread.';
      crash(new QkvError(isReady ? 'crash' : 'worker', `The worker stopped (${what})`, { cause, fix }));
    },
  });
  const heartbeat = createHeartbeat({
    ask: () => worker.port.postMessage({ ping: ++lastId }),
    onSilence: (seconds) =>
      crash(
        new QkvError('timeout', `The worker has said nothing for ${seconds} seconds and was stopped`, { fix: NEXT }),
      ),
    beat,
  });

  /** @param {unknown} message */
  function receive(message) {
    if (!isToClient(message)) {
      crash(new QkvError('worker', 'A message of the worker cannot be read', { got: message, fix: OTHER_VERSION }));
      return;
    }
    heartbeat.heard();
    if ('ready' in message) {
      isReady = true;
      return;
    }
    if ('pong' in message) return;
    const waiting = pending.get(message.id);
    if (!waiting) return;
    if ('progress' in message) waiting.teller.progress(message.progress);
    else if ('token' in message) waiting.teller.token(message.token);
    else if ('result' in message) settle(message.id).resolve(message.result);
    else {
      const error = QkvError.fromJSON(message.error);
      settle(message.id).reject(error);
      // After a trap the worker's instance is dead. One that has only lost a thread could go on, but says the same; a new
      // worker has all threads as well.
      if (error.code === 'crash') crash(error);
    }
  }

  /** @param {number} id of a request that is pending */
  function settle(id) {
    const waiting = /** @type {Pending} */ (pending.get(id));
    pending.delete(id);
    if (pending.size === 0) {
      worker.release();
      heartbeat.stop();
    }
    return waiting;
  }

  /** @param {QkvError} error */
  function end(error) {
    if (!ending.end(error)) return;
    worker.end();
    line.end(error);
    for (const id of [...pending.keys()]) settle(id).reject(error);
  }

  /** @param {QkvError} error */
  function crash(error) {
    if (ending.hasEnded()) return;
    end(error);
    onCrash(error);
  }

  /**
   * @param {{ method: string, run: number | null, args: unknown[] }} asked
   * @returns {number} the request's id
   */
  function post({ method, run, args }) {
    const id = ++lastId;
    try {
      worker.port.postMessage({ id, method, run, args });
    } catch (cause) {
      // Functions, detached buffers, getters that throw: the argument is at fault, not the worker.
      const what = `${method}: the arguments cannot go to a worker (${errorText(cause)})`;
      throw new QkvError('argument', what, { cause });
    }
    return id;
  }

  /**
   * Lets the worker know that nobody waits for a request. It answers all the same, or it hangs.
   * @param {number} id
   */
  function abandon(id) {
    const waiting = pending.get(id);
    if (!waiting) return;
    worker.port.postMessage({ abort: id });
    const isDue = () => pending.get(id) === waiting;
    later(HANG_MILLISECONDS, () => {
      if (!isDue()) return;
      later(LAST_MOMENT_MILLISECONDS, () => {
        if (isDue()) crash(new QkvError('timeout', 'The worker did not answer and was stopped', { fix: NEXT }));
      });
    });
  }

  /** @param {number} run */
  function drop(run) {
    if (!ending.hasEnded()) post({ method: 'dispose', run, args: [] });
  }

  /**
   * @param {string} method
   * @param {unknown[]} args
   * @param {Extras} extras
   * @returns {Promise<unknown>}
   */
  async function request(method, args, extras) {
    extras.call.check();
    ending.check();
    if (!IN_LINE.includes(method)) return exchange(method, args, extras, () => {});
    await line.enter(extras.call);
    let isInside = true;
    const leave = () => {
      if (isInside) line.leave();
      isInside = false;
    };
    try {
      return await exchange(method, args, extras, leave);
    } finally {
      leave();
    }
  }

  /**
   * @param {string} method
   * @param {unknown[]} args
   * @param {Extras} extras
   * @param {() => void} onAnswer
   */
  async function exchange(method, args, { call, onProgress, onToken, run = null }, onAnswer) {
    const id = post({ method, run, args });
    worker.hold();
    heartbeat.start();
    const teller = createTeller(call, onProgress, onToken);
    /** @type {Promise<unknown>} */
    const answer = new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject, teller });
    });
    try {
      const result = await call.wait(answer);
      if (RUN_MAKERS.includes(method) && !isRunReply(result)) {
        throw new QkvError('worker', `The worker's answer to ${method} is no run`, { got: result, fix: OTHER_VERSION });
      }
      onAnswer();
      await teller.told();
      return result;
    } catch (error) {
      abandon(id);
      // An abandoned call may still have finished, or may finish yet; nobody has its run.
      if (RUN_MAKERS.includes(method)) {
        answer.then(
          (result) => isRunReply(result) && drop(result.run),
          () => {},
        );
      }
      throw error;
    }
  }

  return { end, drop, request, isAlive: () => !ending.hasEnded() };
}

/**
 * Tells the caller's functions what the worker says, as it would be without a worker: what they throw, or reject, ends the
 * call.
 * @param {Call} call
 * @param {OnProgress | undefined} onProgress
 * @param {OnToken | undefined} onToken
 */
function createTeller(call, onProgress, onToken) {
  /** One token after the other. */
  let tokens = Promise.resolve();
  let isOver = false;
  const fail = (/** @type {unknown} */ error) => {
    isOver = true;
    call.fail(error);
  };
  return {
    /** @param {import('../api/model.js').Progress} progress */
    progress(progress) {
      if (isOver) return;
      try {
        call.tell(onProgress, progress);
      } catch {
        // The call has ended with it.
        isOver = true;
      }
    },

    /** @param {import('../api/model.js').NewToken} token */
    token(token) {
      if (!onToken) return;
      tokens = tokens
        .then(async () => {
          if (isOver) return;
          call.check();
          await onToken(token);
        })
        .catch(fail);
    },

    /** Comes back when the functions have had all of it. */
    async told() {
      await call.wait(tokens);
      await call.told();
    },
  };
}

/**
 * A timer that keeps no process alive.
 * @param {number} milliseconds
 * @param {() => void} action
 */
function later(milliseconds, action) {
  const timer = setTimeout(action, milliseconds);
  if (typeof timer === 'object') /** @type {{ unref?: () => void }} */ (timer).unref?.();
}
