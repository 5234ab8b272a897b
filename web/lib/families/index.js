/**
 * From config.json to what the engine computes. A family is data: a file like bert.js that says under which keys
 * config.json keeps the sizes, what else must hold, and under which names the files keep the weights.
 *
 * To add a family: copy bert.js, fill it in from the paper and the model's config.json, list it in FAMILIES, and add a
 * tiny golden of it (tests/golden/tiny). Nothing else knows families by name.
 */
import { QkvError } from '../errors.js';
import { bert } from './bert.js';

/** @typedef {'layers' | 'heads' | 'width' | 'ffn' | 'vocab' | 'positions' | 'segments'} Size */
/** A whole number in config.json. Without `default` the key must be there. */
/** @typedef {{ key: string, min?: number, max: number, default?: number }} SizeRule */

/**
 * @typedef {object} Family
 * @property {string} family its name in model.info
 * @property {string[]} types values of `model_type` that are this family
 * @property {('encoder')[]} kinds of attention it has
 * @property {Record<Size, SizeRule>} sizes
 * @property {{ key: string, default: number }} normEps added to the variance in its norms
 * @property {Record<string, (string | boolean)[]>} required keys of config.json that, where present, must have one of
 *   these values, because the engine computes nothing else for this family
 * @property {string[]} prefixes that files put before all names
 * @property {Record<string, string>} tables engine slot -> tensor name, to which ".weight" is added
 * @property {Record<string, string>} linears slots X.weight and X.bias -> name; {i} is the layer
 * @property {Record<string, string>} norms slots X.weight and X.bias; files may say ".gamma" and ".beta"
 * @property {string[]} quantized the tables and linears that a quantised file holds as integers
 */

/** @typedef {'q10_high' | 'q10_low' | 'scale'} Plane part of a quantised tensor */
/** @typedef {{ slot: string, layer: number, plane: Plane | null }} Target where a tensor goes; plane null: as its type says */
/**
 * @typedef {object} EngineConfig the engine's config fields that come from config.json
 * @property {number} layers
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} width
 * @property {number} ffn
 * @property {number} vocab
 * @property {number} positions
 * @property {number} segments
 * @property {number} norm_eps
 */
/**
 * @typedef {object} ResolvedModel
 * @property {string} label the config file, for messages
 * @property {string} family
 * @property {('encoder')[]} kinds
 * @property {EngineConfig} engine
 * @property {{ bits: 10 } | null} quantization
 * @property {number} maxTokens
 * @property {(name: string) => Target | null} mapTensor null for tensors that the engine has no use for
 */
/** @typedef {Record<string, unknown>} Config */

/** @type {readonly Family[]} */
const FAMILIES = [bert];

const LARGEST_EPS = 1;
/** A layer number inside a tensor name. */
const LAYER = /\.(0|[1-9][0-9]{0,5})\./;

/**
 * @param {Config} config config.json, parsed
 * @param {string} label its name for messages
 * @returns {ResolvedModel}
 */
export function resolveModel(config, label) {
  const family = familyOf(config, label);
  const engine = engineConfig(family, config, label);
  const quantization = readQuantization(config.quantization_config ?? null, label);
  for (const [key, allowed] of Object.entries(family.required)) checkRequired(config, label, key, allowed);
  return {
    label,
    family: family.family,
    kinds: family.kinds,
    engine,
    quantization,
    maxTokens: engine.positions,
    mapTensor: createMap(family, engine, quantization !== null),
  };
}

/** @param {Config} config @param {string} label @returns {Family} */
function familyOf(config, label) {
  const type = config.model_type;
  const family = FAMILIES.find(({ types }) => typeof type === 'string' && types.includes(type));
  if (family !== undefined) return family;
  const want = FAMILIES.flatMap(({ types }) => types).join(', ');
  const code = typeof type === 'string' ? 'unsupported' : 'config';
  throw new QkvError(code, `${label}: model_type`, { got: type ?? 'nothing', want });
}

/** @param {Family} family @param {Config} config @param {string} label @returns {EngineConfig} */
function engineConfig({ sizes, normEps }, config, label) {
  const { layers, heads, width, ffn, vocab, positions, segments } = mapValues(sizes, (rule) =>
    wholeNumber(config, label, rule),
  );
  if (width % heads !== 0) {
    const want = `a multiple of ${sizes.heads.key}, which is ${heads}`;
    throw new QkvError('config', `${label}: ${sizes.width.key}`, { got: width, want });
  }
  const eps = config[normEps.key] ?? normEps.default;
  if (typeof eps !== 'number' || !(eps > 0 && eps <= LARGEST_EPS)) {
    throw new QkvError('config', `${label}: ${normEps.key}`, {
      got: eps,
      want: `a number above 0, at most ${LARGEST_EPS}`,
    });
  }
  return {
    layers,
    heads,
    kv_heads: heads,
    head_dim: width / heads,
    width,
    ffn,
    vocab,
    positions,
    segments,
    norm_eps: eps,
  };
}

