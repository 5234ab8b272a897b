/** A model as a folder has it: config.json, one or several safetensors files, tokenizer.json and what else helps. */

import { QkvError } from '../checks/errors.js';
import { parseJson } from '../formats/json.js';
import { readTensors } from '../formats/safetensors.js';
import { checkShard, readIndex } from '../formats/shards.js';
import { readLicence } from './licence.js';
import { gather, listed } from '../sources/gather.js';
import { followTokenizerConfig, readsOlderFiles } from '../tokenizer/config/tokenizer_config.js';
import { readDenseWeights } from './embedding/dense_weights.js';
import { readEmbeddingFiles } from './embedding/embedding_files.js';

/** @typedef {import('../families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('../formats/safetensors.js').ByteStream} ByteStream */
/** @typedef {import('../formats/safetensors.js').Sinks} Sinks */
/** @typedef {import('../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('../formats/shards.js').ShardIndex} ShardIndex */
/** @typedef {import('../sources/source.js').Source} Source */
/** @typedef {import('../run/embedding.js').EmbeddingPlan} EmbeddingPlan */
/** @typedef {Record<string, unknown>} JsonObject */
/**
 * What takes the weights. names: of all tensors, where there are several files
 * @typedef {object} Receiver
 * @property {(label: string, tensors: TensorInfo[], names?: Iterable<string>) => Sinks} accept
 * @property {() => void} endFile
 */
/** @typedef {(file: string, loaded: number, total: number | null) => void} OnFile bytes of one file */
/** @typedef {{ receiver: Receiver, resolved: ResolvedModel, signal: AbortSignal | undefined, onFile: OnFile }} Reading */
/**
 * A model's files, opened; what they say can be asked before any weight is read.
 * @typedef {object} ModelFiles
 * @property {string} label of the config, for messages
 * @property {JsonObject} config
 * @property {string[]} notes what is assumed where the files do not say
 * @property {() => Promise<JsonObject | null>} tokenizer as tokenizer.json has it, with what the files beside it change
 * @property {() => Promise<JsonObject | null>} generation generation_config.json
 * @property {() => Promise<string | null>} licence begins to look for it; never rejects, and is given up by close
 * @property {(width: number) => Promise<EmbeddingPlan>} embedding how embeddings are made, without weights
 * @property {(plan: EmbeddingPlan) => Promise<EmbeddingPlan>} dense the same with the weights of what stands behind the model
 * @property {(reading: Reading) => Promise<string>} readWeights returns the name of what was read, for messages
 * @property {() => Promise<void>} close
 */

const CONFIG = 'config.json';
const TOKENIZER = 'tokenizer.json';
const TOKENIZER_CONFIG = 'tokenizer_config.json';
const SPECIAL_TOKENS = 'special_tokens_map.json';
const ADDED_TOKENS = 'added_tokens.json';
const GENERATION = 'generation_config.json';
const WEIGHTS = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const LARGEST = { config: 4e6, tokenizer: 100e6, tokenizerConfig: 20e6, index: 50e6 };

/**
 * @param {Source} source
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<ModelFiles>}
 */
export async function openModelFolder(source, signal) {
  /** @param {string} file @param {number} max */
  const read = async (file, max) => parseJson(await source.bytes(file, { max, signal }), `${source.name}/${file}`);
  const config = await read(CONFIG, LARGEST.config);
  const ending = new AbortController();
  const label = (/** @type {string} */ file) => `${source.name}/${file}`;
  const find = (/** @type {string} */ file) => source.find(file, { signal });
  const optional = (/** @type {string} */ file) => optionalBytes(source, file, { signal });
  return {
    label: `${source.name}/${CONFIG}`,
    config,
    notes: [],
    tokenizer: () => readTokenizer(source, config, signal),
    generation: () => readOptional(source, GENERATION, { max: LARGEST.config, signal }),
    licence: () => readLicence(source, config, ending.signal),
    embedding: (width) => readEmbeddingFiles({ label, optional }, { width }),
    dense: (plan) => readDenseWeights({ label, find }, plan, signal),
    readWeights: (reading) => readWeights(source, reading),
    close: async () => ending.abort(),
  };
}

