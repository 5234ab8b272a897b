/** Each shown number against the formula beside it, in float64 from the numbers shown before it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { BOUNDS, BUNDLED, float32Minilm, randomIds, readSafetensors, seeded, tensorOf } from './golden.js';

/** @typedef {import('qkv').Run} Run */

const TEXT = "The animal didn't cross the street because it was too tired.";
const CELLS = 40;

for (const [name, folder] of /** @type {[string, () => string][]} */ ([
  ['bundled, 10 bits', () => BUNDLED],
  ['float32', float32Minilm],
])) {
  test(`${name}: weight (i, j) is softmax of q.k / sqrt(dk), Z is weights times v, output is concat times W_O`, async () => {
    const model = await loadModel(folder());
    const run = await model.forward(TEXT);
    const random = seeded(7);
    for (let cell = 0; cell < CELLS; cell++) {
      const [layer, head] = [...randomIds(random, 1, 6), ...randomIds(random, 1, 12)];
      const [i, j] = randomIds(random, 2, run.tokens.length);
      await compareCell(run, layer, head, i, j);
    }
    const outputs = outputMaps(`${folder()}/model.safetensors`, model.info.precision === 'q10');
    for (const layer of [0, 3, 5]) await compareOutput(run, layer, outputs[layer]);
    model.dispose();
  });
}

/**
 * @param {Run} run
 * @param {number} layer
 * @param {number} head
 * @param {number} i
 * @param {number} j
 */
async function compareCell(run, layer, head, i, j) {
  const stage = (/** @type {import('qkv').StageName} */ name) => run.getStage(name, { layer, head });
  const [q, k, v, context] = await Promise.all(/** @type {const} */ (['q', 'k', 'v', 'context']).map(stage));
  const { data: weights, cols } = await run.getWeights(layer, head);
  const dim = q.shape[1];
  const logits = Array.from({ length: cols }, (_, key) => {
    let sum = 0;
    for (let e = 0; e < dim; e++) sum += q.data[i * dim + e] * k.data[key * dim + e];
    return sum / Math.sqrt(dim);
  });
  const top = Math.max(...logits);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
  near(weights[i * cols + j], Math.exp(logits[j] - top) / total, `weight ${layer}.${head} (${i}, ${j})`);
  near(
    weights.subarray(i * cols, (i + 1) * cols).reduce((sum, weight) => sum + weight, 0),
    1,
    'sum of the row',
  );
  for (let e = 0; e < dim; e++) {
    let sum = 0;
    for (let key = 0; key < cols; key++) sum += weights[i * cols + key] * v.data[key * dim + e];
    near(context.data[i * dim + e], sum, `Z ${layer}.${head} (${i}, ${e})`);
  }
  const concat = await run.getStage('concat', { layer });
  const slice = concat.data.subarray(i * concat.shape[1] + head * dim, i * concat.shape[1] + (head + 1) * dim);
  assert.deepEqual(slice, context.data.subarray(i * dim, (i + 1) * dim), 'concat holds Z of each head side by side');
}

/**
 * @param {Run} run
 * @param {number} layer
 * @param {{ weight: Float64Array, bias: ArrayLike<number> }} map
 */
async function compareOutput(run, layer, { weight, bias }) {
  const [concat, output] = [await run.getStage('concat', { layer }), await run.getStage('output', { layer })];
  const [n, width] = concat.shape;
  for (let i = 0; i < n; i++) {
    const row = concat.data.subarray(i * width, (i + 1) * width);
    for (let o = 0; o < bias.length; o++) {
      let sum = bias[o];
      for (let d = 0; d < width; d++) sum += row[d] * weight[o * width + d];
      near(output.data[i * bias.length + o], sum, `output ${layer} (${i}, ${o})`);
    }
  }
}

/**
 * W_O and its bias of each layer, dequantised by hand: w = scale * (4 * high + low).
 * @param {string} path
 * @param {boolean} isQuantised
 */
function outputMaps(path, isQuantised) {
  const tensors = readSafetensors(path);
  return Array.from({ length: 6 }, (_, layer) => {
    const name = `encoder.layer.${layer}.attention.output.dense`;
    const { data: high, shape } = tensorOf(tensors, `${name}.weight`);
    const bias = tensorOf(tensors, `${name}.bias`).data;
    if (!isQuantised) return { weight: Float64Array.from(high), bias };
    const low = tensorOf(tensors, `${name}.weight_low`).data;
    const scale = tensorOf(tensors, `${name}.weight_scale`).data;
    const bytes = Math.ceil(shape[1] / 4);
    const weight = Float64Array.from(high, (value, at) => {
      const [row, col] = [Math.floor(at / shape[1]), at % shape[1]];
      const rest = (low[row * bytes + Math.floor(col / 4)] >> (2 * (col % 4))) & 3;
      return scale[row] * (4 * value + rest);
    });
    return { weight, bias };
  });
}

/**
 * @param {number} actual
 * @param {number} expected
 * @param {string} what
 */
function near(actual, expected, what) {
  assert.ok(Math.abs(actual - expected) <= BOUNDS.formula, `${what}: shown ${actual}, formula ${expected}`);
}
