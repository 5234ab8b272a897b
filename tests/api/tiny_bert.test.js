/** Two tiny random BERTs against PyTorch, every stage of every head. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { assertClose, assertSameBits, inTree, readSafetensors, tensorOf } from './golden.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').Run} Run */
/** @typedef {import('qkv').StageName} StageName */
/** @typedef {ReturnType<typeof readSafetensors>} Golden */

/** Stage names of the golden files, by ours. */
const PER_HEAD = { qLinear: 'q', kLinear: 'k', q: 'q', k: 'k', v: 'v', context: 'context' };
const MAPS = { scores: 'scores', scaled: 'scaled', capped: 'scaled', biased: 'scaled', masked: 'masked' };
const WHOLE = { concat: 'concat', output: 'out' };

for (const name of ['bert', 'bert_old_names']) {
  for (const config of ['config.json', 'config.v4.json']) {
    test(`${name} with ${config}: every attention, hidden state and stage equals PyTorch's`, async (t) => {
      const model = await load(name, config);
      for (const k of [0, 1, 2, 3]) {
        await t.test(`golden-${k}`, async () => {
          const golden = readSafetensors(inTree(`tests/golden/tiny/${name}/golden-${k}.safetensors`));
          await compareRagged(model, golden);
        });
      }
      model.dispose();
    });
  }
}

test('a padding mask gives the real tokens of every sequence the bits they have without it', async () => {
  const model = await load('bert', 'config.json');
  const golden = readSafetensors(inTree('tests/golden/tiny/bert/golden-1.safetensors'));
  for (const { ids, typeIds, real } of sequencesOf(golden)) {
    const allow = { data: Uint8Array.from(ids, (_, j) => (j < real ? 1 : 0)), shape: [ids.length] };
    const padded = await model.forward({ ids, typeIds }, { mask: { allow } });
    const alone = await model.forward({ ids: ids.slice(0, real), typeIds: typeIds.slice(0, real) });
    for (let layer = 0; layer < model.info.layers; layer++) {
      for (let head = 0; head < model.info.heads; head++) {
        const wide = await padded.getWeights(layer, head, { rows: [0, real] });
        const narrow = await alone.getWeights(layer, head);
        for (let i = 0; i < real; i++) {
          const row = wide.data.subarray(i * wide.cols, (i + 1) * wide.cols);
          assert.ok(row.subarray(real).every((weight) => weight === 0));
          const expected = narrow.data.subarray(i * real, (i + 1) * real);
          // Masked keys add exact zeros to the sum of exps and to the context, so not one bit moves.
          assertSameBits(row.subarray(0, real), expected, `layer ${layer}, head ${head}, row ${i}`);
        }
      }
    }
  }
  model.dispose();
});

test('a single token sees itself with weight 1', async () => {
  const model = await load('bert', 'config.json');
  const run = await model.forward({ ids: [5] });
  const { rows, cols, data } = await run.getWeights(1, 4);
  assert.deepEqual([rows, cols, ...data], [1, 1, 1]);
  const stages = /** @type {const} */ (['context', 'v']);
  const [context, v] = await Promise.all(stages.map((stage) => run.getStage(stage, { layer: 1, head: 4 })));
  assertSameBits(context.data, v.data, 'Z of one token is its v');
  model.dispose();
});

/**
 * @param {string} name
 * @param {string} config
 */
function load(name, config) {
  const file = (/** @type {string} */ path) => readFileSync(inTree(`tests/golden/tiny/${name}/${path}`));
  return loadModel({ 'config.json': file(config), 'model.safetensors': file('model.safetensors') });
}

/** @param {Golden} golden */
function sequencesOf(golden) {
  const { shape, data } = tensorOf(golden, 'input_ids');
  const [batch, n] = shape;
  return Array.from({ length: batch }, (_, b) => {
    const part = (/** @type {string} */ name) => Array.from(tensorOf(golden, name).data).slice(b * n, (b + 1) * n);
    const real = part('attention_mask').filter((bit) => bit === 1).length;
    return { ids: Array.from(data).slice(b * n, (b + 1) * n), typeIds: part('token_type_ids'), real, n };
  });
}

