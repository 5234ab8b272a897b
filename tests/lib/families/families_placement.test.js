import assert from 'node:assert/strict';
import test from 'node:test';
import { resolveModel } from '../../../web/lib/families/index.js';
import { CONFIGS } from './family_configs.js';

/** @param {string} type @param {string[]} [names] @param {Record<string, unknown>} [changes] */
const mapOf = (type, names = [], changes = {}) =>
  resolveModel({ ...CONFIGS[type], ...changes }, 'm/config.json').layout(names).mapTensor;
/** @param {string[]} slots @param {number} layer @param {object} [others] */
const target = (slots, layer, others = {}) => ({
  slots,
  turns: 1,
  layer,
  part: 'whole',
  isTransposed: false,
  ...others,
});
const QUANTIZED = { quantization_config: { quant_method: 'qkv', bits: 10 } };

test('names are found with and without prefix, as weight and bias or gamma and beta', () => {
  const map = mapOf('bert');
  const norm = target(['attn_norm.weight'], 3);
  for (const prefix of ['', 'bert.']) {
    assert.deepEqual(map(`${prefix}encoder.layer.3.attention.output.LayerNorm.weight`), norm);
    assert.deepEqual(map(`${prefix}encoder.layer.3.attention.output.LayerNorm.gamma`), norm);
  }
  assert.deepEqual(map('embeddings.LayerNorm.beta'), target(['embed_norm.bias'], 0));
  assert.deepEqual(map('embeddings.token_type_embeddings.weight'), target(['segments'], 0));
});

test('what the engine has no use for is left alone', () => {
  const map = mapOf('bert');
  for (const name of [
    '',
    'pooler.dense.weight',
    'embeddings.position_ids',
    'cls.predictions.bias', // the files hold no head
    'encoder.layer.12.output.dense.weight', // there are layers 0 to 11
    'encoder.layer.05.output.dense.weight',
    'encoder.layer.-1.output.dense.weight',
    'encoder.layer.{i}.output.dense.weight',
    'encoder.layer.0.output.dense.weight_low', // not a quantised model
    'bert.bert.embeddings.LayerNorm.bias',
    '__proto__',
    'x'.repeat(1_000_000),
  ]) {
    const found = map(name);
    assert.equal(found, null, `${name.slice(0, 50)} ${JSON.stringify(found)}`);
  }
  assert.equal(mapOf('gpt2')('h.0.attn.bias'), null);
  assert.equal(mapOf('llama')('model.layers.0.self_attn.rotary_emb.inv_freq'), null);
});

test('tensors that hold several matrices say how their rows are shared out', () => {
  const fused = (/** @type {string} */ ending) => ['q', 'k', 'v'].map((slot) => `${slot}.${ending}`);
  assert.deepEqual(mapOf('modernbert')('model.layers.2.attn.Wqkv.weight'), target(fused('weight'), 2));
  assert.deepEqual(mapOf('modernbert')('layers.2.mlp.Wi.weight'), target(['gate.weight', 'up.weight'], 2));
  const neox = mapOf('gpt_neox');
  const stem = 'gpt_neox.layers.1.attention.query_key_value';
  assert.deepEqual(neox(`${stem}.weight`), target(fused('weight'), 1, { turns: 12 }));
  assert.deepEqual(neox(`${stem}.bias`), target(fused('bias'), 1, { turns: 12 }));
});

test('matrices of GPT-2 are transposed, unless a converted file says that they are not; biases never are', () => {
  const map = mapOf('gpt2');
  const transposed = { isTransposed: true };
  assert.deepEqual(map('h.0.mlp.c_proj.weight'), target(['down.weight'], 0, transposed));
  assert.deepEqual(map('transformer.h.11.attn.c_proj.weight'), target(['o.weight'], 11, transposed));
  const slots = ['q.weight', 'k.weight', 'v.weight'];
  assert.deepEqual(map('transformer.h.1.attn.c_attn.weight'), target(slots, 1, transposed));
  assert.equal(map('transformer.h.1.attn.c_attn.bias')?.isTransposed, false);
  assert.equal(map('transformer.wte.weight')?.isTransposed, false);
  const converted = mapOf('gpt2', [], { qkv_conv1d: false });
  assert.equal(converted('transformer.h.1.attn.c_attn.weight')?.isTransposed, false);
});

test('layers of ALBERT are its groups', () => {
  const stem = 'albert.encoder.albert_layer_groups';
  const map = mapOf('albert', [], { num_hidden_groups: 2 });
  assert.deepEqual(map(`${stem}.1.albert_layers.0.ffn.weight`), target(['up.weight'], 1));
  assert.equal(map(`${stem}.2.albert_layers.0.ffn.weight`), null);
  assert.equal(map(`${stem}.0.albert_layers.1.ffn.weight`), null);
});

test('of several names for one part of the head the first that is there counts', () => {
  const dense = 'lm_head.dense.weight';
  const both = mapOf('roberta', [dense, 'lm_head.bias', 'lm_head.decoder.bias']);
  assert.deepEqual(both('lm_head.decoder.bias'), target(['head.bias'], 0));
  assert.equal(both('lm_head.bias'), null);
  assert.deepEqual(mapOf('roberta', [dense, 'lm_head.bias'])('lm_head.bias'), target(['head.bias'], 0));
  const untied = mapOf('roberta', [dense, 'lm_head.decoder.weight']);
  assert.deepEqual(untied('lm_head.decoder.weight'), target(['head.weight'], 0));
  assert.deepEqual(untied('lm_head.layer_norm.bias'), target(['head_norm.bias'], 0));
});

test('a quantised model has planes for its matrices and its token table, and for nothing else', () => {
  const map = mapOf('bert', [], QUANTIZED);
  for (const [stem, slot, layer] of /** @type {const} */ ([
    ['embeddings.word_embeddings', 'tokens', 0],
    ['encoder.layer.2.attention.self.query', 'q.weight', 2],
    ['encoder.layer.5.output.dense', 'down.weight', 5],
  ])) {
    assert.deepEqual(map(`${stem}.weight`), target([slot], layer));
    assert.deepEqual(map(`${stem}.weight_low`), target([slot], layer, { part: 'low' }));
    assert.deepEqual(map(`${stem}.weight_scale`), target([slot], layer, { part: 'scale' }));
  }
  for (const name of [
    'position_embeddings.weight_low',
    'LayerNorm.weight_scale',
    'token_type_embeddings.weight_scale',
  ]) {
    assert.equal(map(`embeddings.${name}`), null, name);
  }
  const head = mapOf('llama', ['lm_head.weight'], QUANTIZED);
  assert.equal(head('lm_head.weight_scale')?.part, 'scale');
});
