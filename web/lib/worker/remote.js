/** Model and Run as api/ describes them, computed by a worker. */

import { callbackOf, optionsOf, signalOf } from '../checks/arguments.js';
import { withCall } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { checkLoadOptions } from '../loading/load_options.js';
import { EMBED_OPTIONS, FORWARD_OPTIONS, GENERATE_OPTIONS } from '../model/options.js';
import { readStopTexts } from '../model/stop_texts.js';
import { portableSource } from '../sources/portable.js';
import { createWorkers } from './workers.js';

/** @typedef {import('../api/model.js').ForwardInput} ForwardInput */
/** @typedef {import('../api/model.js').ForwardOptions} ForwardOptions */
/** @typedef {import('../api/model.js').Model} Model */
/** @typedef {import('../api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('../api/run.js').Run} Run */
/** @typedef {import('../checks/calls.js').Ending} Ending */
/** @typedef {import('../loading/load_options.js').LoadOptions} LoadOptions */
/** @typedef {import('../sources/source.js').SourceInput} SourceInput */
/** @typedef {import('./client.js').Connection} Connection */
/** @typedef {import('./client.js').Extras} Extras */
/** @typedef {import('./protocol.js').LoadRequest} LoadRequest */
/** @typedef {import('./protocol.js').RunReply} RunReply */
/** @typedef {import('./workers.js').Workers} Workers */
/**
 * What an engine lends: its module, its limits, and its end.
 * @typedef {object} Lent
 * @property {WebAssembly.Module} module
 * @property {number} limit
 * @property {import('../engine/pool.js').PoolPlan | null} [pool]
 * @property {Ending | null} [ending]
 */
/** @typedef {{ workers: Workers }} RemoteModel what each method and each run knows */
/** @typedef {{ model: RemoteModel | null, connection: Connection, number: number }} RemoteRun model: null once disposed */

/** Frees runs, and ends the workers of models, that a caller forgot; a backstop only. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

/**
 * @param {SourceInput} input
 * @param {LoadOptions | undefined} options
 * @param {Lent} lent
 * @returns {Promise<Model>}
 */
export async function loadInWorker(input, options, { module, limit, pool = null, ending = null }) {
  const { signal, onProgress, ...rest } = checkLoadOptions(options);
  /** @type {LoadRequest} */
  const request = { module, limit, pool, source: portableSource(input), options: rest };
  return withCall(ending ? [ending] : [], signal, async (call) => {
    const workers = createWorkers(request, onProgress, ending);
    try {
      return createRemoteModel(await workers.first(call), workers);
    } catch (error) {
      workers.dispose();
      throw error;
    }
  });
}

/**
 * @param {ModelInfo} info
 * @param {Workers} workers
 * @returns {Model}
 */
export function createRemoteModel(info, workers) {
  /** @type {RemoteModel} */
  const model = { workers };
  forgotten.register(model, workers.dispose, workers);
  const dispose = () => {
    forgotten.unregister(model.workers);
    model.workers.dispose();
  };
  return {
    info,
    async tokenize(...args) {
      return /** @type {Awaited<ReturnType<Model['tokenize']>>} */ ((await ask(model, 'tokenize', args)).result);
    },
    /**
     * @template {ForwardInput} Input
     * @param {Input} input
     * @param {ForwardOptions} [options]
     */
    async forward(input, options) {
      const { signal, ...rest } = optionsOf('forward', options, FORWARD_OPTIONS);
      const run = await askForRun(model, 'forward', [input, rest], { signal: signalOf('forward', signal) });
      return /** @type {import('../api/run.js').Run<import('../api/model.js').IsBatch<Input>>} */ (run);
    },
    async embed(texts, options) {
      const { signal, onProgress, ...rest } = optionsOf('embed', options, EMBED_OPTIONS);
      const calls = { signal: signalOf('embed', signal), onProgress: callbackOf('embed: onProgress', onProgress) };
      return /** @type {Float32Array[]} */ ((await ask(model, 'embed', [texts, rest], calls)).result);
    },
    async generate(input, options) {
      const { signal, onToken, ...rest } = optionsOf('generate', options, GENERATE_OPTIONS);
      // Here, since not all that may be given can cross to the worker.
      readStopTexts(rest.stop);
      const calls = { signal: signalOf('generate', signal), onToken: callbackOf('generate: onToken', onToken) };
      const run = await askForRun(model, 'generate', [input, rest], calls);
      return /** @type {import('../api/run.js').Run<false>} */ (run);
    },
    dispose,
    [Symbol.dispose]: dispose,
  };
}

/**
 * @param {RemoteModel} model
 * @param {string} method
 * @param {unknown[]} args
 * @param {Omit<Extras, 'call'> & { signal?: AbortSignal }} [extras]
 */
function ask({ workers }, method, args, { signal, ...extras } = {}) {
  return withCall([workers.ending], signal, async (call) => {
    const connection = await workers.get(call);
    const result = await connection.request(method, args, { call, ...extras });
    workers.succeeded();
    return { result, connection };
  });
}

/**
 * @param {RemoteModel} model
 * @param {string} method
 * @param {unknown[]} args
 * @param {Omit<Extras, 'call'> & { signal?: AbortSignal }} extras
 */
async function askForRun(model, method, args, extras) {
  const { result, connection } = await ask(model, method, args, extras);
  return createRemoteRun(model, /** @type {RunReply} */ (result), connection);
}

/**
 * @param {RemoteModel} model
 * @param {RunReply} reply
 * @param {Connection} connection
 * @returns {Run}
 */
function createRemoteRun(model, { run: number, ...facts }, connection) {
  /** @type {RemoteRun} */
  const run = { model, connection, number };
  forgotten.register(run, dropper(connection, number), run);
  const dispose = () => disposeRun(run);
  return {
    ...facts,
    getWeights: (...args) => askRun(run, 'getWeights', args),
    overview: (...args) => askRun(run, 'overview', args),
    getStage: (...args) => askRun(run, 'getStage', args),
    hidden: (...args) => askRun(run, 'hidden', args),
    embedding: (...args) => askRun(run, 'embedding', args),
    logits: (...args) => askRun(run, 'logits', args),
    nextTokens: (...args) => askRun(run, 'nextTokens', args),
    dispose,
    [Symbol.dispose]: dispose,
  };
}

/**
 * In a function of its own: it must not know the run.
 * @param {Connection} connection
 * @param {number} number
 */
const dropper = (connection, number) => () => connection.drop(number);

/**
 * @template T
 * @param {RemoteRun} run
 * @param {string} method
 * @param {unknown[]} args
 * @returns {Promise<T>}
 */
async function askRun({ model, connection, number }, method, args) {
  if (!model) throw new QkvError('disposed', 'This run was disposed', { fix: 'Call model.forward again.' });
  return withCall([model.workers.ending], undefined, async (call) => {
    return /** @type {T} */ (await connection.request(method, args, { call, run: number }));
  });
}

/** @param {RemoteRun} run */
function disposeRun(run) {
  if (!run.model) return;
  run.model = null;
  forgotten.unregister(run);
  run.connection.drop(run.number);
}