/**
 * Runs the sequences without their padding and compares what is not padding.
 * @param {Model} model
 * @param {Golden} golden
 */
async function compareRagged(model, golden) {
  const sequences = sequencesOf(golden);
  const batch = sequences.map(({ ids, typeIds, real }) => ({
    ids: ids.slice(0, real),
    typeIds: typeIds.slice(0, real),
  }));
  const run = await model.forward({ batch });
  assert.deepEqual(
    run.lengths,
    sequences.map(({ real }) => real),
  );
  for (let sequence = 0; sequence < sequences.length; sequence++) {
    const { real } = sequences[sequence];
    for (let i = 0; i <= model.info.layers; i++) {
      const { shape, data } = await run.hidden(i, { sequence });
      assert.deepEqual(shape, [real, model.info.width]);
      assertClose(data, partOf(golden, `hidden_states.${i}`, [sequence], real), `hidden ${i}`);
    }
    for (let layer = 0; layer < model.info.layers; layer++)
      await compareLayer(run, model, golden, sequence, real, layer);
  }
  run.dispose();
}

/**
 * @param {Run} run
 * @param {Model} model
 * @param {Golden} golden
 * @param {number} sequence
 * @param {number} real
 * @param {number} layer
 */
async function compareLayer(run, { info }, golden, sequence, real, layer) {
  for (let head = 0; head < info.heads; head++) {
    const { data } = await run.getWeights(layer, head, { sequence });
    assertClose(data, partOf(golden, `attentions.${layer}`, [sequence, head], real, real), `weights ${layer}.${head}`);
    const again = await run.getStage('weights', { layer, head, sequence });
    assertSameBits(again.data, data, 'getStage and getWeights');
    if (!golden.has(`stage.${layer}.q`)) continue;
    for (const [ours, theirs] of Object.entries(PER_HEAD)) {
      const stage = await run.getStage(/** @type {StageName} */ (ours), { layer, head, sequence });
      assert.deepEqual(stage.shape, [real, info.headDim]);
      assertClose(
        stage.data,
        partOf(golden, `stage.${layer}.${theirs}`, [sequence, head], real),
        `${ours} ${layer}.${head}`,
      );
    }
    for (const [ours, theirs] of Object.entries(MAPS)) {
      const stage = await run.getStage(/** @type {StageName} */ (ours), { layer, head, sequence });
      assert.deepEqual(stage.shape, [real, real]);
      const expected = partOf(golden, `stage.${layer}.${theirs}`, [sequence, head], real, real);
      assertClose(stage.data, expected, `${ours} ${layer}.${head}`);
    }
  }
  const x = await run.getStage('x', { layer, sequence });
  assertSameBits(x.data, (await run.hidden(layer, { sequence })).data, 'x is the hidden state before the layer');
  const hidden = await run.getStage('hidden', { layer, sequence });
  assertSameBits(hidden.data, (await run.hidden(layer + 1, { sequence })).data, 'hidden is the one after it');
  if (!golden.has(`stage.${layer}.q`)) return;
  for (const [ours, theirs] of Object.entries(WHOLE)) {
    const stage = await run.getStage(/** @type {StageName} */ (ours), { layer, sequence });
    assertClose(stage.data, partOf(golden, `stage.${layer}.${theirs}`, [sequence], real), `${ours} ${layer}`);
  }
}

/**
 * The part of a golden tensor at the leading indices, cut to the first rows and, where given, columns.
 * @param {Golden} golden
 * @param {string} name
 * @param {number[]} indices
 * @param {number} rows
 * @param {number} [columns]
 */
function partOf(golden, name, indices, rows, columns) {
  const { shape, data } = tensorOf(golden, name);
  const size = (/** @type {number} */ axis) => shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const start = indices.reduce((sum, index, axis) => sum + index * size(axis), 0);
  const width = shape[shape.length - 1];
  const kept = columns ?? width;
  return Float32Array.from(
    { length: rows * kept },
    (_, at) => data[start + Math.floor(at / kept) * width + (at % kept)],
  );
}
