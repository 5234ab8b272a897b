import assert from 'node:assert/strict';
import test from 'node:test';
import { resolveModel } from '../../../web/lib/families/index.js';
import { expectError } from '../expect_error.js';
import { CONFIGS, FAMILY_OF } from './family_configs.js';

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
/** @param {Record<string, unknown>} base @param {Record<string, unknown>} [changes] undefined takes the key out */
function resolve(base, changes = {}) {
  const config = Object.entries({ ...base, ...changes }).filter(([, value]) => value !== undefined);
  return resolveModel(Object.fromEntries(config), 'm/config.json');
}
/** @param {string} type @param {Record<string, unknown>} [changes] */
const engineOf = (type, changes) => resolve(CONFIGS[type], changes).engine;

test('the config of MiniLM becomes the numbers of the engine', () => {
  const { engine, family, kinds, quantization, label } = resolve(MINILM);
  const expected = {
    ...{ layers: 6, heads: 12, kv_heads: 12, head_dim: 32, width: 384, ffn: 1536, vocab: 30522, stored_layers: 6 },
    ...{ context: 512, causal: 0, embed_width: 384, segments: 2, positions: 512, position_first: 0, position_pad: -1 },
    ...{
      embed_norm: 1,
      norm_kind: 'layer',
      norm_place: 'post',
      norm_bias: 1,
      norm_eps: 1e-12,
      final_norm: 0,
      parallel: 'serial',
    },
    ...{ qkv_bias: 1, o_bias: 1, ffn_bias: 1, qk_norm: 0, activation: 'gelu', gated: 0, softcap: 0 },
    ...{ scales: null, windows: null, rope_dim: 0, rope_frequencies: null, buckets: 0, head_rows: 0 },
  };
  assert.deepEqual({ ...engine, ...expected }, engine);
  assert.deepEqual([family, kinds, quantization, label], ['bert', ['encoder'], null, 'm/config.json']);
});

test('every model type is known by its family, and says whether it is a decoder', () => {
  for (const [type, config] of Object.entries(CONFIGS)) {
    const { family, kinds, engine } = resolve(config);
    assert.equal(family, FAMILY_OF[type] ?? type);
    assert.equal(kinds[0], engine.causal === 1 ? 'decoder' : 'encoder', type);
  }
});

test('positions of RoBERTa and MPNet begin behind the padding id, so that texts are shorter by it', () => {
  for (const type of ['roberta', 'xlm-roberta', 'camembert', 'mpnet']) {
    const { context, positions, position_first: first, position_pad: pad } = engineOf(type);
    assert.deepEqual([context, positions, first, pad], [512, 514, 2, 1], type);
  }
  assert.equal(engineOf('roberta', { pad_token_id: 3 }).context, 510);
  const { buckets, bucket_reach: reach, bucket_of: bucketOf } = engineOf('mpnet');
  assert.deepEqual([buckets, reach, bucketOf?.length], [32, 128, 257]);
});

test('sizes that published configs leave out are those of transformers', () => {
  assert.equal(engineOf('llama').kv_heads, 32);
  assert.equal(engineOf('llama', { num_key_value_heads: null }).kv_heads, 32);
  assert.equal(engineOf('mistral', { num_key_value_heads: undefined }).kv_heads, 8);
  assert.equal(engineOf('gemma', { head_dim: undefined }).head_dim, 256);
  assert.equal(engineOf('qwen3', { head_dim: undefined }).head_dim, 128);
  assert.equal(engineOf('gpt2', { n_inner: null }).ffn, 4 * 768);
  assert.equal(engineOf('gpt2', { n_inner: 100 }).ffn, 100);
});

