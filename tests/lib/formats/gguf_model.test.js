/** Every architecture: what the converter made of a model becomes the model again, its config and each tensor's bytes. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { CASES, converted, toGguf } from './gguf_convert.js';
import { ARRAY, BOOL, F32, llamaFile, STRING, sourceOf, TYPE, U32, withTensor } from './gguf_file.js';
import { collector } from './safetensors_file.js';

/** @typedef {import('./gguf_convert.js').Case} Case */

/** Numbers that differ everywhere. @param {Case} about */
function weightsOf(about) {
  const all = new Map(
    about.tensors.map(([name, , shape], i) => {
      const count = shape.reduce((product, size) => product * size, 1);
      return [name, { shape, data: Float32Array.from({ length: count }, (_, j) => i + j / 65_536) }];
    }),
  );
  return (/** @type {string} */ name) => {
    const matrix = all.get(name);
    assert.ok(matrix, name);
    return matrix;
  };
}

/** @param {Uint8Array} bytes @param {Parameters<typeof sourceOf>[1]} [options] */
async function open(bytes, options) {
  const { source, calls } = sourceOf(bytes, options);
  const model = await openGguf(source, 'f.gguf');
  return { model, calls };
}

/** Keys of config.json that say how a model computes; published ones leave many of the others out. */
const COMPUTED = [
  ...[
    'model_type',
    'hidden_size',
    'n_embd',
    'num_hidden_layers',
    'n_layer',
    'num_attention_heads',
    'n_head',
    'vocab_size',
  ],
  ...['num_key_value_heads', 'head_dim', 'intermediate_size', 'max_position_embeddings', 'n_positions', 'rms_norm_eps'],
  ...['layer_norm_eps', 'layer_norm_epsilon', 'rope_theta', 'rotary_emb_base', 'rotary_pct', 'partial_rotary_factor'],
  ...['hidden_act', 'hidden_activation', 'sliding_window', 'sliding_window_pattern'],
  ...['rope_local_base_freq', 'attn_logit_softcapping', 'final_logit_softcapping', 'query_pre_attn_scalar'],
  ...['type_vocab_size', 'tie_word_embeddings', 'qk_layernorm', 'use_sliding_window'],
];

for (const [name, about] of Object.entries(CASES)) {
  test(`${name} comes back from GGUF with its config and every tensor`, async () => {
    const weights = weightsOf(about);
    const { model } = await open(toGguf(about, weights));
    for (const key of COMPUTED) {
      const want = about.config[key];
      const got = model.config[key] ?? null;
      if (want === undefined) continue;
      if (typeof want === 'number') assert.ok(Math.abs(Number(got) / want - 1) < 1e-6, `${key}: ${got}, not ${want}`);
      else assert.equal(got, want, key);
    }
    const { accept, received } = collector(() => 1 << 20);
    await model.readTensors(accept);
    for (const [original] of about.tensors) {
      const full = about.architecture === 'bert' && !original.startsWith('bert.') ? `bert.${original}` : original;
      const isAsIs = about.architecture === 'gpt2' || about.architecture.startsWith('gemma');
      const { shape, data } = isAsIs ? converted(about, original, weights(original)) : weights(original);
      const found = model.tensors.find((tensor) => tensor.name === full);
      assert.deepEqual(found?.shape, shape, full);
      assert.deepEqual(new Float32Array(Uint8Array.from(received.get(full) ?? []).buffer), data, full);
    }
  });
}

test('Gemma and GPT-2 say that their weights are as GGUF has them', async () => {
  const shifts = await Promise.all(
    ['gemma2', 'gemma3', 'gpt2', 'llama'].map(async (name) => {
      const { model } = await open(toGguf(CASES[name], weightsOf(CASES[name])));
      return [model.config.qkv_norm_shift, model.config.qkv_conv1d];
    }),
  );
  assert.deepEqual(shifts, [
    [0, undefined],
    [0, undefined],
    [undefined, false],
    [undefined, undefined],
  ]);
});

test('the divisors of Llama 3 become its scaling, wherever they stand in the file', async () => {
  const { rope_scaling: scaling, ...config } = CASES.llama3_rope.config;
  const published = { ...scaling, original_max_position_embeddings: 8192 };
  const about = { ...CASES.llama3_rope, config: { ...config, rope_theta: 500_000, rope_scaling: published } };
  for (const divisorsLast of [false, true]) {
    for (const sizes of [[64], [1 << 20]]) {
      const { model, calls } = await open(toGguf(about, weightsOf(about), { divisorsLast }), { sizes });
      assert.deepEqual(model.config.rope_scaling, published);
      const { accept, received } = collector();
      await model.readTensors(accept);
      assert.equal(received.size, about.tensors.length + 1);
      assert.equal(calls.opened, 1, 'so near that the file is read once');
    }
  }
});

