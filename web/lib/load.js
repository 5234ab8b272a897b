/** loadModel in this thread: reads the small files, checks that the model fits, then streams the weights from the source
 * straight into the engine. */

import { callbackOf, oneOf, optionsOf, signalOf, wholeNumber } from './arguments.js';
import { memoryError } from './engine.js';
import { QkvError, throwIfAborted } from './errors.js';
import { resolveModel } from './families/index.js';
import { parseJson } from './formats/json.js';
import { readTensors } from './formats/safetensors.js';
import { checkShard, readIndex } from './formats/shards.js';
import { createModel } from './model.js';
import { openSource } from './source.js';
import { createTokenizer } from './tokenizer/index.js';
import { createReceiver, estimateBytes } from './weights.js';

/** @typedef {import('./engine.js').Core} Core */
/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./source.js').Source} Source */
/** @typedef {import('./source.js').SourceInput} SourceInput */
/** @typedef {import('./families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('./formats/shards.js').ShardIndex} ShardIndex */
/** @typedef {import('./weights.js').Precision} Precision */
/** @typedef {{ layers: number, heads: number, kvHeads: number, headDim: number, width: number }} Extents */
/** @typedef {{ [name: string]: number }} MeasuredError how far the weights are from float32, as the model's maker measured */
/**
 * @typedef {Extents & {
 *   name: string,
 *   family: string,
 *   kinds: string[],
 *   byKind: { [kind: string]: Extents },
 *   vocab: number,
 *   precision: Precision,
 *   measured: MeasuredError | null,
 *   maxTokens: number,
 *   parameters: number,
 *   bytes: number,
 *   licence: string | null,
 * }} ModelInfo bytes: what the weights take in memory
 */
/** @typedef {{ phase: 'download' | 'load' | 'embed', file: string | null, loaded: number, total: number | null }} Progress */
/** @typedef {(progress: Progress) => void} OnProgress */
/**
 * @typedef {object} LoadOptions
 * @property {'auto' | Precision | 'q8'} [precision] how weights are held in memory; 'auto' = what the file is
 * @property {number} [maxTokens] longer text is cut; default and ceiling: the model's own limit
 * @property {string} [revision] of a hub model
 * @property {AbortSignal} [signal]
 * @property {OnProgress} [onProgress]
 * @property {false} [cache] this version keeps no copies of downloads, the browser does as the server allows
 */

/** @type {readonly (keyof LoadOptions)[]} */
export const LOAD_OPTIONS = ['precision', 'maxTokens', 'revision', 'signal', 'onProgress', 'cache'];

const CONFIG = 'config.json';
const TOKENIZER = 'tokenizer.json';
const README = 'README.md';
const WEIGHTS = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const LARGEST = { config: 4e6, tokenizer: 100e6, readme: 1e6, index: 50e6 };

/**
 * @param {SourceInput} input
 * @param {LoadOptions | undefined} options
 * @param {{ core: Core, pause: () => Promise<void> }} place
 * @returns {Promise<Model>}
 */
export async function loadInThread(input, options, { core, pause }) {
  const { precision: wanted = 'auto', maxTokens, revision, signal, onProgress } = checkLoadOptions(options);
  throwIfAborted(signal);
  const source = await openSource(input, { signal, revision });
  const config = await readJson(source, CONFIG, LARGEST.config, signal);
  const resolved = resolveModel(config, `${source.name}/${CONFIG}`);
  const precision = choosePrecision(wanted, resolved);
  const limit =
    maxTokens === undefined
      ? resolved.maxTokens
      : wholeNumber('loadModel: maxTokens', maxTokens, 1, resolved.engine.positions);
  const needed = estimateBytes(core, resolved, precision);
  if (needed > core.available()) throw memoryError(source.name, needed, core.available());
  const tokenizer = await readTokenizer(source, resolved.engine.vocab, limit, signal);
  const licence = await readLicence(source, config, signal);
  const weights = await readWeights(source, resolved, createReceiver(core, resolved, precision), {
    signal,
    onProgress,
  });
  const { layers, heads, kv_heads: kvHeads, head_dim: headDim, width, vocab, positions, segments } = resolved.engine;
  const extents = { layers, heads, kvHeads, headDim, width };
  return createModel({
    core,
    pointer: weights.pointer,
    pause,
    limits: { tokenizer, vocab, positions, segments },
    info: {
      name: source.name,
      family: resolved.family,
      kinds: resolved.kinds,
      byKind: Object.fromEntries(resolved.kinds.map((kind) => [kind, extents])),
      ...extents,
      vocab,
      precision,
      measured: measuredError(config),
      maxTokens: limit,
      parameters: weights.parameters,
      bytes: weights.bytes,
      licence,
    },
  });
}

/** @param {LoadOptions | undefined} options */
export function checkLoadOptions(options) {
  const given = optionsOf('loadModel', options, LOAD_OPTIONS);
  const { precision = 'auto', maxTokens, revision, cache = false } = given;
  oneOf('loadModel: precision', precision, ['auto', 'f32', 'q10', 'q8']);
  if (precision === 'q8') {
    throw new QkvError('unsupported', 'loadModel: precision', { got: precision, want: "'auto', 'f32' or 'q10'" });
  }
  if (maxTokens !== undefined) wholeNumber('loadModel: maxTokens', maxTokens, 1, 2 ** 31 - 1);
  if (revision !== undefined && typeof revision !== 'string') {
    throw new QkvError('argument', 'loadModel: revision', { got: revision, want: 'a string' });
  }
  if (cache !== false) {
    const fix = 'This version keeps no copies of downloads; the browser does as the server allows.';
    throw new QkvError('unsupported', 'loadModel: cache', { got: cache, want: 'false', fix });
  }
  const onProgress = callbackOf('loadModel: onProgress', given.onProgress);
  return { precision, maxTokens, revision, onProgress, signal: signalOf('loadModel', given.signal) };
}

