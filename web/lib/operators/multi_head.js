/** MultiHeadAttention: the layer that torch calls nn.MultiheadAttention, with its parameter names and its results, and
 * every step of the last forward pass to look at. */

import { oneOf, optionsOf, wholeNumber } from '../checks/arguments.js';
import { coreOf } from '../engine/engine.js';
import { QkvError } from '../checks/errors.js';
import { offsetOf } from './attention.js';
import { createLinear } from './linear.js';
import { mergeMasks } from './merged_mask.js';
import { readParameters } from './parameters.js';
import { createPass } from './pass.js';
import { isGiven } from './shapes.js';
import { floatTensor, lengthOf, refusal, sameSize } from './tensors.js';

/** @typedef {import('../engine/engine.js').Engine} Engine */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/** @typedef {import('./tensors.js').BoolTensor} BoolTensor */
/**
 * @typedef {object} MultiHeadOptions
 * @property {number} embedDim
 * @property {number} numHeads
 * @property {number} [numKvHeads] heads of key and value; default: numHeads
 * @property {number} [kDim] width of the given keys; default: embedDim
 * @property {number} [vDim]
 * @property {boolean} [addZeroAttn] one more key and value, all zeros
 * @property {boolean} [batchFirst] default true: [B, L, E]; false: [L, B, E], torch's default
 * @property {import('./parameters.js').ParameterSource} parameters by torch's names, or a safetensors file's bytes
 */
/**
 * Masks as torch has them: true = left out, floats are added.
 * @typedef {object} ForwardOptions
 * @property {BoolTensor | FloatTensor | null} [keyPaddingMask] [B, S], or [S] for two axes
 * @property {BoolTensor | FloatTensor | null} [attnMask] [L, S] or [B H, L, S]
 * @property {import('./attention.js').Causal} [causal] query i sees the keys up to i with true and 'top-left', up to S - L + i
 *   with 'bottom-right', up to number + i with a number; bias_k and the zeros of addZeroAttn are always seen
 * @property {boolean} [needWeights] default true
 * @property {boolean} [averageWeights] default true: [B, L, S], the mean over the heads; false: [B, H, L, S]
 * @property {'zero' | 'nan'} [emptyRows] what a query that may see no key gets; 'nan' as torch with need_weights
 */
/** @typedef {{ output: FloatTensor, weights: FloatTensor | null }} ForwardResult */
/** @typedef {'q' | 'k' | 'v' | 'scores' | 'scaled' | 'capped' | 'biased' | 'masked' | 'weights' | 'context' | 'concat' | 'output'} MultiHeadStage */

const CALL = 'MultiHeadAttention';
const FORWARD = `${CALL}.forward`;
const STAGES = /** @type {const} */ ([
  ...['q', 'k', 'v', 'scores', 'scaled', 'capped', 'biased', 'masked', 'weights', 'context', 'concat', 'output'],
]);
const MOST = 2 ** 20;

/** @type {readonly (keyof MultiHeadOptions)[]} */
const OPTIONS = ['embedDim', 'numHeads', 'numKvHeads', 'kDim', 'vDim', 'addZeroAttn', 'batchFirst', 'parameters'];
/** @type {readonly (keyof ForwardOptions)[]} */
const FORWARD_OPTIONS = ['keyPaddingMask', 'attnMask', 'causal', 'needWeights', 'averageWeights', 'emptyRows'];

