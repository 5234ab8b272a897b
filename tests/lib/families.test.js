import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { resolveModel } from '../../web/lib/families/index.js';
import { parseJson } from '../../web/lib/formats/json.js';
import { readTensors } from '../../web/lib/formats/safetensors.js';
import { expectError } from './expect_error.js';
import { streamOf } from './safetensors_file.js';

const MINILM = {
  model_type: 'bert',
  hidden_act: 'gelu',
  hidden_size: 384,
  intermediate_size: 1536,
  layer_norm_eps: 1e-12,
  max_position_embeddings: 512,
  num_attention_heads: 12,
  num_hidden_layers: 6,
  type_vocab_size: 2,
  vocab_size: 30522,
  position_embedding_type: 'absolute',
};
/** @param {Record<string, unknown>} [changes] undefined takes the key out */
const resolve = (changes = {}) => {
  const config = Object.entries({ ...MINILM, ...changes }).filter(([, value]) => value !== undefined);
  return resolveModel(Object.fromEntries(config), 'minilm/config.json');
};
/** @param {string} path */
const golden = async (path) => new Uint8Array(await readFile(new URL(`../golden/tiny/${path}`, import.meta.url)));

test('the config of MiniLM becomes the numbers of the engine', () => {
  const { engine, family, kinds, maxTokens, quantization, label } = resolve();
  assert.deepEqual(engine, {
    layers: 6,
    heads: 12,
    kv_heads: 12,
    head_dim: 32,
    width: 384,
    ffn: 1536,
    vocab: 30522,
    positions: 512,
    segments: 2,
    norm_eps: 1e-12,
  });
  assert.deepEqual([family, kinds, maxTokens, quantization], ['bert', ['encoder'], 512, null]);
  assert.equal(label, 'minilm/config.json');
});

for (const model of ['bert', 'bert_old_names']) {
  test(`${model}: both spellings of config.json mean the same, and every slot of every layer has its tensor`, async () => {
    const [resolved, older] = await Promise.all(
      ['config.json', 'config.v4.json'].map(async (file) =>
        resolveModel(parseJson(await golden(`${model}/${file}`), file), file),
      ),
    );
    assert.deepEqual(resolved.engine, older.engine);
    assert.ok(resolved.engine.norm_eps >= 1e-3); // not a default
    /** @type {Map<string, string>} */
    const targets = new Map();
    /** @type {string[]} */
    const unused = [];
    await readTensors(streamOf(await golden(`${model}/model.safetensors`)), model, (tensors) => {
      for (const { name } of tensors) {
        const target = resolved.mapTensor(name);
        if (target === null) unused.push(name);
        else targets.set(`${target.slot} ${target.layer}`, name);
        assert.deepEqual(older.mapTensor(name), target);
      }
      return new Map();
    });
    const { layers } = resolved.engine;
    assert.equal(targets.size, 5 + 16 * layers, [...targets.keys()].join());
    assert.ok(
      unused.every((name) => /pooler|position_ids|^cls\.|predictions/.test(name)),
      unused.join(),
    );
  });
}

test('names are found with and without prefix, as weight and bias or gamma and beta', () => {
  const { mapTensor } = resolve();
  const slot = { slot: 'attn_norm.weight', layer: 3, plane: null };
  for (const prefix of ['', 'bert.']) {
    assert.deepEqual(mapTensor(`${prefix}encoder.layer.3.attention.output.LayerNorm.weight`), slot);
    assert.deepEqual(mapTensor(`${prefix}encoder.layer.3.attention.output.LayerNorm.gamma`), slot);
  }
  assert.deepEqual(mapTensor('embeddings.LayerNorm.beta'), { slot: 'embed_norm.bias', layer: 0, plane: null });
  assert.deepEqual(mapTensor('embeddings.token_type_embeddings.weight'), { slot: 'segments', layer: 0, plane: null });
});

test('what the engine has no use for is left alone', () => {
  const { mapTensor } = resolve();
  for (const name of [
    '',
    'pooler.dense.weight',
    'embeddings.position_ids',
    'cls.predictions.bias',
    'encoder.layer.6.output.dense.weight', // there are layers 0 to 5
    'encoder.layer.05.output.dense.weight',
    'encoder.layer.-1.output.dense.weight',
    'encoder.layer.{i}.output.dense.weight',
    'encoder.layer.0.output.dense.weight_low', // not a quantised model
    'bert.bert.embeddings.LayerNorm.bias',
    '__proto__',
    'x'.repeat(1_000_000),
  ]) {
    const target = mapTensor(name);
    assert.equal(target, null, `${name.slice(0, 50)} ${JSON.stringify(target)}`);
  }
  assert.equal(resolve({ type_vocab_size: 0 }).mapTensor('embeddings.token_type_embeddings.weight'), null);
});

