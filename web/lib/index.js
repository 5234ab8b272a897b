/// <reference lib="esnext.disposable" preserve="true" />
/** qkv: runs transformer models and lets you look inside every attention head. This file is the public interface. */

import { optionsOf, signalOf, timeoutOf, wholeNumber } from './checks/arguments.js';
import { withCall } from './checks/calls.js';
import { createCore } from './engine/core.js';
import { createEngine, lentBy, liveCore } from './engine/engine.js';
import { QkvError } from './checks/errors.js';
import { checkLoadOptions, LOAD_OPTIONS } from './loading/load_options.js';
import { loadWasm } from './engine/loader.js';
import { scaledDotProductAttention } from './operators/attention.js';
import { MultiHeadAttention } from './operators/multi_head.js';
import { pauseThread } from './engine/pause.js';
import { threadsFor } from './engine/pool.js';
import { loadInWorker } from './worker/remote.js';

export { MultiHeadAttention, QkvError, scaledDotProductAttention };

/** @typedef {import('./engine/engine.js').Engine} Engine */
/** @typedef {import('./checks/errors.js').ErrorCode} ErrorCode */
/** @typedef {import('./api/model.js').GenerateOptions} GenerateOptions */
/** @typedef {import('./api/model.js').NewToken} NewToken */
/** @typedef {import('./api/model.js').SingleInput} SingleInput */
/** @typedef {import('./api/run.js').Kind} Kind */
/** @typedef {import('./loading/load_options.js').LoadOptions} LoadOptions */
/** @typedef {import('./api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('./api/model.js').Progress} Progress */
/** @typedef {import('./api/model.js').EmbedOptions} EmbedOptions */
/** @typedef {import('./api/model.js').EmbeddingInfo} EmbeddingInfo */
/** @typedef {import('./api/model.js').ForwardInput} ForwardInput */
/** @typedef {import('./api/model.js').ForwardOptions} ForwardOptions */
/** @typedef {import('./api/model.js').Model} Model */
/** @typedef {import('./loading/model_preview.js').ModelPreview} ModelPreview */
/** @typedef {import('./loading/model_preview.js').PreviewOptions & { engine?: Engine }} InspectModelOptions */
/** @typedef {import('./operators/attention.js').AttentionStage} AttentionStage */
/**
 * @template {'output' | AttentionStage} [Returned='output']
 * @typedef {import('./operators/attention.js').AttentionOptions<Returned>} AttentionOptions
 */
/**
 * @template {'output' | AttentionStage} [Returned='output']
 * @typedef {import('./operators/attention.js').AttentionResult<Returned>} AttentionResult
 */
/** @typedef {import('./operators/mask.js').AttentionMask} AttentionMask */
/** @typedef {import('./operators/multi_head.js').ForwardOptions} MultiHeadForwardOptions */
/** @typedef {import('./operators/multi_head.js').MultiHeadOptions} MultiHeadOptions */
/** @typedef {import('./operators/tensors.js').FloatTensor} FloatTensor */
/** @typedef {import('./operators/tensors.js').BoolTensor} BoolTensor */
/** @typedef {import('./api/run.js').HeadStatistics} HeadStatistics */
/** @typedef {import('./api/run.js').Matrix} Matrix */
/** @typedef {import('./api/run.js').NextToken} NextToken */
/** @typedef {import('./api/run.js').Overview} Overview */
/** @typedef {import('./api/run.js').Pooling} Pooling */
/**
 * A finished forward pass; Run<false> of one input, Run<true> of a batch.
 * @template {boolean} [Batch=boolean]
 * @typedef {import('./api/run.js').Run<Batch>} Run
 */
/** @typedef {import('./api/run.js').Stage} Stage */
/** @typedef {import('./api/run.js').StageName} StageName */
/** @typedef {import('./sources/source.js').SourceInput} SourceInput */
/** @typedef {import('./tokenizer/index.js').Token} Token */
/**
 * @typedef {object} InitOptions
 * @property {'auto' | 'simd' | 'relaxed'} [variant] 'auto': fused multiply-add where the machine has it. Beside `wasm`
 * it says what that module is; without it engine.info.variant is 'custom'
 * @property {number | 'auto'} [threads] that compute together, for the same numbers: 1 unless given, at most 16; 'auto': the
 * cores, at most 4. One where memory cannot be shared (a page wants the headers of cross-origin isolation, and a model in
 * a worker); engine.info.threads says how many there are
 * @property {import('./engine/loader.js').WasmSource} [wasm] the module, where it is not beside this file
 * @property {number} [timeout] milliseconds that the server of the module may be silent, 60,000 unless given; Infinity: no limit
 * @property {number} [memoryLimit] bytes that all models and runs of the engine may take
 */