test('windows follow layer_types, or what older configs say instead', () => {
  const layers = { num_hidden_layers: 4 };
  const windows = (/** @type {string} */ type, /** @type {Record<string, unknown>} */ changes) =>
    Array.from(engineOf(type, { ...layers, ...changes }).windows ?? []);
  assert.deepEqual(windows('mistral', { sliding_window: 4096 }), [4095, 4095, 4095, 4095]);
  assert.deepEqual(windows('mistral', { sliding_window: undefined }), [4095, 4095, 4095, 4095]);
  assert.deepEqual(windows('mistral', { sliding_window: null }), []);
  assert.deepEqual(windows('qwen2', { sliding_window: 9, max_window_layers: 2 }), []);
  assert.deepEqual(
    windows('qwen2', { sliding_window: 9, max_window_layers: 2, use_sliding_window: true }),
    [-1, -1, 8, 8],
  );
  assert.deepEqual(windows('gemma2', { sliding_window: 9 }), [8, -1, 8, -1]);
  assert.deepEqual(windows('gemma3_text', { sliding_window: 9, sliding_window_pattern: 3 }), [8, 8, -1, 8]);
  assert.deepEqual(windows('modernbert', { local_attention: 9, global_attn_every_n_layers: 2 }), [-1, 4, -1, 4]);
  const layer_types = ['full_attention', 'full_attention', 'sliding_attention', 'full_attention'];
  for (const type of ['qwen2', 'qwen3', 'gemma2', 'gemma3_text']) {
    assert.deepEqual(windows(type, { layer_types, sliding_window: 5 }), [-1, -1, 4, -1], type);
  }
});

test("rotary bases and shares that configs leave out are the family's own; only full layers of Gemma 3 are stretched", () => {
  /** The base of each set, from its second frequency. @param {string} type @param {Record<string, unknown>} [changes] */
  const bases = (type, changes) => {
    const { rope_frequencies: all, rope_dim: dim, rope_sets: sets } = engineOf(type, changes);
    const half = dim / 2;
    return Array.from({ length: sets }, (_, set) => Math.round((all?.[set * half + 1] ?? 0) ** -half));
  };
  const near = (/** @type {number[]} */ got, /** @type {number[]} */ want) => {
    const isNear = got.length === want.length && got.every((base, i) => Math.abs(base / want[i] - 1) < 1e-3);
    assert.ok(isNear, `${got}, want ${want}`);
  };
  for (const type of ['llama', 'mistral', 'qwen2', 'qwen3', 'phi', 'gpt_neox', 'gemma', 'gemma2'])
    near(bases(type), [1e4]);
  near(bases('gemma3_text'), [1e6, 1e4]);
  near(bases('modernbert'), [16e4, 1e4]);
  near(bases('gpt_neox', { rotary_emb_base: 500 }), [500]);
  const shares = ['phi', 'gpt_neox', 'llama'].map((type) => engineOf(type).rope_dim / engineOf(type).head_dim);
  assert.deepEqual(shares, [0.5, 0.25, 1]);
  assert.equal(engineOf('gpt_neox', { rotary_pct: 0.5 }).rope_dim, 32);
  const { rope_frequencies: scaled, rope_dim: dim } = engineOf('gemma3_text', {
    rope_scaling: { type: 'linear', factor: 8 },
  });
  assert.deepEqual([scaled?.[0], scaled?.[dim / 2]], [1 / 8, 1]);
});

test('biases are where the family has them, whatever other families would read', () => {
  const biases = (/** @type {string} */ type, /** @type {Record<string, unknown>} */ changes = {}) => {
    const { qkv_bias: qkv, o_bias: o, ffn_bias: ffn } = engineOf(type, changes);
    return [qkv, o, ffn].join('');
  };
  const asked = { attention_bias: true, mlp_bias: true };
  const found = [
    'llama',
    'mistral',
    'qwen2',
    'qwen3',
    'phi',
    'gemma',
    'gemma2',
    'gemma3_text',
    'gpt_neox',
    'modernbert',
  ].map((type) => `${type} ${biases(type)} ${biases(type, asked)}`);
  assert.deepEqual(found, [
    ...['llama 000 111', 'mistral 000 000', 'qwen2 100 100', 'qwen3 000 110', 'phi 111 111', 'gemma 000 110'],
    ...['gemma2 000 110', 'gemma3_text 000 110', 'gpt_neox 111 111', 'modernbert 000 111'],
  ]);
  assert.equal(biases('gpt_neox', { attention_bias: false }), '001');
});

