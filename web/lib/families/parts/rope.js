/** Rotary positions: how fast each pair of components of a head turns, in radians a place. Computed as transformers does
 * it (modeling_rope_utils.py), every step rounded to float32, for all its ways of stretching a model to longer texts that
 * give one set of frequencies for all lengths up to the context. */
import { createReader } from './config_reader.js';

/** @typedef {import('./config_reader.js').ConfigReader} ConfigReader */
/** @typedef {{ frequencies: Float32Array, scale: number, context: number }} RopeSet scale multiplies sine and cosine */
/**
 * @typedef {object} RopeInput
 * @property {number} dim components that turn
 * @property {number} theta
 * @property {number} context
 * @property {ConfigReader} reader of the other parameters
 * @property {() => number} original the length that the model was first trained for
 */
/** @typedef {{ rope_dim: number, rope_sets: number, rope_scale: number, rope_frequencies: Float32Array, context: number }} RopeFields */
/**
 * Where config.json keeps the base and the share of the components that turn, by transformers 4, and what they are
 * where nothing is said.
 * @typedef {object} RopeRule
 * @property {string} [layerType] the key in rope_parameters, where layers differ
 * @property {string} [thetaKey]
 * @property {number} [theta]
 * @property {string} [partialKey]
 * @property {number} [partial]
 * @property {boolean} [isScaled] whether rope_scaling of transformers 4 is meant for this set
 */

const LARGEST = { theta: 1e12, factor: 1e6, context: 16_777_216 };
const { fround, log, PI } = Math;

/** @type {Record<string, (input: RopeInput) => RopeSet>} */
const KINDS = {
  default: plain,
  // Stretches only texts beyond max_position_embeddings, which is the longest that a model takes here.
  dynamic: plain,
  linear: (input) => {
    const factor = fround(factorOf(input.reader));
    return { ...plain(input), frequencies: inverse(input).map((frequency) => frequency / factor) };
  },
  llama3,
  yarn,
  longrope,
};

/**
 * @param {ConfigReader} config
 * @param {{ head_dim: number, positions: number }} sizes
 * @param {RopeRule} [rule]
 * @returns {RopeSet}
 */
export function ropeSet(config, { head_dim: headDim, positions }, rule = {}) {
  const { thetaKey = 'rope_theta', theta = 10_000, partialKey = 'partial_rotary_factor', partial = 1 } = rule;
  const reader = parametersOf(config, rule);
  // Families that turn whole heads have no other way in transformers, which ignores the key or fails.
  if (partial === 1) for (const from of [config, reader]) from.only('partial_rotary_factor', [1]);
  const kindKey = (reader.raw('rope_type') ?? null) === null ? 'type' : 'rope_type';
  const kind = reader.raw(kindKey) ?? 'default';
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) {
    throw reader.wrong(kindKey, Object.keys(KINDS).join(', '), 'unsupported');
  }
  const source = (/** @type {string} */ own, /** @type {string} */ old) =>
    (reader.raw(own) ?? null) === null ? { from: config, key: old } : { from: reader, key: own };
  const base = source('rope_theta', thetaKey);
  const share = source('partial_rotary_factor', partialKey);
  const part = share.from.number(share.key, { above: 0, max: 1, missing: partial });
  const dim = Math.trunc(headDim * part);
  if (dim < 1)
    throw share.from.wrong(share.key, `a share that leaves one or more of the ${headDim} components of a head`);
  if (dim + (dim % 2) > headDim) {
    const key = (config.raw('head_dim') ?? null) === null ? 'hidden_size' : 'head_dim';
    const want = `an even number of components a head, which turn in pairs; they are ${headDim}`;
    throw config.wrong(key, want);
  }
  const turns = base.from.number(base.key, { above: 1, max: LARGEST.theta, missing: theta });
  const original = () => originalContext(config, reader, positions);
  const set = KINDS[kind]({ dim, theta: turns, context: positions, reader, original });
  // Each number may be believable and their quotient not: a tiny factor, an original context of one token.
  if ([fround(set.scale), ...set.frequencies].every(Number.isFinite)) return set;
  throw reader.wrong(kindKey, 'numbers beside it that give finite frequencies and a finite attention_factor');
}

/**
 * The fields of the engine's config for sets of the same size.
 * @param {ConfigReader} config
 * @param {RopeSet[]} sets
 * @returns {RopeFields}
 */
export function ropeFields(config, sets) {
  const half = sets[0].frequencies.length;
  if (sets.some(({ scale }) => scale !== sets[0].scale)) {
    throw config.wrong('rope_parameters', 'the same attention_factor for all layers', 'unsupported');
  }
  return {
    rope_dim: 2 * half,
    rope_sets: sets.length,
    rope_scale: sets[0].scale,
    rope_frequencies: Float32Array.from(sets.flatMap(({ frequencies }) => [...frequencies])),
    context: Math.min(...sets.map(({ context }) => context)),
  };
}

/** rope_parameters of transformers 5, which may be split by kind of layer, or rope_scaling of transformers 4.
 * @param {ConfigReader} config @param {RopeRule} rule @returns {ConfigReader} */