/**
 * @param {'auto' | Precision} wanted
 * @param {ResolvedModel} resolved
 * @returns {Precision}
 */
function choosePrecision(wanted, resolved) {
  if (wanted !== 'auto') return wanted;
  return resolved.quantization === null ? 'f32' : 'q10';
}

/**
 * @param {Source} source
 * @param {string} file
 * @param {number} max
 * @param {AbortSignal | undefined} signal
 */
async function readJson(source, file, max, signal) {
  return parseJson(await source.bytes(file, { max, signal }), `${source.name}/${file}`);
}

/**
 * @param {Source} source
 * @param {number} vocab
 * @param {number} maxTokens
 * @param {AbortSignal | undefined} signal
 */
async function readTokenizer(source, vocab, maxTokens, signal) {
  if (!(await source.has(TOKENIZER, { signal }))) return null;
  return createTokenizer(await readJson(source, TOKENIZER, LARGEST.tokenizer, signal), { vocab, maxTokens });
}

/**
 * The licence, where the folder states one: in its README or in config.json.
 * @param {Source} source
 * @param {Record<string, unknown>} config
 * @param {AbortSignal | undefined} signal
 */
async function readLicence(source, config, signal) {
  if (typeof config.license === 'string') return config.license;
  if (!(await source.has(README, { signal }))) return null;
  const text = new TextDecoder().decode(await source.bytes(README, { max: LARGEST.readme, signal }));
  // `license: mit` in the front matter that the hub wants, or a line of its own.
  return /^(?:[-*] )?licen[cs]e:[ \t]*["']?([\w.+-]+)["']?[ \t]*(?:\(.*)?\r?$/im.exec(text)?.[1] ?? null;
}

/**
 * @param {Record<string, unknown>} config
 * @returns {MeasuredError | null}
 */
function measuredError(config) {
  const { measured } = /** @type {{ measured?: Record<string, unknown> }} */ (config.quantization_config ?? {});
  if (typeof measured !== 'object' || measured === null) return null;
  const numbers = Object.entries(measured).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(/** @type {[string, number][]} */ (numbers));
}

/** @typedef {{ signal: AbortSignal | undefined, onProgress: OnProgress | undefined }} Calls */
/** @typedef {import('./formats/safetensors.js').ByteStream} ByteStream */

/**
 * @param {Source} source
 * @param {ResolvedModel} resolved
 * @param {ReturnType<typeof createReceiver>} receiver
 * @param {Calls} calls
 */
async function readWeights(source, resolved, receiver, calls) {
  const { signal, onProgress } = calls;
  try {
    const whole = await openWhole(source, signal);
    const index = whole ? null : await readShardIndex(source, signal);
    for (const file of index ? tableFirst(index, resolved) : [WEIGHTS]) {
      const stream = whole ?? (await source.stream(file, { signal }));
      await readFile(stream, source, file, index, receiver, calls);
    }
    const loaded = receiver.finish(`${source.name}/${index ? INDEX : WEIGHTS}`);
    onProgress?.({ phase: 'load', file: null, loaded: loaded.parameters, total: loaded.parameters });
    return loaded;
  } catch (error) {
    receiver.discard();
    throw error;
  }
}

/**
 * @param {ByteStream} stream
 * @param {Source} source
 * @param {string} file
 * @param {ShardIndex | null} index
 * @param {ReturnType<typeof createReceiver>} receiver
 * @param {Calls} calls
 */
async function readFile(stream, source, file, index, receiver, { signal, onProgress }) {
  const label = `${source.name}/${file}`;
  let loaded = 0;
  let total = stream.size;
  const onBytes = (/** @type {number} */ count) => {
    loaded += count;
    onProgress?.({ phase: 'download', file, loaded, total });
  };
  /** @type {import('./formats/safetensors.js').Accept} */
  const accept = (tensors, fileSize) => {
    // Servers that compress on the way say no size; nothing may follow the last tensor, so the header does.
    total ??= fileSize;
    if (index) checkShard(index, file, tensors);
    return receiver.accept(label, tensors);
  };
  onBytes(0);
  await readTensors(stream, label, accept, { signal, onBytes });
  receiver.endFile();
}

/**
 * The weights as one file; null where there is none, so that what a server says of it is not lost.
 * @param {Source} source
 * @param {AbortSignal | undefined} signal
 */
async function openWhole(source, signal) {
  try {
    return await source.stream(WEIGHTS, { signal });
  } catch (error) {
    if (error instanceof QkvError && error.code === 'missing') return null;
    throw error;
  }
}

/**
 * @param {Source} source
 * @param {AbortSignal | undefined} signal
 */
async function readShardIndex(source, signal) {
  if (await source.has(INDEX, { signal })) {
    return readIndex(await source.bytes(INDEX, { max: LARGEST.index, signal }), `${source.name}/${INDEX}`);
  }
  const fix = 'A model folder holds config.json, model.safetensors and tokenizer.json.';
  throw new QkvError('missing', `${source.where(WEIGHTS)} is not there`, { fix });
}

/**
 * The shard with the token table comes first, since the engine is laid out by the form of that table.
 * @param {ShardIndex} index
 * @param {ResolvedModel} resolved
 */
function tableFirst({ files, fileOf }, resolved) {
  const table = [...fileOf.keys()].find((name) => resolved.mapTensor(name)?.slot === 'tokens');
  const first = table === undefined ? files[0] : /** @type {string} */ (fileOf.get(table));
  return [first, ...files.filter((file) => file !== first)];
}
