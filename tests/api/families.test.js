/** Every encoder and decoder family against PyTorch, with both spellings of config.json; and what holds for all of them:
 * batches, rounded weights, files in pieces. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { CONFIGS, casesOf, checkCase, filesOf } from '../golden_case.js';
import { FAMILY_OF, CONFIGS as FAMILY_CONFIGS } from '../lib/families/family_configs.js';
import { assertClose, assertSameBits, inTree, qkvError, randomIds, seeded } from './golden.js';

const CASES = casesOf(inTree('tests/golden'));
/** One case of each family. */
const FAMILIES = [...new Map(CASES.map((one) => [one.family, one.case])).values()];
/**
 * Rounded weights against float32 ones, of scores and logits relative to 1 + the largest: a weight moves by at most half a
 * step, 1/1022 or 1/254 of its row's largest, which makes some 0.5 % or 2 % of a product and adds up over the layers; the
 * most peaked of these random models reach 2.4 % and 7.6 %. A wrong scale or row is off by 100 %.
 */
const ROUNDED = /** @type {const} */ ({ q10: 0.03, q8: 0.12 });

/** @param {string} name */
const folderOf = (name) => inTree(`tests/golden/tiny/${name}`);
/** @param {string} name @param {Parameters<typeof loadModel>[1]} [options] */
const load = (name, options) => loadModel(filesOf(folderOf(name), 'config.json'), options);

test('there is a golden of every family', () => {
  const families = Object.keys(FAMILY_CONFIGS).map((type) => FAMILY_OF[type] ?? type);
  const covered = CASES.map(({ family }) => FAMILY_OF[family] ?? family);
  assert.deepEqual(
    families.filter((family) => !covered.includes(family)),
    [],
  );
});

for (const { case: name, inputs } of CASES) {
  for (const config of CONFIGS) {
    test(`${name} with ${config}: attentions, hidden states, logits and stages are PyTorch's`, async () => {
      const worst = await checkCase(folderOf(name), config, inputs);
      assert.ok(worst.compared > 300, `${worst.compared} values compared`);
      assert.ok(worst.ratio <= 1, `${worst.where}: ${worst.ratio} times what is allowed`);
    });
  }
}

for (const name of FAMILIES) {
  test(`${name}: a batch gives every sequence the bits it has alone`, async () => {
    const model = await load(name);
    const { layers, heads, vocab, headRows } = model.info;
    const random = seeded(7);
    const batch = [1, 9, 22].map((length) => ({ ids: [...randomIds(random, length, vocab)] }));
    const together = await model.forward({ batch });
    for (const [sequence, input] of batch.entries()) {
      const alone = await model.forward(input);
      const last = await together.hidden(layers, { sequence });
      assertSameBits(last.data, (await alone.hidden(layers)).data, 'last hidden state');
      const map = await together.getWeights(layers - 1, heads - 1, { sequence });
      assertSameBits(map.data, (await alone.getWeights(layers - 1, heads - 1)).data, 'weights');
      if (headRows > 0) assertSameBits(await together.logits({ sequence }), await alone.logits(), 'logits');
      alone.dispose();
    }
    model.dispose();
  });

  for (const precision of /** @type {const} */ (['q10', 'q8'])) {
    test(`${name} in ${precision}: takes less memory, and scores and logits are about those of float32`, async () => {
      const [exact, rounded] = await Promise.all([load(name), load(name, { precision })]);
      assert.equal(rounded.info.precision, precision);
      assert.ok(rounded.info.bytes < exact.info.bytes, `${rounded.info.bytes} of ${exact.info.bytes} bytes`);
      const ids = [...randomIds(seeded(3), 14, exact.info.vocab)];
      const [expected, actual] = await Promise.all([exact, rounded].map((model) => model.forward({ ids })));
      for (let layer = 0; layer < exact.info.layers; layer++) {
        for (let head = 0; head < exact.info.heads; head++) {
          const [a, b] = await Promise.all([actual, expected].map((run) => run.getStage('scaled', { layer, head })));
          assertClose(a.data, b.data, `layer ${layer}, head ${head}`, ROUNDED[precision]);
        }
      }
      if (exact.info.headRows > 0) {
        assertClose(await actual.logits(), await expected.logits(), 'logits', ROUNDED[precision]);
      }
      exact.dispose();
      rounded.dispose();
    });
  }
}

