/**
 * The engine's answer to a setup, step by step. The maps are those of a MultiHeadAttention layer; what lies between, with
 * its own scale, is scaledDotProductAttention. Here arrays are only put together and taken apart.
 */
import { MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { keysOf, valuesOf } from './setup.js';

/** @typedef {import('qkv').Engine} Engine */
/** @typedef {import('qkv').FloatTensor} FloatTensor */
/** @typedef {import('./setup.js').Setup} Setup */
/**
 * q [N, D], k and v [M, D], concat and output [N, D]; scores, scaled, masked and weights [h, N, M]; sums [h, N].
 * @typedef {object} Answer
 * @property {Float32Array} q @property {Float32Array} k @property {Float32Array} v
 * @property {Float32Array} scores @property {Float32Array} scaled @property {Float32Array} masked
 * @property {Float32Array} weights @property {Float32Array} sums
 * @property {Float32Array} concat @property {Float32Array} output
 * @property {number} dk @property {number} keys
 */

/** torch writes a map as [outputs, inputs], and so does the layer. @param {Float32Array} values  @param {number} width */
function transposed(values, width) {
  const turned = new Float32Array(values.length);
  for (let i = 0; i < width; i++) for (let j = 0; j < width; j++) turned[j * width + i] = values[i * width + j];
  return turned;
}

/** @param {Float32Array[]} parts */
function joined(parts) {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Heads of [rows, dk] side by side: [rows, D].
 * @param {Float32Array[]} heads
 * @param {number} rows
 */
function sideBySide(heads, rows) {
  const dk = heads[0].length / rows;
  const width = dk * heads.length;
  const whole = new Float32Array(rows * width);
  for (const [head, values] of heads.entries()) {
    for (let row = 0; row < rows; row++) {
      whole.set(values.subarray(row * dk, (row + 1) * dk), row * width + head * dk);
    }
  }
  return whole;
}

/**
 * Q = X W_Q, K = Y W_K, V = Y W_V.
 * @param {Engine} engine
 * @param {Setup} setup
 */
function project(engine, setup) {
  const { n, width, heads, cross } = setup;
  const map = (/** @type {'wq' | 'wk' | 'wv' | 'wo'} */ name) => transposed(valuesOf(setup, name), width);
  const layer = new MultiHeadAttention(engine, {
    embedDim: width,
    numHeads: heads,
    parameters: {
      in_proj_weight: { data: joined([map('wq'), map('wk'), map('wv')]), shape: [3 * width, width] },
      'out_proj.weight': { data: map('wo'), shape: [width, width] },
    },
  });
  try {
    const x = { data: valuesOf(setup, 'x'), shape: [n, width] };
    const y = cross ? { data: valuesOf(setup, 'y'), shape: [setup.m, width] } : x;
    layer.forward(x, y, y, { needWeights: false });
    const stage = (/** @type {'q' | 'k' | 'v'} */ name, /** @type {number} */ rows) =>
      sideBySide(
        Array.from({ length: heads }, (_, head) => layer.getStage(name, { head }).data),
        rows,
      );
    const keys = keysOf(setup);
    return { q: stage('q', n), k: stage('k', keys), v: stage('v', keys) };
  } finally {
    layer.dispose();
  }
}

/**
 * rows W by the engine: the value map of a layer that has nothing else to do.
 * @param {Engine} engine
 * @param {FloatTensor} rows [n, D]
 * @param {Float32Array} weight [D, D]
 */
function throughMap(engine, rows, weight) {
  const width = rows.shape[1];
  const none = new Float32Array(width * width);
  const layer = new MultiHeadAttention(engine, {
    embedDim: width,
    numHeads: 1,
    parameters: {
      in_proj_weight: { data: joined([none, none, transposed(weight, width)]), shape: [3 * width, width] },
      'out_proj.weight': { data: none, shape: [width, width] },
    },
  });
  try {
    layer.forward(rows, rows, rows, { needWeights: false });
    return layer.getStage('v', { head: 0 }).data;
  } finally {
    layer.dispose();
  }
}

/** @param {Float32Array} weights [rows, cols]  @param {number} cols */
function sumsOf(weights, cols) {
  return Float32Array.from({ length: weights.length / cols }, (_, row) =>
    weights.subarray(row * cols, (row + 1) * cols).reduce((sum, weight) => sum + weight, 0),
  );
}

/** What the logits are multiplied by. @param {Setup} setup */
export const scaleOf = ({ scaled, temperature, width, heads }) =>
  1 / ((scaled ? Math.sqrt(width / heads) : 1) * temperature);

/**
 * @param {Engine} engine
 * @param {Setup} setup
 * @returns {Answer}
 */
export function attend(engine, setup) {
  const { n, width, heads } = setup;
  const keys = keysOf(setup);
  const { q, k, v } = project(engine, setup);
  const options = {
    query: { data: q, shape: [1, n, width] },
    key: { data: k, shape: [1, keys, width] },
    value: { data: v, shape: [1, keys, width] },
    heads,
    mask: { allow: { data: Uint8Array.from(valuesOf(setup, 'mask')), shape: [n, keys] } },
    scale: scaleOf(setup),
  };
  const { scores } = scaledDotProductAttention(engine, { ...options, returns: 'scores' });
  const { scaled } = scaledDotProductAttention(engine, { ...options, returns: 'scaled' });
  const { masked } = scaledDotProductAttention(engine, { ...options, returns: 'masked' });
  const { weights, output: concat } = scaledDotProductAttention(engine, { ...options, returns: 'weights' });
  return {
    q,
    k,
    v,
    scores: scores.data,
    scaled: scaled.data,
    masked: masked.data,
    weights: weights.data,
    sums: sumsOf(weights.data, keys),
    concat: concat.data,
    output: throughMap(engine, { data: concat.data, shape: [n, width] }, valuesOf(setup, 'wo')),
    dk: width / heads,
    keys,
  };
}

/**
 * The columns of one head, [rows, dk], out of [rows, D].
 * @param {Float32Array} values
 * @param {number} width
 * @param {number} dk
 * @param {number} head
 */
export function headSlice(values, width, dk, head) {
  const rows = values.length / width;
  const slice = new Float32Array(rows * dk);
  for (let row = 0; row < rows; row++) {
    const from = row * width + head * dk;
    slice.set(values.subarray(from, from + dk), row * dk);
  }
  return slice;
}
