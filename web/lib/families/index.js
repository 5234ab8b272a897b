/**
 * From config.json to what the engine computes. A family is data: a file like bert.js that says under which keys
 * config.json keeps the sizes, what the rest of it means, and under which names the files keep the weights. Nothing else
 * knows families by name; CONTRIBUTING.md tells how to add one.
 */
import { QkvError } from '../checks/errors.js';
import { albert } from './albert.js';
import { bert } from './bert.js';
import { createReader } from './parts/config_reader.js';
import { distilbert } from './distilbert.js';
import { electra } from './electra.js';
import { engineConfig } from './parts/engine_config.js';
import { gemma } from './gemma.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { gpt2 } from './gpt2.js';
import { gptNeox } from './gpt_neox.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { modernbert } from './modernbert.js';
import { mpnet } from './mpnet.js';
import { outputHead } from './parts/output_head.js';
import { phi } from './phi.js';
import { createMap, unwrapped } from './parts/placement.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { roberta } from './roberta.js';
import { starcoder2 } from './starcoder2.js';

/** @typedef {import('./parts/config_reader.js').Config} Config */
/** @typedef {import('./parts/config_reader.js').ConfigReader} ConfigReader */
/** @typedef {import('./parts/engine_config.js').EngineConfig} EngineConfig */
/** @typedef {import('./parts/engine_config.js').FamilyConfig} FamilyConfig */
/** @typedef {import('./parts/engine_config.js').Sizes} Sizes */
/** @typedef {import('./parts/output_head.js').HeadRule} HeadRule */
/** @typedef {import('./parts/placement.js').TensorMap} TensorMap */
/** @typedef {'layers' | 'heads' | 'width' | 'ffn' | 'vocab' | 'positions'} NeededSize */
/** @typedef {{ width: number, heads: number }} FirstSizes */

/**
 * @typedef {object} Family
 * @property {string} family its name in model.info
 * @property {string[]} types values of `model_type` that are this family
 * @property {boolean} causal a decoder: no token sees a later one, unless is_causal in config.json is false
 * @property {string} [bidirectional] a key that is true where tokens see later ones all the same
 * @property {Record<NeededSize, string> & { kv_heads?: string, head_dim?: string }} keys of config.json with the sizes
 * @property {{ [size in 'ffn' | 'kv_heads' | 'head_dim']?: (sizes: FirstSizes) => number }} [missing] sizes that published
 *   configs leave out; without it kv_heads = heads, head_dim = width / heads
 * @property {Record<string, readonly (string | boolean | number)[]>} [only] keys that, where present, must have one of
 *   these values, because the engine computes nothing else for this family
 * @property {(config: ConfigReader, sizes: Sizes) => FamilyConfig} config everything else of the engine's config
 * @property {string[]} prefixes that files put before all names
 * @property {Record<string, string>} names engine slots, without ".weight" and ".bias" -> tensor names, likewise
 * @property {string} layer what stands before the names of a layer; {i} is its number
 * @property {Record<string, string>} layerNames the same for each layer; "q|k|v": the rows of q come first, then those of k
 * @property {string[]} [headwise] of these keys the slots take turns head by head
 * @property {(config: ConfigReader) => string[]} [transposed] of these keys the weights are stored as [in, out]
 * @property {HeadRule[]} heads what may follow the last block; the first one whose tensors are there counts
 */
/** @typedef {{ bits: 8 | 10 }} Quantization */
/** @typedef {TensorMap & { engine: EngineConfig }} Layout */
/**
 * @typedef {object} ResolvedModel
 * @property {string} label the config file, for messages
 * @property {string} family
 * @property {('encoder' | 'decoder')[]} kinds
 * @property {string[]} prefixes that its tensors' names may have
 * @property {EngineConfig} engine with the least head that there may be
 * @property {Quantization | null} quantization
 * @property {string[]} notes what the config asks for that is not followed, a sentence each
 * @property {(names: Iterable<string>) => Layout} layout for the tensors that the files hold
 */

/** @type {readonly Family[]} */
const FAMILIES = [
  ...[bert, roberta, distilbert, electra, mpnet, albert, modernbert],
  ...[gpt2, gptNeox, llama, mistral, qwen2, qwen3, phi, starcoder2, gemma, gemma2, gemma3],
];

/** What is believable; the engine has limits of its own, which lie above. */
const LARGEST = {
  layers: 1_000,
  heads: 4_096,
  kv_heads: 4_096,
  head_dim: 4_096,
  width: 65_536,
  ffn: 1_048_576,
  vocab: 16_777_216,
  positions: 16_777_216,
};