/** Frees the memory of layers that a caller forgot to dispose; a backstop only, since collection may come late or never. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

export class MultiHeadAttention {
  /** @type {Core} */
  #core;
  #held;
  /** @type {{ k: Float32Array, v: Float32Array } | null} */
  #extra = null;
  #addZeroAttn;
  #kDim;
  #vDim;

  /**
   * @param {Engine} engine
   * @param {MultiHeadOptions} options
   */
  constructor(engine, options) {
    this.#core = coreOf(engine);
    const given = { ...optionsOf(CALL, options, OPTIONS) };
    this.embedDim = wholeNumber(`${CALL}: embedDim`, given.embedDim, 1, MOST);
    this.numHeads = wholeNumber(`${CALL}: numHeads`, given.numHeads, 1, this.embedDim);
    this.numKvHeads = wholeNumber(`${CALL}: numKvHeads`, given.numKvHeads ?? this.numHeads, 1, this.numHeads);
    if (this.embedDim % this.numHeads !== 0) {
      throw refusal(CALL, 'embedDim', this.embedDim, `a multiple of numHeads (${this.numHeads})`);
    }
    if (this.numHeads % this.numKvHeads !== 0) {
      throw refusal(CALL, 'numHeads', this.numHeads, `a multiple of numKvHeads (${this.numKvHeads})`);
    }
    this.headDim = this.embedDim / this.numHeads;
    this.batchFirst = flag(CALL, 'batchFirst', given.batchFirst, true);
    this.#addZeroAttn = flag(CALL, 'addZeroAttn', given.addZeroAttn, false);
    this.#kDim = wholeNumber(`${CALL}: kDim`, given.kDim ?? this.embedDim, 1, MOST);
    this.#vDim = wholeNumber(`${CALL}: vDim`, given.vDim ?? this.embedDim, 1, MOST);
    const widths = { width: this.embedDim, kvWidth: this.numKvHeads * this.headDim };
    const parameters = readParameters(given.parameters, { ...widths, kDim: this.#kDim, vDim: this.#vDim });
    if (parameters.biasK && parameters.biasV) {
      this.#extra = { k: parameters.biasK.slice(), v: parameters.biasV.slice() };
    }
    this.#held = holdMemory(createMaps(this.#core, parameters));
    // The engine's memory is laid out by them.
    for (const name of ['embedDim', 'numHeads', 'numKvHeads', 'headDim', 'batchFirst']) {
      Object.defineProperty(this, name, { writable: false, configurable: false });
    }
    forgotten.register(this, this.#held.release, this.#held.release);
  }

  /**
   * @param {FloatTensor} query [B, L, E], [L, B, E] or [L, E]
   * @param {FloatTensor} [key] default: query
   * @param {FloatTensor} [value] default: key
   * @param {ForwardOptions} [options]
   * @returns {ForwardResult}
   */
  forward(query, key = query, value = key, options) {
    const maps = this.#alive();
    // Read once: behind an option may be a getter.
    const given = { ...optionsOf(FORWARD, options, FORWARD_OPTIONS) };
    const inputs = this.#inputsOf(query, key, value);
    const places = this.#placesOf(inputs);
    const needWeights = flag(FORWARD, 'needWeights', given.needWeights, true);
    const average = flag(FORWARD, 'averageWeights', given.averageWeights, true);
    const emptyNan = oneOf(`${FORWARD}: emptyRows`, given.emptyRows ?? 'zero', ['zero', 'nan']) === 'nan';
    const causal = isGiven(given.causal) && given.causal !== false;
    const offset = offsetOf(FORWARD, given.causal, { queries: places.queries, keys: places.given, past: 0 });
    // Keys behind the given ones always take part, so the edge may not cut them off: it goes into the mask.
    const edge = causal && places.keys > places.given ? offset : null;
    const mask = mergeMasks(FORWARD, given, edge, places);

    this.#held.setPass(null);
    const rules = { causal: causal && edge === null, offset, emptyNan };
    const largestInput = Math.max(...[inputs.query, inputs.key, inputs.value].map(({ data }) => lengthOf(data)));
    const pass = createPass(this.#core, FORWARD, { ...places, needWeights, largestInput }, mask?.layout ?? null, rules);
    this.#held.setPass(pass);
    if (mask) this.#writeMask(pass, mask);
    this.#project(maps, pass, inputs);
    pass.attend();
    const rows = places.batch * places.queries;
    maps.out.apply(pass.at('concat'), rows, pass.at('output'));
    return {
      output: { data: this.#core.heap.readFloat32(pass.at('output'), pass.rows), shape: inputs.query.shape.slice() },
      weights: needWeights ? this.#weightsOf(pass, average) : null,
    };
  }

  /**
   * One step of the last forward pass. q, k, v, context: [n, dk] of a head, k and v of the key/value head it uses;
   * scores (Q K^T), scaled, masked, weights: [L, S] of a head; concat, output: [L, E].
   * @param {MultiHeadStage} name
   * @param {{ head?: number, sequence?: number }} [place] head counts query heads
   * @returns {{ shape: number[], data: Float32Array }}
   */
  getStage(name, place) {
    this.#alive();
    const stage = oneOf(`${CALL}.getStage: name`, name, STAGES);
    const pass = this.#held.pass();
    if (!pass) throw new QkvError('state', `${CALL}.getStage: no forward pass yet`, { fix: 'Call forward first.' });
    const { head, sequence = 0 } = optionsOf(`${CALL}.getStage`, place, ['head', 'sequence']);
    if (pass.sizes.batch === 0) throw new QkvError('state', `${CALL}.getStage: the last forward pass had no sequences`);
    const b = wholeNumber(`${CALL}.getStage: sequence`, sequence, 0, pass.sizes.batch - 1);
    if (stage === 'concat' || stage === 'output') return pass.rowsOf(stage, b, 0, this.embedDim);
    const h = wholeNumber(`${CALL}.getStage: head`, head, 0, this.numHeads - 1);
    if (this.#core.description.columns.get(stage) === 'keys') return pass.mapOf(stage, b, h);
    if (stage === 'q') return pass.rowsOf('q', b, h * this.headDim, this.headDim);
    if (stage === 'context') return pass.rowsOf('concat', b, h * this.headDim, this.headDim);
    const kvHead = Math.floor(h / (this.numHeads / this.numKvHeads));
    return pass.rowsOf(stage === 'k' ? 'k' : 'v', b, kvHead * this.headDim, this.headDim);
  }

  /** Gives the memory back; a second call does nothing. */
  dispose() {
    forgotten.unregister(this.#held.release);
    this.#held.release();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  #alive() {
    const maps = this.#held.maps();
    if (maps) return maps;
    throw new QkvError('disposed', `This ${CALL} was disposed`, { fix: 'Make a new one.' });
  }

  /**
   * One tensor that is given more than once is read once.
   * @param {FloatTensor} query
   * @param {FloatTensor} key
   * @param {FloatTensor} value
   */
  #inputsOf(query, key, value) {
    const ofQuery = floatTensor(FORWARD, 'query', query, 2, 3);
    const axes = ofQuery.shape.length;
    const ofKey = key === query ? ofQuery : floatTensor(FORWARD, 'key', key, axes, axes);
    const same = value === key ? ofKey : value === query ? ofQuery : null;
    return { query: ofQuery, key: ofKey, value: same ?? floatTensor(FORWARD, 'value', value, axes, axes) };
  }

  /** @param {{ query: FloatTensor, key: FloatTensor, value: FloatTensor }} inputs */
  #placesOf(inputs) {
    const { shape } = inputs.query;
    const axes = shape.length;
    const [ofKey, ofValue] = [inputs.key.shape, inputs.value.shape];
    const isBatched = axes === 3;
    const batchAxis = this.batchFirst ? 0 : 1;
    const rowAxis = isBatched && this.batchFirst ? 1 : 0;
    sameSize(FORWARD, 'query', axes - 1, shape[axes - 1], this.embedDim, 'the embedDim');
    sameSize(FORWARD, 'key', axes - 1, ofKey[axes - 1], this.#kDim, 'the kDim');
    sameSize(FORWARD, 'value', axes - 1, ofValue[axes - 1], this.#vDim, 'the vDim');
    sameSize(FORWARD, 'value', rowAxis, ofValue[rowAxis], ofKey[rowAxis], 'the rows of key');
    if (isBatched) {
      sameSize(FORWARD, 'key', batchAxis, ofKey[batchAxis], shape[batchAxis], 'the batch of query');
      sameSize(FORWARD, 'value', batchAxis, ofValue[batchAxis], shape[batchAxis], 'the batch of query');
    }
    const given = ofKey[rowAxis];
    return {
      isBatched,
      batchFirst: this.batchFirst || !isBatched,
      batch: isBatched ? shape[batchAxis] : 1,
      heads: this.numHeads,
      kvHeads: this.numKvHeads,
      headDim: this.headDim,
      queries: shape[rowAxis],
      given,
      keys: given + (this.#extra ? 1 : 0) + (this.#addZeroAttn ? 1 : 0),
    };
  }

  /**
   * @param {import('./pass.js').Pass} pass
   * @param {import('./merged_mask.js').MergedMask} mask
   */
  #writeMask(pass, { layout, write }) {
    const bytes = this.#core.heap.bytes(pass.at('mask'), layout.kind === 'flags' ? layout.count : layout.count * 4);
    write(layout.kind === 'flags' ? bytes : new Float32Array(bytes.buffer, bytes.byteOffset, layout.count));
  }

  /**
   * @param {{ q: Linear, k: Linear, v: Linear }} maps
   * @param {import('./pass.js').Pass} pass
   * @param {{ query: FloatTensor, key: FloatTensor, value: FloatTensor }} inputs
   */
  #project(maps, pass, { query, key, value }) {
    const { batch, queries } = pass.sizes;
    const x = pass.at('x');
    /** @type {Float32Array | null} */
    let uploaded = null;
    const upload = (/** @type {Float32Array} */ data) => {
      if (data !== uploaded) this.#core.heap.writeFloat32(x, data);
      uploaded = data;
    };
    upload(query.data);
    maps.q.apply(x, batch * queries, pass.at('q'));
    upload(key.data);
    this.#projectKeys(maps.k, pass, 'k', this.#kDim, this.#extra?.k);
    upload(value.data);
    this.#projectKeys(maps.v, pass, 'v', this.#vDim, this.#extra?.v);
  }

  /**
   * Rows of k or v with those behind: bias_k or bias_v, then zeros.
   * @param {Linear} map
   * @param {import('./pass.js').Pass} pass
   * @param {'k' | 'v'} name
   * @param {number} inputs
   * @param {Float32Array | undefined} bias
   */
  #projectKeys(map, pass, name, inputs, bias) {
    const { batchFirst, batch, given, keys } = pass.sizes;
    const width = this.numKvHeads * this.headDim;
    const [x, y] = [pass.at('x'), pass.at(name)];
    if (keys === given || !batchFirst) map.apply(x, batch * given, y);
    else for (let b = 0; b < batch; b++) map.apply(x + b * given * inputs * 4, given, y + b * keys * width * 4);
    const zeros = new Float32Array(width);
    for (let row = given; row < keys; row++) {
      const values = row === given && bias ? bias : zeros;
      for (let b = 0; b < batch; b++) {
        const place = batchFirst ? b * keys + row : row * batch + b;
        this.#core.heap.writeFloat32(y + place * width * 4, values);
      }
    }
  }

  /**
   * @param {import('./pass.js').Pass} pass
   * @param {boolean} average
   * @returns {FloatTensor}
   */
  #weightsOf(pass, average) {
    const { isBatched, batch, heads, queries, keys } = pass.sizes;
    const all = this.#core.heap.readFloat32(pass.at('weights'), pass.weights);
    const front = isBatched ? [batch] : [];
    if (!average) return { data: all, shape: [...front, heads, queries, keys] };
    const matrix = queries * keys;
    const data = new Float32Array(batch * matrix);
    for (let b = 0; b < batch; b++) {
      for (let at = 0; at < matrix; at++) {
        let sum = 0;
        for (let h = 0; h < heads; h++) sum += all[(b * heads + h) * matrix + at];
        data[b * matrix + at] = sum / heads;
      }
    }
    return { data, shape: [...front, queries, keys] };
  }
}

/** @typedef {ReturnType<typeof createLinear>} Linear */
/** @typedef {import('./pass.js').Pass} Pass */

/**
 * The memory of a layer, apart from the layer: what gives it back when the layer is forgotten must not know the layer.
 * @param {{ q: Linear, k: Linear, v: Linear, out: Linear }} made
 */
function holdMemory(made) {
  /** @type {typeof made | null} */
  let maps = made;
  /** @type {Pass | null} */
  let pass = null;

  /** @param {Pass | null} next */
  function setPass(next) {
    pass?.free();
    pass = next;
  }

  return {
    maps: () => maps,
    pass: () => pass,
    setPass,
    release() {
      setPass(null);
      for (const map of Object.values(maps ?? {})) map.free();
      maps = null;
    },
  };
}

/**
 * All four or none.
 * @param {Core} core
 * @param {import('./parameters.js').Parameters} parameters
 */
function createMaps(core, { q, k, v, out }) {
  /** @type {Linear[]} */
  const made = [];
  const make = (/** @type {import('./parameters.js').Linear} */ linear) => {
    made.push(createLinear(core, CALL, linear));
    return made[made.length - 1];
  };
  try {
    return { q: make(q), k: make(k), v: make(v), out: make(out) };
  } catch (error) {
    for (const map of made) map.free();
    throw error;
  }
}

/**
 * @param {string} call
 * @param {string} name
 * @param {unknown} value
 * @param {boolean} otherwise
 */
function flag(call, name, value, otherwise) {
  if (!isGiven(value)) return otherwise;
  if (typeof value !== 'boolean') throw refusal(call, name, value, 'true or false');
  return value;
}