/**
 * A JSON file that need not be there: null where the source says that it is not. Any other trouble with it is an error that
 * names it, since to pass it over would change what the model computes without a word.
 * @param {Source} source
 * @param {string} file a plain name, or a plain path below the folder
 * @param {import('../sources/source.js').BytesOptions} [options]
 * @returns {Promise<JsonObject | null>}
 */
export async function readOptional(source, file, { max = LARGEST.config, signal } = {}) {
  const bytes = await optionalBytes(source, file, { max, signal });
  return bytes && parseJson(bytes, `${source.name}/${file}`);
}

/**
 * @param {Source} source
 * @param {JsonObject} model config.json
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<JsonObject | null>}
 */
async function readTokenizer(source, model, signal) {
  const json = await readOptional(source, TOKENIZER, { max: LARGEST.tokenizer, signal });
  const beside = { max: LARGEST.tokenizerConfig, signal };
  const config = json && (await readOptional(source, TOKENIZER_CONFIG, beside));
  if (json === null || config === null) return json;
  const older = (/** @type {string} */ file) => (readsOlderFiles(config) ? readOptional(source, file, beside) : null);
  const [specialTokens, addedTokens] = [await older(SPECIAL_TOKENS), await older(ADDED_TOKENS)];
  return followTokenizerConfig(json, { config, specialTokens, addedTokens, model, folder: source.name });
}

/** @param {Source} source @param {string} file @param {import('../sources/source.js').BytesOptions} options */
async function optionalBytes(source, file, { max = LARGEST.config, signal }) {
  const stream = await source.find(file, { signal });
  return stream && gather(stream, source.where(file), max, signal);
}

/** @param {Source} source @param {Reading} reading @returns {Promise<string>} */
async function readWeights(source, reading) {
  const { signal, resolved } = reading;
  const whole = await openWhole(source, signal);
  const index = whole ? null : await readShardIndex(source, signal);
  for (const file of index ? tableFirst(index, resolved) : [WEIGHTS]) {
    const stream = whole ?? (await source.stream(file, { signal }));
    await readFile(stream, source, file, index, reading);
  }
  return `${source.name}/${index ? INDEX : WEIGHTS}`;
}

/**
 * @param {ByteStream} stream
 * @param {Source} source
 * @param {string} file
 * @param {ShardIndex | null} index
 * @param {Reading} reading
 */
async function readFile(stream, source, file, index, { receiver, signal, onFile }) {
  const label = `${source.name}/${file}`;
  let loaded = 0;
  let total = stream.size;
  const onBytes = (/** @type {number} */ count) => {
    loaded += count;
    onFile(file, loaded, total);
  };
  /** @type {import('../formats/safetensors.js').Accept} */
  const accept = (tensors, fileSize) => {
    // Servers that compress on the way say no size; nothing may follow the last tensor, so the header does.
    total ??= fileSize;
    if (index) checkShard(index, file, tensors);
    return receiver.accept(label, tensors, index?.fileOf.keys());
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
  const stream = await source.find(INDEX, { signal });
  if (stream) {
    const bytes = await gather(stream, source.where(INDEX), LARGEST.index, signal);
    return readIndex(bytes, `${source.name}/${INDEX}`);
  }
  const got = source.names && listed(await source.names());
  const fix = 'A model is a folder with config.json, model.safetensors and tokenizer.json, or one .gguf file.';
  throw new QkvError('missing', `${source.where(WEIGHTS)} is not there`, { got, fix });
}

/**
 * The shard with the token table comes first, since the engine is laid out by the form of that table.
 * @param {ShardIndex} index
 * @param {ResolvedModel} resolved
 */
function tableFirst({ files, fileOf }, resolved) {
  const { mapTensor } = resolved.layout(fileOf.keys());
  const table = [...fileOf.keys()].find((name) => mapTensor(name)?.slots[0] === 'tokens');
  const first = table === undefined ? files[0] : /** @type {string} */ (fileOf.get(table));
  return [first, ...files.filter((file) => file !== first)];
}
