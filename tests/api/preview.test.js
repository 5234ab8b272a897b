/** What inspectModel says of a model is what loading it finds, and it reads no weights. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, inspectModel, loadModel } from 'qkv';
import { inTree } from './golden.js';

const MINILM = inTree('web/models/minilm');
const LLAMA = inTree('tests/golden/tiny/llama');

test('a preview has the shape of the model, and sizes that the loaded weights have at least', async () => {
  const preview = await inspectModel(LLAMA);
  assert.deepEqual(Object.keys(preview.bytes), ['f32', 'q10', 'q8']);
  assert.equal(preview.precision, 'f32');
  for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
    const model = await loadModel(LLAMA, { precision });
    const { info } = model;
    for (const key of /** @type {const} */ ([
      'name',
      'family',
      'layers',
      'heads',
      'kvHeads',
      'headDim',
      'width',
      'vocab',
    ])) {
      assert.equal(preview[key], info[key], key);
    }
    assert.deepEqual(preview.kinds, info.kinds);
    assert.equal(preview.maxTokens, info.maxTokens);
    const least = preview.bytes[precision] ?? Number.NaN;
    assert.ok(least <= info.bytes && least > info.bytes / 2, `${precision}: ${least} of ${info.bytes}`);
    model.dispose();
  }
});

test('files that are rounded already offer only what they can be held in', async () => {
  const preview = await inspectModel(MINILM);
  assert.equal(preview.precision, 'q10');
  assert.deepEqual(Object.keys(preview.bytes), ['q10', 'f32']);
  for (const precision of /** @type {const} */ (['q10', 'f32'])) {
    const model = await loadModel(MINILM, { precision });
    assert.ok((preview.bytes[precision] ?? Number.NaN) <= model.info.bytes, precision);
    model.dispose();
  }
});

test('weights that are not there are not missed', async () => {
  const bytes = new TextEncoder().encode(
    JSON.stringify({
      model_type: 'bert',
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      intermediate_size: 128,
      vocab_size: 100,
      max_position_embeddings: 64,
    }),
  );
  const { layers, bytes: sizes } = await inspectModel({ 'config.json': bytes });
  assert.equal(layers, 2);
  assert.ok((sizes.f32 ?? 0) > (4 * (100 * 64 + 2 * 12 * 64 * 64)) / 2);
});

test('what an engine may have is what a preview says is free, and nothing stays behind', async () => {
  const engine = await init({ memoryLimit: 10_000_000 });
  const first = await inspectModel(LLAMA, { engine });
  assert.ok(first.available <= 10_000_000 && first.available > 9_000_000);
  assert.equal((await inspectModel(LLAMA, { engine })).available, first.available);
});

test('wrong options, folders and models are refused as loadModel does', async () => {
  const refuses = (/** @type {Promise<unknown>} */ call, /** @type {string} */ code) =>
    assert.rejects(call, (error) => /** @type {{ code?: string }} */ (error).code === code);
  await refuses(inspectModel(LLAMA, /** @type {{}} */ ({ precison: 'q8' })), 'argument');
  await refuses(inspectModel(inTree('tests')), 'missing');
  const other = new TextEncoder().encode('{"model_type":"resnet"}');
  await refuses(inspectModel({ 'config.json': other }), 'unsupported');
  const aborted = AbortSignal.abort();
  await refuses(inspectModel(LLAMA, { signal: aborted }), 'aborted');
});