/**
 * @param {Config} config config.json, parsed
 * @param {string} label its name for messages
 * @returns {ResolvedModel}
 */
export function resolveModel(config, label) {
  const reader = createReader(config, label);
  const family = familyOf(reader);
  for (const [key, allowed] of Object.entries(family.only ?? {})) reader.only(key, allowed);
  const sizes = readSizes(family, reader);
  const causal = isCausal(family, reader);
  const body = engineConfig(sizes, causal, family.config(reader, sizes));
  const quantization = readQuantization(reader);
  /** @type {ResolvedModel['layout']} */
  const layout = (names) => {
    const present = new Set([...names].map(unwrapped));
    const head = outputHead(family.heads, reader, body, (name) => present.has(name));
    const map = createMap(family, head, {
      heads: body.heads,
      storedLayers: body.stored_layers,
      isQuantized: quantization !== null,
      transposed: family.transposed?.(reader) ?? [],
    });
    return { engine: { ...body, ...head.fields }, ...map };
  };
  return {
    label,
    family: family.family,
    kinds: [causal ? 'decoder' : 'encoder'],
    prefixes: family.prefixes.filter((prefix) => prefix !== ''),
    engine: layout([]).engine,
    quantization,
    notes: notesOf(family, reader),
    layout,
  };
}

/**
 * is_causal: false in a decoder's config makes it an encoder, as in transformers; models for embeddings are made so.
 * @param {Family} family
 * @param {ConfigReader} reader
 */
function isCausal({ causal, bidirectional }, reader) {
  if (!causal) return false;
  return reader.flag('is_causal', true) && (bidirectional === undefined || !reader.flag(bidirectional, false));
}

/** @param {Family} family @param {ConfigReader} reader */
function notesOf({ family }, reader) {
  if ((reader.raw('auto_map') ?? null) === null) return [];
  const what = `${reader.label}: auto_map names code that comes with the model`;
  return [`${what}, which is not run; what is computed is ${family} as transformers has it`];
}

/** @param {ConfigReader} reader @returns {Family} */
function familyOf(reader) {
  const type = reader.raw('model_type');
  const family = FAMILIES.find(({ types }) => typeof type === 'string' && types.includes(type));
  if (family !== undefined) return family;
  const code = typeof type === 'string' ? 'unsupported' : 'config';
  const want = FAMILIES.flatMap(({ types }) => types).join(', ');
  throw new QkvError(code, `${reader.label}: model_type`, { got: type ?? 'nothing', want });
}

/** @param {Family} family @param {ConfigReader} reader @returns {Sizes} */
function readSizes({ keys, missing = {} }, reader) {
  /** @param {NeededSize} name */
  const needed = (name) => reader.size(keys[name], { max: LARGEST[name] });
  const [layers, heads, width] = [needed('layers'), needed('heads'), needed('width')];
  /** @param {'ffn' | 'kv_heads' | 'head_dim'} name @param {number} [otherwise] */
  const usual = (name, otherwise) => {
    const key = keys[name];
    const value = missing[name]?.({ width, heads }) ?? otherwise;
    return key === undefined ? Number(value) : reader.size(key, { max: LARGEST[name], missing: value });
  };
  const given = keys.head_dim === undefined ? undefined : reader.raw(keys.head_dim);
  if ((given ?? missing.head_dim ?? null) === null && width % heads !== 0)
    throw reader.wrong(keys.width, `a multiple of ${keys.heads}, which is ${heads}`);
  const head_dim = usual('head_dim', width / heads);
  const kv_heads = usual('kv_heads', heads);
  if (heads % kv_heads !== 0) {
    throw reader.wrong(keys.heads, `a multiple of ${keys.kv_heads}, which is ${kv_heads}`);
  }
  return {
    layers,
    heads,
    kv_heads,
    head_dim,
    width,
    ffn: usual('ffn'),
    vocab: needed('vocab'),
    positions: needed('positions'),
  };
}

/** @param {ConfigReader} reader @returns {Quantization | null} */
function readQuantization(reader) {
  const value = reader.raw('quantization_config') ?? null;
  if (value === null) return null;
  const { quant_method: method, bits } = /** @type {Config} */ (typeof value === 'object' ? value : {});
  if (method === 'qkv' && (bits === 10 || bits === 8)) return { bits };
  const got = method === 'qkv' ? `${bits} bits` : (method ?? value);
  const want = 'quant_method "qkv" with 10 or 8 bits';
  throw new QkvError('unsupported', `${reader.label}: quantization_config`, { got, want });
}