test('divisors far behind in the file are fetched by reading it once more', async () => {
  const { config } = CASES.llama3_rope;
  const about = {
    ...CASES.llama3_rope,
    tensors: /** @type {import('./gguf_convert.js').Named[]} */ ([
      ...CASES.llama3_rope.tensors,
      ['large', 'large.weight', [1100, 1000]],
    ]),
  };
  const { model, calls } = await open(toGguf(about, weightsOf(about), { divisorsLast: true }), { sizes: [1 << 16] });
  const context = config.max_position_embeddings;
  const { short_factor: factors, ...rest } = /** @type {Record<string, any>} */ (model.config.rope_scaling);
  assert.deepEqual(
    { ...rest, long_factor: rest.long_factor.length },
    {
      rope_type: 'longrope',
      long_factor: 3,
      factor: 1,
      attention_factor: 1,
      original_max_position_embeddings: context,
    },
  );
  assert.equal(factors[2], config.rope_scaling.factor);
  assert.equal(calls.opened, 2);
  await model.close();
  assert.equal(calls.closed, 2);
});

test('scaling by a factor, and by YaRN, under the names of config.json', async () => {
  const linear = await open(
    llamaFile([
      ['llama.rope.scaling.type', STRING, 'linear'],
      ['llama.rope.scaling.factor', F32, 4],
    ]),
  );
  assert.deepEqual(linear.model.config.rope_scaling, { rope_type: 'linear', factor: 4 });
  const old = await open(llamaFile([['llama.rope.scale_linear', F32, 2]]));
  assert.deepEqual(old.model.config.rope_scaling, { rope_type: 'linear', factor: 2 });
  const yarn = await open(
    llamaFile([
      ['llama.rope.scaling.type', STRING, 'yarn'],
      ['llama.rope.scaling.factor', F32, 4],
      ['llama.rope.scaling.original_context_length', U32, 16],
    ]),
  );
  const want = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 16 };
  assert.deepEqual(yarn.model.config.rope_scaling, want);
});

test('numbers that every layer has may be lists of one value; flags say which layers have a window', async () => {
  const heads = await open(llamaFile([['llama.attention.head_count', ARRAY, { of: U32, values: [4, 4] }]]));
  assert.equal(heads.model.config.num_attention_heads, 4);
  const { config, ...rest } = CASES.gemma3;
  const about = { ...rest, config: { ...config, sliding_window_pattern: null } };
  const bytes = toGguf(about, weightsOf(about), {
    vocabulary: [['gemma3.attention.sliding_window_pattern', ARRAY, { of: BOOL, values: [true, true, false] }]],
  });
  const { model } = await open(bytes);
  assert.deepEqual(model.config.layer_types, ['sliding_attention', 'sliding_attention', 'full_attention']);
});

test('one matrix for Q, K and V becomes three', async () => {
  const whole = { name: 'blk.0.attn_qkv.weight', shape: [192, 64], type: TYPE.F16 };
  const tensors = withTensor('blk.0.attn_q.weight', whole).filter(({ name }) => !/attn_[kv]\./.test(name));
  const keys = [...phiKeys()];
  const { model } = await open(llamaFile(keys, { tensors }));
  const found = model.tensors.filter(({ name }) => name.includes('self_attn') && !name.includes('dense'));
  assert.deepEqual(
    found.map(({ name, shape, begin, end }) => [name, shape, end - begin]),
    ['q', 'k', 'v'].map((part) => [`model.layers.0.self_attn.${part}_proj.weight`, [64, 64], 64 * 64 * 2]),
  );
});

/** The small Llama's numbers under the names of Phi. @returns {[string, number, number | string][]} */
function phiKeys() {
  return [
    ['general.architecture', STRING, 'phi2'],
    ...['block_count', 'context_length', 'embedding_length', 'feed_forward_length', 'attention.head_count'].map(
      (key, i) => /** @type {[string, number, number]} */ ([`phi2.${key}`, U32, [1, 64, 64, 96, 4][i]]),
    ),
    ['phi2.rope.dimension_count', U32, 4],
    ['phi2.attention.layer_norm_epsilon', F32, 0.5],
  ];
}

test('names, licence and special ids are told', async () => {
  const { model } = await open(llamaFile());
  assert.equal(model.name, 'Tiny');
  assert.equal(model.config.license, 'mit');
  assert.equal(model.config.bos_token_id, 0);
  assert.equal(model.config.pad_token_id, undefined);
});