/**
 * @template {string} K
 * @template T, R
 * @param {Record<K, T>} object
 * @param {(value: T) => R} change
 * @returns {Record<K, R>}
 */
function mapValues(object, change) {
  const entries = /** @type {[K, T][]} */ (Object.entries(object));
  return /** @type {Record<K, R>} */ (Object.fromEntries(entries.map(([key, value]) => [key, change(value)])));
}

/** @param {Config} config @param {string} label @param {SizeRule} rule @returns {number} */
function wholeNumber(config, label, { key, min = 1, max, default: missing }) {
  const value = config[key] === undefined ? missing : config[key];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const got = value === undefined ? 'nothing' : value;
  throw new QkvError('config', `${label}: ${key}`, { got, want: `a whole number from ${min} to ${max}` });
}

/** @param {Config} config @param {string} label @param {string} key @param {(string | boolean)[]} allowed */
function checkRequired(config, label, key, allowed) {
  const value = config[key];
  if (value === undefined || value === null || allowed.some((one) => one === value)) return;
  const fix = 'This version computes nothing else for this family.';
  throw new QkvError('unsupported', `${label}: ${key}`, { got: value, want: allowed.join(' or '), fix });
}

/** @param {unknown} value @param {string} label @returns {{ bits: 10 } | null} */
function readQuantization(value, label) {
  if (value === null) return null;
  const { quant_method: method, bits } = /** @type {Config} */ (typeof value === 'object' ? value : {});
  if (method === 'qkv' && bits === 10) return { bits };
  const got = method === 'qkv' ? `${bits} bits` : (method ?? value);
  throw new QkvError('unsupported', `${label}: quantization_config`, { got, want: 'quant_method "qkv" with 10 bits' });
}

/**
 * @param {Family} family
 * @param {EngineConfig} engine
 * @param {boolean} isQuantized
 * @returns {(name: string) => Target | null}
 */
function createMap(family, engine, isQuantized) {
  const places = listPlaces(family, isQuantized);
  if (engine.segments === 0) places.delete(`${family.tables.segments}.weight`);
  const prefixes = [...family.prefixes].sort((a, b) => b.length - a.length);
  return (full) => {
    const prefix = prefixes.find((start) => full.startsWith(start));
    if (prefix === undefined) return null;
    const name = full.slice(prefix.length);
    const number = LAYER.exec(name);
    const place = name.includes('{i}') ? undefined : places.get(name.replace(LAYER, '.{i}.'));
    const layer = number === null ? 0 : Number(number[1]);
    return place === undefined || layer >= engine.layers ? null : { ...place, layer };
  };
}

/** Every tensor name without prefix, {i} for the layer. @param {Family} family @param {boolean} isQuantized */
function listPlaces({ tables, linears, norms, quantized }, isQuantized) {
  /** @type {Map<string, { slot: string, plane: Plane | null }>} */
  const places = new Map();
  /** @param {string} slot @param {string} stem @param {string} name */
  const addMatrix = (slot, stem, name) => {
    const isInteger = isQuantized && quantized.includes(stem);
    places.set(`${name}.weight`, { slot, plane: isInteger ? 'q10_high' : null });
    if (!isInteger) return;
    places.set(`${name}.weight_low`, { slot, plane: 'q10_low' });
    places.set(`${name}.weight_scale`, { slot, plane: 'scale' });
  };
  for (const [stem, name] of Object.entries(tables)) addMatrix(stem, stem, name);
  for (const [stem, name] of Object.entries(linears)) {
    addMatrix(`${stem}.weight`, stem, name);
    places.set(`${name}.bias`, { slot: `${stem}.bias`, plane: null });
  }
  for (const [stem, name] of Object.entries(norms)) {
    for (const key of ['weight', 'gamma']) places.set(`${name}.${key}`, { slot: `${stem}.weight`, plane: null });
    for (const key of ['bias', 'beta']) places.set(`${name}.${key}`, { slot: `${stem}.bias`, plane: null });
  }
  return places;
}
