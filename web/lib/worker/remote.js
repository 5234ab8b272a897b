/** Model and Run as they are in model.js and run.js, computed by a worker. A worker that died is replaced at the next call
 * of the model, which is loaded again from its source; runs are lost with their worker, and nothing is replayed. */

import { callbackOf, optionsOf, signalOf } from '../checks/arguments.js';
import { connect } from './client.js';
import { QkvError } from '../checks/errors.js';
import { GENERATE_OPTIONS } from '../model/generate.js';
import { checkLoadOptions } from '../loading/load.js';
import { EMBED_OPTIONS } from '../model/embed.js';
import { FORWARD_OPTIONS } from '../model/model.js';
import { portableSource } from '../sources/source.js';

/** @typedef {import('./client.js').Connection} Connection */
/** @typedef {import('./client.js').Extras} Extras */
/** @typedef {import('../loading/load.js').LoadOptions} LoadOptions */
/** @typedef {import('../api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('../api/model.js').ForwardInput} ForwardInput */
/** @typedef {import('../api/model.js').ForwardOptions} ForwardOptions */
/** @typedef {import('../api/model.js').Model} Model */
/** @typedef {import('./protocol.js').LoadRequest} LoadRequest */
/** @typedef {import('./protocol.js').RunReply} RunReply */
/** @typedef {import('../api/run.js').Run} Run */
/** @typedef {import('../sources/source.js').SourceInput} SourceInput */

/** A model that brings its worker down this often in a row is given up. */
const MOST_CRASHES = 2;

/** Frees runs that a caller forgot; a backstop only. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

/**
 * @param {SourceInput} input
 * @param {LoadOptions | undefined} options
 * @param {{ module: WebAssembly.Module, limit: number, pool?: import('../engine/pool.js').PoolPlan | null }} wasm
 * @returns {Promise<Model>}
 */
export async function loadInWorker(input, options, { module, limit, pool = null }) {
  const { signal, onProgress, ...rest } = checkLoadOptions(options);
  /** @type {LoadRequest} */
  const request = { module, limit, pool, source: portableSource(input), options: rest };
  const workers = createWorkers(request, onProgress);
  const info = await workers.first(signal);
  return createRemoteModel(info, workers);
}

/** @typedef {ReturnType<typeof createWorkers>} Workers */

/**
 * The worker in use, and its replacement after a crash.
 * @param {LoadRequest} load
 * @param {import('../api/model.js').OnProgress | undefined} onProgress
 */
function createWorkers(load, onProgress) {
  /** @type {{ connection: Connection, loaded: Promise<ModelInfo> } | null} */
  let current = null;
  let crashes = 0;
  /** @type {QkvError | null} */
  let ended = null;

  /** @param {AbortSignal | undefined} signal */
  function start(signal) {
    const connection = connect((error) => {
      current = null;
      crashes++;
      if (crashes < MOST_CRASHES) return;
      const fix = 'The model is given up; load another one or reload the page.';
      ended ??= new QkvError('crash', `The worker stopped ${crashes} times in a row (${error.what})`, {
        cause: error,
        fix,
      });
    });
    const loaded = /** @type {Promise<ModelInfo>} */ (connection.request('load', [load], { signal, onProgress }));
    // A worker without a model is of no use; a crash has ended it already.
    loaded.catch((error) => {
      if (current?.connection === connection) current = null;
      connection.end(error);
    });
    return { connection, loaded };
  }

  return {
    /** @param {AbortSignal | undefined} signal */
    first(signal) {
      current = start(signal);
      return current.loaded;
    },

    /** @returns {Promise<Connection>} */
    async get() {
      if (ended) throw ended;
      current ??= start(undefined);
      const { connection, loaded } = current;
      await loaded;
      return connection;
    },

    /** A call of the model, answered: the worker is well. */
    succeeded: () => {
      crashes = 0;
    },

    end() {
      ended = new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' });
      current?.connection.end(ended);
      current = null;
    },
  };
}

/**
 * @param {ModelInfo} info
 * @param {Workers} workers
 * @returns {Model}
 */
function createRemoteModel(info, workers) {
  /**
   * @param {string} method
   * @param {unknown[]} args
   * @param {Extras} [extras]
   */
  async function ask(method, args, extras) {
    const connection = await workers.get();
    const result = await connection.request(method, args, extras);
    workers.succeeded();
    return { result, connection };
  }

  return {
    info,
    async tokenize(...args) {
      return /** @type {Awaited<ReturnType<Model['tokenize']>>} */ ((await ask('tokenize', args)).result);
    },
    /**
     * @template {ForwardInput} Input
     * @param {Input} input
     * @param {ForwardOptions} [options]
     */
    async forward(input, options) {
      const { signal, ...rest } = optionsOf('forward', options, FORWARD_OPTIONS);
      const { result, connection } = await ask('forward', [input, rest], { signal: signalOf('forward', signal) });
      const run = createRemoteRun(/** @type {RunReply} */ (result), connection);
      return /** @type {import('../api/run.js').Run<import('../api/model.js').IsBatch<Input>>} */ (run);
    },
    async embed(texts, options) {
      const { signal, onProgress, ...rest } = optionsOf('embed', options, EMBED_OPTIONS);
      const calls = { signal: signalOf('embed', signal), onProgress: callbackOf('embed: onProgress', onProgress) };
      const { result } = await ask('embed', [texts, rest], calls);
      return /** @type {Float32Array[]} */ (result);
    },
    async generate(input, options) {
      const { signal, onToken, ...rest } = optionsOf('generate', options, GENERATE_OPTIONS);
      const calls = { signal: signalOf('generate', signal), onToken: callbackOf('generate: onToken', onToken) };
      const { result, connection } = await ask('generate', [input, rest], calls);
      const run = createRemoteRun(/** @type {RunReply} */ (result), connection);
      return /** @type {import('../api/run.js').Run<false>} */ (run);
    },
    dispose: workers.end,
    [Symbol.dispose]: workers.end,
  };
}

/**
 * @param {RunReply} reply
 * @param {Connection} connection
 * @returns {Run}
 */
function createRemoteRun({ run: number, ...facts }, connection) {
  let isDisposed = false;
  const release = () => connection.drop(number);

  /**
   * @template T
   * @param {string} method
   * @param {unknown[]} args
   * @returns {Promise<T>}
   */
  async function ask(method, args) {
    if (isDisposed) throw new QkvError('disposed', 'This run was disposed', { fix: 'Call model.forward again.' });
    return /** @type {T} */ (await connection.request(method, args, { run: number }));
  }

  function dispose() {
    if (isDisposed) return;
    isDisposed = true;
    forgotten.unregister(run);
    release();
  }

  /** @type {Run} */
  const run = {
    ...facts,
    getWeights: (...args) => ask('getWeights', args),
    overview: (...args) => ask('overview', args),
    getStage: (...args) => ask('getStage', args),
    hidden: (...args) => ask('hidden', args),
    embedding: (...args) => ask('embedding', args),
    logits: (...args) => ask('logits', args),
    nextTokens: (...args) => ask('nextTokens', args),
    dispose,
    [Symbol.dispose]: dispose,
  };
  forgotten.register(run, release, run);
  return run;
}