function parametersOf(config, { layerType, isScaled = true }) {
  const parameters = config.object('rope_parameters');
  const scaling = config.object('rope_scaling');
  if (scaling !== null && parameters !== null && layerType !== undefined) {
    throw config.wrong('rope_scaling', 'nothing beside rope_parameters', 'unsupported');
  }
  if (isScaled && scaling !== null) return scaling;
  const nested = layerType === undefined ? null : (parameters?.object(layerType) ?? null);
  return nested ?? parameters ?? createReader({}, config.label);
}

/** Beside the parameters or among them; without it, the context. @param {ConfigReader} config @param {ConfigReader} reader
 * @param {number} context @returns {number} */
function originalContext(config, reader, context) {
  const key = 'original_max_position_embeddings';
  const from = (config.raw(key) ?? null) === null ? reader : config;
  return from.size(key, { max: LARGEST.context, missing: context });
}

/** @param {ConfigReader} reader */
const factorOf = (reader) => reader.number('factor', { above: 0, max: LARGEST.factor });

/** theta^(2 i / dim). @param {RopeInput} input @returns {Float32Array} */
function powers({ dim, theta }) {
  return Float32Array.from({ length: Math.ceil(dim / 2) }, (_, i) => fround(theta) ** fround((2 * i) / dim));
}

/** @param {RopeInput} input @returns {Float32Array} */
const inverse = (input) => powers(input).map((power) => 1 / power);

/** @param {RopeInput} input @returns {RopeSet} */
function plain(input) {
  return { frequencies: inverse(input), scale: 1, context: input.context };
}

/** Llama 3.1: slow components are slowed further, those in between gradually. @param {RopeInput} input @returns {RopeSet} */
function llama3(input) {
  const { reader, context } = input;
  const factor = factorOf(reader);
  const low = reader.number('low_freq_factor', { above: 0, max: LARGEST.factor });
  const high = reader.number('high_freq_factor', { above: low, max: LARGEST.factor });
  const original = input.original();
  const slowest = fround(original / low);
  const fastest = fround(original / high);
  const frequencies = inverse(input).map((frequency) => {
    const length = fround(fround(2 * PI) / frequency);
    if (length > slowest) return fround(frequency / fround(factor));
    if (length < fastest) return frequency;
    const smooth = fround(fround(fround(original / length) - fround(low)) / fround(high - low));
    const slowed = fround(fround(fround(1 - smooth) * frequency) / fround(factor));
    return fround(slowed + fround(smooth * frequency));
  });
  return { frequencies, scale: 1, context };
}

/** YaRN, arXiv 2309.00071. @param {RopeInput} input @returns {RopeSet} */
function yarn(input) {
  const { reader, dim, theta, context } = input;
  const original = input.original();
  const limits = { above: 0, max: LARGEST.factor };
  const factor = reader.number('factor', { ...limits, missing: context / original });
  const rotations = (/** @type {string} */ key, /** @type {number} */ missing) => {
    const count = reader.number(key, { ...limits, missing });
    return (dim * log(original / (count * 2 * PI))) / (2 * log(theta));
  };
  const whole = reader.flag('truncate', true);
  const first = rotations('beta_fast', 32);
  const last = rotations('beta_slow', 1);
  const from = Math.max(whole ? Math.floor(first) : first, 0);
  const to = Math.min(whole ? Math.ceil(last) : last, dim - 1);
  const span = fround(from === to ? 0.001 : to - from);
  const frequencies = powers(input).map((power, i) => {
    const ramp = Math.min(Math.max(fround(fround(i - fround(from)) / span), 0), 1);
    const kept = fround(1 - ramp);
    const slowed = fround(1 / fround(fround(factor) * power));
    return fround(fround(slowed * fround(1 - kept)) + fround(fround(1 / power) * kept));
  });
  return { frequencies, scale: yarnScale(reader, factor), context };
}

/** @param {ConfigReader} reader @param {number} factor @returns {number} */
function yarnScale(reader, factor) {
  const given = (/** @type {string} */ key) =>
    (reader.raw(key) ?? null) === null ? 0 : reader.number(key, { above: -1, max: LARGEST.factor });
  if ((reader.raw('attention_factor') ?? null) !== null) return given('attention_factor');
  const grown = (/** @type {number} */ by) => (factor <= 1 ? 1 : 0.1 * by * log(factor) + 1);
  const [part, all] = [given('mscale'), given('mscale_all_dim')];
  return part !== 0 && all !== 0 ? grown(part) / grown(all) : grown(1);
}

/**
 * LongRoPE changes the frequencies of all places once a text is longer than the model was first trained for. Here a run
 * has one set, so texts end at that length. @param {RopeInput} input @returns {RopeSet} */
function longrope(input) {
  const { reader, dim, context } = input;
  const original = input.original();
  const short = reader.numbers('short_factor', Math.ceil(dim / 2));
  if (short === null) throw reader.wrong('short_factor', `an array of ${Math.ceil(dim / 2)} numbers`);
  const factor = reader.number('factor', { above: 0, max: LARGEST.factor, missing: context / original });
  const stretched = factor <= 1 ? 1 : Math.sqrt(1 + log(factor) / log(original));
  const scale = reader.number('attention_factor', { above: 0, max: LARGEST.factor, missing: stretched });
  const frequencies = powers(input).map((power, i) => 1 / fround(fround(short[i]) * power));
  return { frequencies, scale, context: Math.min(context, original) };
}