/**
 * @typedef {import('./loading/load_options.js').LoadOptions & { engine?: Engine, worker?: boolean }} LoadModelOptions
 * worker: compute in a worker; the default in pages. engine: what init() returned; in this thread models share its memory
 */

/** @type {readonly (keyof InitOptions)[]} */
const INIT_OPTIONS = ['variant', 'threads', 'wasm', 'memoryLimit', 'timeout'];
/** @type {readonly (keyof LoadModelOptions)[]} */
const LOAD_MODEL_OPTIONS = ['engine', 'worker', ...LOAD_OPTIONS];

/** @type {readonly (keyof InspectModelOptions)[]} */
const INSPECT_OPTIONS = ['engine', 'revision', 'signal', 'timeout'];

/** Address 2^32 is out of reach of a 32-bit module. */
const LARGEST_LIMIT = 2 ** 32 - 1;

/**
 * Compiles the wasm module and makes an instance.
 * @param {InitOptions} [options]
 * @returns {Promise<Engine>}
 */
export async function init(options) {
  const { variant, wasm, threads = 1, memoryLimit, ...rest } = optionsOf('init', options, INIT_OPTIONS);
  const timeout = timeoutOf('init', rest.timeout);
  const limit = memoryLimit === undefined ? 0 : wholeNumber('init: memoryLimit', memoryLimit, 1, LARGEST_LIMIT);
  // What is no number is refused by the engine, which knows the limit.
  const wanted = typeof threads === 'number' || threads === 'auto' ? threadsFor(threads) : 1;
  const compiled = await loadWasm({ variant, wasm, timeout, threads: wanted });
  return createEngine(compiled, limit, threads);
}

/**
 * @param {SourceInput} source a folder (Node), URL, 'org/name', files, a directory handle, or {name: bytes}
 * @param {LoadModelOptions} [options]
 * @returns {Promise<Model>}
 */
export async function loadModel(source, options) {
  const { engine, worker = isPage(), ...rest } = optionsOf('loadModel', options, LOAD_MODEL_OPTIONS);
  if (typeof worker !== 'boolean') {
    throw new QkvError('argument', 'loadModel: worker', { got: worker, want: 'true or false' });
  }
  const { signal, timeout } = checkLoadOptions(rest);
  const fetched = { signal, timeout };
  if (worker) {
    const module = engine ? lentBy(engine) : await inTime(signal, () => ownModule(fetched));
    return loadInWorker(source, rest, module);
  }
  const core = await inTime(signal, () => (engine ? liveCore(engine) : ownCore(fetched)));
  const { loadInThread } = await inTime(signal, loading);
  return loadInThread(source, rest, { core, pause: pauseThread });
}

/** Not fetched before it is needed. */
const loading = () =>
  import('./loading/in_thread.js').catch((cause) => {
    const fix = 'Check the connection and that all files of dist/ are served, then reload.';
    throw new QkvError('network', 'The part of the library that reads models cannot be fetched', { fix, cause });
  });

/** @typedef {{ signal?: AbortSignal | undefined, timeout?: number | undefined }} Waiting */

/** For a model with an engine of its own. @param {Waiting} waiting */
const ownModule = async (waiting) => ({ ...(await loadWasm(waiting)), limit: 0 });
/** @param {Waiting} waiting */
const ownCore = async (waiting) => createCore((await loadWasm(waiting)).module);

/**
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {() => Promise<T>} start
 */
const inTime = (signal, start) => withCall([], signal, (call) => call.wait(start()));

/**
 * What a model is, and what its weights would take in memory, without reading them: in this thread, since the files asked
 * are small.
 * @param {SourceInput} source as for loadModel
 * @param {InspectModelOptions} [options]
 * @returns {Promise<ModelPreview>}
 */
export async function inspectModel(source, options) {
  const { engine, revision, ...rest } = optionsOf('inspectModel', options, INSPECT_OPTIONS);
  const signal = signalOf('inspectModel', rest.signal);
  const timeout = timeoutOf('inspectModel', rest.timeout);
  const core = await inTime(signal, () => (engine ? liveCore(engine) : ownCore({ signal, timeout })));
  const { previewModel } = await inTime(signal, loading);
  return previewModel(source, { revision, signal, timeout }, core);
}

/** Workers are the default where a picture would stand still without one. */
const isPage = () => typeof document !== 'undefined' && typeof Worker === 'function';