test('Gemma multiplies its token rows and shifts its norms; GGUF files have shifted them already', () => {
  const { embed_scale: scale, norm_shift: shift, activation } = engineOf('gemma', { hidden_act: 'gelu' });
  assert.deepEqual([scale, shift, activation], [Math.sqrt(2048), 1, 'gelu_tanh']);
  assert.equal(engineOf('gemma2', { qkv_norm_shift: 0 }).norm_shift, 0);
  const {
    scales,
    softcap,
    logit_softcap: cap,
  } = engineOf('gemma2', { query_pre_attn_scalar: 64, num_hidden_layers: 1 });
  assert.deepEqual([[...(scales ?? [])], softcap, cap], [[0.125], 50, 30]);
  assert.equal(engineOf('gemma2', { attn_logit_softcapping: null }).softcap, 0);
  const caps = { attn_logit_softcapping: 50, final_logit_softcapping: 30 };
  for (const [changes, want] of /** @type {const} */ ([
    [{}, 0],
    [caps, 30],
  ])) {
    const third = engineOf('gemma3_text', changes);
    assert.deepEqual([third.softcap, third.logit_softcap], [0, want]);
  }
});

test('GPT-2 may divide the scores of a layer by its number', () => {
  const scales = (/** @type {Record<string, unknown>} */ changes) => [...(engineOf('gpt2', changes).scales ?? [])];
  assert.deepEqual(scales({ n_layer: 3 }), [0.125, 0.125, 0.125]);
  assert.deepEqual(scales({ n_layer: 2, scale_attn_by_inverse_layer_idx: true }), [0.125, 0.0625]);
  assert.deepEqual(scales({ n_layer: 2, scale_attn_weights: false }), [1, 1]);
});

test('layers that share weights have few stored ones', () => {
  assert.equal(engineOf('albert').stored_layers, 1);
  assert.equal(engineOf('albert', { num_hidden_groups: 3 }).stored_layers, 3);
  assert.deepEqual([engineOf('albert').embed_width, engineOf('albert').embed_project], [128, 1]);
  const { embed_project: narrow } = engineOf('electra');
  const { embed_project: same } = engineOf('electra', { embedding_size: 256 });
  assert.deepEqual([narrow, same], [1, 0]);
});

const CAUSAL = ['lm_head.weight'];
const MLM = ['cls.predictions.transform.dense.weight', 'cls.predictions.transform.dense.bias', 'cls.predictions.bias'];

test('a head is what the files hold: its own matrix, the token table, or nothing', () => {
  /** @param {string} type @param {string[]} names @param {Record<string, unknown>} [changes] */
  const head = (type, names, changes) => {
    const { head_rows: rows, head_tied: tied } = resolve(CONFIGS[type], changes).layout(names).engine;
    return [rows, tied];
  };
  assert.deepEqual(head('bert', []), [0, 0]);
  assert.deepEqual(head('bert', MLM), [30522, 1]);
  assert.deepEqual(head('bert', [...MLM, 'cls.predictions.decoder.weight']), [30522, 0]);
  assert.deepEqual(head('bert', MLM, { tie_word_embeddings: false }), [0, 0]);
  assert.deepEqual(head('llama', []), [0, 0]);
  assert.deepEqual(head('llama', [], { tie_word_embeddings: true }), [32000, 1]);
  assert.deepEqual(head('llama', CAUSAL, { tie_word_embeddings: true }), [32000, 0]);
  assert.deepEqual(head('gpt2', []), [50257, 1]);
  assert.deepEqual(head('gemma2', []), [256000, 1]);
  assert.deepEqual(head('gpt_neox', ['embed_out.weight']), [50432, 0]);
  assert.deepEqual(head('electra', ['discriminator_predictions.dense.weight']), [0, 0]);
  const discriminator = ['discriminator_predictions.dense', 'discriminator_predictions.dense_prediction'];
  assert.deepEqual(
    head(
      'electra',
      discriminator.map((name) => `${name}.weight`),
    ),
    [1, 0],
  );
  assert.deepEqual(head('electra', ['generator_predictions.dense.weight']), [30522, 1]);
});