test('a quantised model has three planes for its matrices and its token table, and for nothing else', () => {
  const { mapTensor, quantization } = resolve({ quantization_config: { quant_method: 'qkv', bits: 10, measured: {} } });
  assert.deepEqual(quantization, { bits: 10 });
  for (const [stem, slot, layer] of /** @type {const} */ ([
    ['embeddings.word_embeddings', 'tokens', 0],
    ['encoder.layer.2.attention.self.query', 'q.weight', 2],
    ['encoder.layer.5.output.dense', 'down.weight', 5],
  ])) {
    assert.deepEqual(mapTensor(`${stem}.weight`), { slot, layer, plane: 'q10_high' });
    assert.deepEqual(mapTensor(`${stem}.weight_low`), { slot, layer, plane: 'q10_low' });
    assert.deepEqual(mapTensor(`${stem}.weight_scale`), { slot, layer, plane: 'scale' });
  }
  assert.equal(mapTensor('embeddings.position_embeddings.weight')?.plane, null);
  assert.equal(mapTensor('embeddings.LayerNorm.weight')?.plane, null);
  assert.equal(mapTensor('encoder.layer.2.attention.self.query.bias')?.plane, null);
  assert.equal(mapTensor('embeddings.position_embeddings.weight_low'), null);
});

/** @type {[Record<string, unknown>, string, RegExp][]} */
const REFUSED = [
  [{ hidden_size: 0 }, 'config', /config\.json: hidden_size: got 0, want a whole number from 1/],
  [{ hidden_size: -384 }, 'config', /hidden_size: got -384/],
  [{ hidden_size: 1e9 }, 'config', /hidden_size: got 1000000000/],
  [{ hidden_size: 768.5 }, 'config', /hidden_size: got 768\.5/],
  [{ hidden_size: '768' }, 'config', /hidden_size: got "768"/],
  [{ hidden_size: null }, 'config', /hidden_size: got null/],
  [{ hidden_size: undefined }, 'config', /hidden_size: got "nothing"/],
  [{ hidden_size: [384] }, 'config', /hidden_size: got \[384\]/],
  [{ num_attention_heads: 7 }, 'config', /hidden_size: got 384, want a multiple of num_attention_heads, which is 7/],
  [{ num_attention_heads: 0 }, 'config', /num_attention_heads: got 0/],
  [{ num_attention_heads: 768 }, 'config', /hidden_size: got 384, want a multiple of num_attention_heads/],
  [{ num_hidden_layers: 0 }, 'config', /num_hidden_layers: got 0/],
  [{ num_hidden_layers: 100_000 }, 'config', /num_hidden_layers: got 100000/],
  [{ max_position_embeddings: 0 }, 'config', /max_position_embeddings/],
  [{ vocab_size: 0 }, 'config', /vocab_size: got 0/],
  [{ vocab_size: 2 ** 31 }, 'config', /vocab_size/],
  [{ intermediate_size: undefined }, 'config', /intermediate_size/],
  [{ type_vocab_size: -1 }, 'config', /type_vocab_size: got -1, want a whole number from 0/],
  [{ hidden_act: 'relu' }, 'unsupported', /hidden_act: got "relu", want gelu/],
  [{ hidden_act: { type: 'gelu' } }, 'unsupported', /hidden_act/],
  [{ layer_norm_eps: 0 }, 'config', /layer_norm_eps: got 0/],
  [{ layer_norm_eps: -1e-12 }, 'config', /layer_norm_eps/],
  [{ layer_norm_eps: 1e10 }, 'config', /layer_norm_eps: got 10000000000/],
  [{ layer_norm_eps: 'x' }, 'config', /layer_norm_eps/],
  [{ model_type: 'gpt9' }, 'unsupported', /model_type: got "gpt9", want bert/],
  [{ model_type: undefined }, 'config', /model_type: got "nothing"/],
  [{ model_type: ['bert'] }, 'config', /model_type/],
  [{ model_type: '__proto__' }, 'unsupported', /model_type/],
  [{ position_embedding_type: 'relative_key' }, 'unsupported', /position_embedding_type: got "relative_key"/],
  [{ is_decoder: true }, 'unsupported', /is_decoder: got true, want false/],
  [{ quantization_config: { quant_method: 'qkv', bits: 4 } }, 'unsupported', /quantization_config: got "4 bits"/],
  [{ quantization_config: { quant_method: 'gptq', bits: 10 } }, 'unsupported', /quantization_config: got "gptq"/],
  [{ quantization_config: 'q10' }, 'unsupported', /quantization_config: got "q10"/],
];

for (const [changes, code, message] of REFUSED) {
  const what = Object.entries(changes).map(([key, value]) => `${key} ${JSON.stringify(value) ?? 'missing'}`);
  test(`refused: a config.json with ${what}`, async () => {
    await expectError(() => resolve(changes), code, message);
  });
}

test('keys that do not matter are ignored, also dangerous ones; what is left out has its usual value', () => {
  const { engine } = resolve({ _attn_implementation_internal: 'evil/code', auto_map: {}, pad_token_id: null });
  assert.deepEqual(engine, resolve().engine);
  const bare = resolve({ layer_norm_eps: undefined, type_vocab_size: undefined, hidden_act: undefined });
  assert.deepEqual(bare.engine, resolve().engine);
});