test('what files hold besides the model is told, each layer once', async () => {
  const model = await load('bert');
  assert.deepEqual(model.info.ignored, ['pooler.dense.bias', 'pooler.dense.weight']);
  assert.equal(model.info.headRows, 0);
  model.dispose();
  const llama = await load('llama_bf16');
  assert.deepEqual(llama.info.ignored, ['model.layers.{i}.self_attn.rotary_emb.inv_freq']);
  assert.deepEqual([llama.info.headRows, llama.info.kinds], [llama.info.vocab, ['decoder']]);
  llama.dispose();
});

test('a model in several files is the same, whichever way the index sorts its tensors', async () => {
  const files = filesOf(folderOf('qwen2_f16_shards'), 'config.json');
  const shards = Object.keys(files).filter((name) => name.endsWith('.safetensors'));
  assert.equal(shards.length, 3);
  const index = JSON.parse(new TextDecoder().decode(files['model.safetensors.index.json']));
  // The token table, by whose form the engine is laid out, is in one file only; it may be any.
  const swapped = { [shards[0]]: shards[2], [shards[2]]: shards[0], [shards[1]]: shards[1] };
  const map = Object.entries(index.weight_map).map(([name, file]) => [name, swapped[String(file)]]);
  const text = JSON.stringify({ ...index, weight_map: Object.fromEntries(map) });
  const renamed = {
    'config.json': files['config.json'],
    'model.safetensors.index.json': new TextEncoder().encode(text),
    ...Object.fromEntries(shards.map((name) => [swapped[name], files[name]])),
  };
  const [one, other] = [await loadModel(files), await loadModel(renamed)];
  const [a, b] = [await one.forward({ ids: [5, 6, 7] }), await other.forward({ ids: [5, 6, 7] })];
  assertSameBits(await a.logits(), await b.logits(), 'logits');
  one.dispose();
  other.dispose();
});

test('a missing shard, or a tensor that is listed and not there, is named', async () => {
  const files = filesOf(folderOf('qwen2_f16_shards'), 'config.json');
  const { 'model-00002-of-00003.safetensors': _, ...fewer } = files;
  await assert.rejects(loadModel(fewer), qkvError('missing', 'model-00002-of-00003.safetensors'));
  const index = JSON.parse(new TextDecoder().decode(files['model.safetensors.index.json']));
  delete index.weight_map['model.norm.weight'];
  const cut = { ...files, 'model.safetensors.index.json': new TextEncoder().encode(JSON.stringify(index)) };
  await assert.rejects(loadModel(cut), qkvError('format', 'model.norm.weight'));
});

test('a file without a tensor of a family is refused, naming what it would fill', async () => {
  const files = filesOf(folderOf('gpt_neox'), 'config.json');
  const weights = readFileSync(`${folderOf('gpt_neox')}/model.safetensors`);
  const name = 'layers.0.attention.query_key_value.weight';
  const at = weights.indexOf(name);
  const changed = Buffer.from(weights);
  changed.write('X', at);
  await assert.rejects(
    loadModel({ ...files, 'model.safetensors': changed }),
    qkvError('weight', 'no tensor holds q.weight of layer 0'),
  );
});

test('a config that promises more than the file holds gets no memory for it', async () => {
  const files = filesOf(folderOf('llama'), 'config.json');
  const config = JSON.parse(new TextDecoder().decode(files['config.json']));
  const large = { ...config, hidden_size: 8192, intermediate_size: 16_384, num_hidden_layers: 2 };
  const changed = { ...files, 'config.json': new TextEncoder().encode(JSON.stringify(large)) };
  await assert.rejects(loadModel(changed), qkvError('weight', 'elements of all tensors', 'do not belong together'));
});
