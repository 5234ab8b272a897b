/** The worker's side: owns one model and its runs, carries out requests, lets an abort message cancel one. Every request
 * is answered exactly once, with a result or an error. */

import { createCore } from '../engine/core.js';
import { QkvError } from '../checks/errors.js';
import { loadInThread } from '../loading/load.js';
import { pauseThread } from '../engine/pause.js';
import { buffersOf, isRequest, RUN_METHODS, toPlainError } from './protocol.js';

/** @typedef {import('../api/model.js').Model} Model */
/** @typedef {import('./protocol.js').LoadRequest} LoadRequest */
/** @typedef {import('./protocol.js').Request} Request */
/** @typedef {import('./protocol.js').ToClient} ToClient */
/** @typedef {import('./protocol.js').ToHost} ToHost */
/** @typedef {import('../api/run.js').Run} Run */
/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('../api/model.js').OnToken} OnToken */
/**
 * What a request can hear and say before its answer.
 * @typedef {{ signal: AbortSignal, onProgress: OnProgress, onToken: OnToken }} Calls
 */

/** Starts answering in this worker, of a browser or of Node. */
export function serve() {
  const port = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  if (port) {
    const dispatch = createDispatch((message, transfer) => port.postMessage(message, transfer));
    port.on('message', dispatch);
    return;
  }
  const scope = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
  const dispatch = createDispatch((message, transfer) => scope.postMessage(message, transfer));
  scope.onmessage = ({ data }) => dispatch(data);
}

/**
 * Messages that are not of our protocol are ignored: nobody waits for an answer to them.
 * @param {(message: ToClient, transfer: ArrayBuffer[]) => void} send
 * @returns {(message: ToHost) => void}
 */
function createDispatch(send) {
  /** @type {Map<number, AbortController>} */
  const running = new Map();
  const answer = createAnswer();
  send({ ready: true }, []);

  return (message) => {
    if (typeof message !== 'object' || message === null) return;
    if ('ping' in message) {
      send({ pong: message.ping }, []);
      return;
    }
    if ('abort' in message) {
      running.get(message.abort)?.abort();
      return;
    }
    if (!isRequest(message)) return;
    const { id } = message;
    const controller = new AbortController();
    running.set(id, controller);
    const { signal } = controller;
    const onProgress = (/** @type {import('../api/model.js').Progress} */ progress) => send({ id, progress }, []);
    const onToken = (/** @type {import('../api/model.js').NewToken} */ token) => send({ id, token }, []);
    answer(message, { signal, onProgress, onToken })
      .then((result) => send({ id, result }, buffersOf(result)))
      .catch((error) => send({ id, error: toPlainError(error) }, []))
      .finally(() => running.delete(id));
  };
}

/** @returns {(request: Request, calls: Calls) => Promise<unknown>} */
function createAnswer() {
  const pause = createPause();
  let isLoading = false;
  /** @type {Model | null} */
  let model = null;
  /** @type {Map<number, Run>} */
  const runs = new Map();
  let lastRun = 0;

  /**
   * @param {LoadRequest} request
   * @param {Calls} calls
   */
  async function load({ module, limit, pool, source, options }, { signal, onProgress }) {
    if (isLoading) throw new QkvError('state', 'load in a worker that has a model');
    isLoading = true;
    const given = { ...options, signal, onProgress };
    model = await loadInThread(source, given, { core: await createCore(module, { limit, pool }), pause });
    return model.info;
  }

  /**
   * @param {Promise<Run>} making
   * @returns {Promise<import('./protocol.js').RunReply>}
   */
  async function keep(making) {
    const run = await making;
    const { tokens, truncated, lengths, time, bytes, text, stopped, promptTokens } = run;
    runs.set(++lastRun, run);
    return { run: lastRun, tokens, truncated, lengths, time, bytes, text, stopped, promptTokens };
  }

  /** @param {Request} request */
  function askRun({ method, run: number, args }) {
    const run = runs.get(number ?? 0);
    if (method === 'dispose') {
      runs.delete(number ?? 0);
      return run?.dispose();
    }
    const name = RUN_METHODS.find((known) => known === method);
    if (!run || !name) throw new QkvError('worker', `message for ${method} of run ${number}`, { want: 'a known one' });
    const ask = /** @type {(...given: unknown[]) => Promise<unknown>} */ (run[name]);
    return ask(...args);
  }

  return async (request, calls) => {
    const { method, args } = request;
    const { signal, onProgress, onToken } = calls;
    if (method === 'load') return load(/** @type {LoadRequest} */ (args[0]), calls);
    if (request.run !== null) return askRun(request);
    if (!model) throw new QkvError('state', `${method} before the model was loaded`);
    if (method === 'forward') {
      const [input, options] = /** @type {Parameters<Model['forward']>} */ (args);
      return keep(model.forward(input, withCalls(options, { signal })));
    }
    if (method === 'generate') {
      const [input, options] = /** @type {Parameters<Model['generate']>} */ (args);
      return keep(model.generate(input, withCalls(options, { signal, onToken })));
    }
    if (method === 'tokenize') return model.tokenize(.../** @type {[string, string?]} */ (args));
    if (method === 'embed') {
      return model.embed(/** @type {string[]} */ (args[0]), withCalls(args[1], { signal, onProgress }));
    }
    throw new QkvError('worker', 'message for the worker', { got: method, want: 'a known one' });
  };
}

/**
 * Anything that is not an object is passed on as it is, and the model refuses it.
 * @param {unknown} options
 * @param {Partial<Calls>} calls
 */
function withCalls(options, calls) {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  return /** @type {Partial<Calls>} */ (isObject || options === undefined ? { ...options, ...calls } : options);
}

/**
 * Lets waiting messages in: setTimeout would wait 4 ms each time, a message to oneself does not.
 * @returns {() => Promise<void>}
 */
function createPause() {
  if (typeof setImmediate === 'function') return pauseThread;
  const { port1, port2 } = new MessageChannel();
  /** @type {(() => void)[]} */
  const waiting = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((go) => {
      waiting.push(go);
      port2.postMessage(null);
    });
}