test('the parts of a head are those whose tensors are there', () => {
  const { engine } = resolve(CONFIGS.bert, { hidden_act: 'relu' }).layout(MLM);
  const parts = [engine.head_dense, engine.head_dense_bias, engine.head_norm, engine.head_bias, engine.head_activation];
  assert.deepEqual(parts, [1, 1, 1, 1, 'relu']);
  const modern = resolve(CONFIGS.modernbert).layout(['head.dense.weight', 'decoder.bias']).engine;
  assert.deepEqual([modern.head_dense, modern.head_dense_bias, modern.head_bias], [1, 0, 1]);
  const electra = resolve(CONFIGS.electra).layout(['generator_predictions.dense.weight']).engine;
  assert.deepEqual([electra.head_width, electra.width], [128, 256]);
});

/** @type {[string, Record<string, unknown>, string, RegExp][]} */
const REFUSED = [
  ['bert', { hidden_size: 0 }, 'config', /config\.json: hidden_size: got 0, want a whole number from 1/],
  ['bert', { hidden_size: -384 }, 'config', /hidden_size: got -384/],
  ['bert', { hidden_size: 1e9 }, 'config', /hidden_size: got 1000000000/],
  ['bert', { hidden_size: 768.5 }, 'config', /hidden_size: got 768\.5/],
  ['bert', { hidden_size: '768' }, 'config', /hidden_size: got "768"/],
  ['bert', { hidden_size: null }, 'config', /hidden_size: got null/],
  ['bert', { hidden_size: undefined }, 'config', /hidden_size: got "nothing"/],
  ['bert', { hidden_size: [384] }, 'config', /hidden_size: got \[384\]/],
  ['bert', { num_attention_heads: 7 }, 'config', /hidden_size: got 384, want a multiple of num_attention_heads.* 7/],
  ['bert', { num_attention_heads: 0 }, 'config', /num_attention_heads: got 0/],
  ['bert', { num_attention_heads: 768 }, 'config', /hidden_size: got 384, want a multiple of num_attention_heads/],
  ['bert', { num_hidden_layers: 0 }, 'config', /num_hidden_layers: got 0/],
  ['bert', { num_hidden_layers: 100_000 }, 'config', /num_hidden_layers: got 100000/],
  ['bert', { max_position_embeddings: 0 }, 'config', /max_position_embeddings/],
  ['bert', { vocab_size: 0 }, 'config', /vocab_size: got 0/],
  ['bert', { vocab_size: 2 ** 31 }, 'config', /vocab_size/],
  ['bert', { intermediate_size: undefined }, 'config', /intermediate_size/],
  ['bert', { type_vocab_size: -1 }, 'config', /type_vocab_size: got -1, want a whole number from 0/],
  ['bert', { hidden_act: 'tanh' }, 'unsupported', /hidden_act: got "tanh", want gelu, .*silu/],
  ['bert', { hidden_act: { type: 'gelu' } }, 'unsupported', /hidden_act/],
  ['bert', { layer_norm_eps: 0 }, 'config', /layer_norm_eps: got 0/],
  ['bert', { layer_norm_eps: -1e-12 }, 'config', /layer_norm_eps/],
  ['bert', { layer_norm_eps: 1e10 }, 'config', /layer_norm_eps: got 10000000000/],
  ['bert', { layer_norm_eps: 'x' }, 'config', /layer_norm_eps/],
  ['bert', { model_type: 'gpt9' }, 'unsupported', /model_type: got "gpt9", want bert, roberta/],
  ['bert', { model_type: undefined }, 'config', /model_type: got "nothing"/],
  ['bert', { model_type: ['bert'] }, 'config', /model_type/],
  ['bert', { model_type: '__proto__' }, 'unsupported', /model_type/],
  ['bert', { position_embedding_type: 'relative_key' }, 'unsupported', /position_embedding_type: got "relative_key"/],
  ['bert', { is_decoder: true }, 'unsupported', /is_decoder: got true, want false/],
  [
    'bert',
    { quantization_config: { quant_method: 'qkv', bits: 4 } },
    'unsupported',
    /quantization_config: got "4 bits"/,
  ],
  [
    'bert',
    { quantization_config: { quant_method: 'gptq', bits: 10 } },
    'unsupported',
    /quantization_config: got "gptq"/,
  ],
  ['bert', { quantization_config: 'q10' }, 'unsupported', /quantization_config: got "q10"/],
  [
    'llama',
    { num_key_value_heads: 5 },
    'config',
    /num_attention_heads: got 32, want a multiple of num_key_value_heads.* 5/,
  ],
  ['llama', { num_key_value_heads: 64 }, 'config', /num_attention_heads: got 32/],
  ['llama', { head_dim: 7 }, 'config', /config\.json: head_dim: got 7, want an even number of components a head/],
  ['gpt_neox', { num_attention_heads: 256, hidden_size: 768, rotary_pct: 1 }, 'config', /: hidden_size: .*they are 3/],
  ['phi', { partial_rotary_factor: 0.001 }, 'config', /partial_rotary_factor: got 0.001, want a share that leaves/],
  ['llama', { partial_rotary_factor: 0.5 }, 'unsupported', /partial_rotary_factor: got 0.5, want 1/],
  ['llama', { rope_scaling: { type: 'su' } }, 'unsupported', /rope_scaling: type: got "su", want default, dynamic/],
  [
    'llama',
    { rope_scaling: { rope_type: 'mrope', type: 'linear' } },
    'unsupported',
    /rope_scaling: rope_type: got "mrope"/,
  ],
  ['llama', { rope_parameters: { rope_type: 5 } }, 'unsupported', /rope_parameters: rope_type: got 5/],
  ['llama', { rope_scaling: { rope_type: 'linear' } }, 'config', /rope_scaling: factor: got "nothing"/],
  ['llama', { rope_scaling: { rope_type: 'llama3', factor: 8 } }, 'config', /low_freq_factor/],
  ['llama', { rope_theta: 0 }, 'config', /rope_theta: got 0/],
  ['llama', { rope_parameters: [] }, 'config', /rope_parameters: got \[\], want an object/],
  ['llama', { attention_bias: 1 }, 'config', /attention_bias: got 1, want true or false/],
  ['qwen2', { use_sliding_window: true, max_window_layers: 0, sliding_window: 0 }, 'config', /sliding_window: got 0/],
  ['qwen2', { layer_types: ['full_attention'] }, 'unsupported', /layer_types: .*want 24 times/],
  ['gpt2', { add_cross_attention: true }, 'unsupported', /add_cross_attention: got true/],
  ['phi', { qk_layernorm: true }, 'unsupported', /qk_layernorm: got true/],
  ['albert', { inner_group_num: 2 }, 'unsupported', /inner_group_num: got 2, want 1/],
  ['albert', { num_hidden_groups: 13 }, 'config', /num_hidden_groups: got 13, want a whole number from 1 to 12/],
  ['mpnet', { relative_attention_num_buckets: 16 }, 'unsupported', /relative_attention_num_buckets: got 16/],
  ['gemma2', { use_bidirectional_attention: true }, 'unsupported', /use_bidirectional_attention/],
  ['gemma2', { query_pre_attn_scalar: 0 }, 'config', /query_pre_attn_scalar: got 0/],
];

for (const [type, changes, code, message] of REFUSED) {
  const what = Object.entries(changes).map(([key, value]) => `${key} ${JSON.stringify(value) ?? 'missing'}`);
  test(`refused: a config.json of ${type} with ${what}`, async () => {
    await expectError(() => resolve(type === 'bert' ? MINILM : CONFIGS[type], changes), code, message);
  });
}

test('keys that do not matter are ignored, also dangerous ones; what is left out has its usual value', () => {
  const plain = resolve(MINILM).engine;
  const extra = { _attn_implementation_internal: 'evil/code', auto_map: {}, pad_token_id: null };
  assert.deepEqual(resolve(MINILM, extra).engine, plain);
  const bare = { layer_norm_eps: undefined, type_vocab_size: undefined, hidden_act: undefined };
  assert.deepEqual(resolve(MINILM, bare).engine, plain);
  const polluted = JSON.parse('{"__proto__": {"hidden_act": "tanh"}, "constructor": 1, "toString": 2}');
  assert.deepEqual(resolve(MINILM, polluted).engine, plain);
});
