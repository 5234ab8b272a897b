/**
 * The architectures of GGUF files that qkv knows, as data: how the numbers in the metadata become the keys of config.json, and
 * what transformers calls the tensors. Sources: the converter and the tables of llama.cpp (convert_hf_to_gguf.py, gguf-py).
 */

/** @typedef {Record<string, unknown>} Config */
/**
 * The numbers that all architectures share, under the names of transformers.
 * @typedef {object} Numbers
 * @property {number} layers
 * @property {number} width
 * @property {number} ffn
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} headDim
 * @property {number} context
 * @property {number} vocab
 * @property {number} ropeDims components of a head that are rotated
 * @property {number | null} window
 * @property {Config} rope rope_theta and rope_scaling
 */
/**
 * @typedef {object} Asked
 * @property {Numbers} numbers
 * @property {(key: string) => number | null} number of the architecture's metadata, null where it is not there
 * @property {(key: string) => boolean[] | null} flags one for each layer, null where there is no such list
 * @property {(name: string) => number[] | null} shape of a tensor of the file, null where it is not there
 */
/**
 * A tensor's name in transformers, {i} for the layer; or a list of names, whose tensors lie one after the other in the file's.
 * @typedef {string | string[]} Name
 */
/**
 * @typedef {object} Architecture
 * @property {(asked: Asked) => Config} config
 * @property {Record<string, Name>} names of X.weight and X.bias, without that ending; {i} is the layer
 * @property {string[]} [paired] tensors whose rows the converter has reordered for rotating neighbours
 * @property {string[]} [stacked] tensors that hold all queries, then all keys, then all values, where transformers has those of
 *   one head side by side
 * @property {boolean} [partial] rotates a part of the head
 * @property {boolean} [isEncoder] sees the tokens behind
 */

const DECODER_NAMES = {
  token_embd: 'model.embed_tokens',
  output_norm: 'model.norm',
  output: 'lm_head',
  'blk.{i}.attn_norm': 'model.layers.{i}.input_layernorm',
  'blk.{i}.attn_q': 'model.layers.{i}.self_attn.q_proj',
  'blk.{i}.attn_k': 'model.layers.{i}.self_attn.k_proj',
  'blk.{i}.attn_v': 'model.layers.{i}.self_attn.v_proj',
  'blk.{i}.attn_output': 'model.layers.{i}.self_attn.o_proj',
  'blk.{i}.ffn_norm': 'model.layers.{i}.post_attention_layernorm',
  'blk.{i}.ffn_gate': 'model.layers.{i}.mlp.gate_proj',
  'blk.{i}.ffn_up': 'model.layers.{i}.mlp.up_proj',
  'blk.{i}.ffn_down': 'model.layers.{i}.mlp.down_proj',
};
const HEAD_NORMS = {
  'blk.{i}.attn_q_norm': 'model.layers.{i}.self_attn.q_norm',
  'blk.{i}.attn_k_norm': 'model.layers.{i}.self_attn.k_norm',
};
const GEMMA_NAMES = {
  ...DECODER_NAMES,
  'blk.{i}.post_attention_norm': 'model.layers.{i}.post_attention_layernorm',
  'blk.{i}.ffn_norm': 'model.layers.{i}.pre_feedforward_layernorm',
  'blk.{i}.post_ffw_norm': 'model.layers.{i}.post_feedforward_layernorm',
};

/** Gemma's largest models scale the scores as if the heads shared the width among them. */
const GEMMA2_27B = { layers: 46, width: 4608 };
const GEMMA3_27B = { layers: 62, width: 5376 };

/** The share of a head that is rotated, such that the whole part of the product is exactly the number of components.
 * @param {Numbers} numbers @returns {number} */
function rotated({ ropeDims, headDim }) {
  const share = ropeDims / headDim;
  return Math.trunc(headDim * share) === ropeDims ? share : (ropeDims + 0.5) / headDim;
}

/** What the Llama-like have in common. @param {Asked} asked @returns {Config} */
function decoder({ numbers, number, shape }) {
  const { layers, width, ffn, heads, kvHeads, headDim, context, vocab, rope } = numbers;
  return {
    hidden_size: width,
    intermediate_size: ffn,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    max_position_embeddings: context,
    rms_norm_eps: number('attention.layer_norm_rms_epsilon'),
    vocab_size: vocab,
    tie_word_embeddings: shape('output.weight') === null,
    ...rope,
  };
}

/** @param {Asked} asked @param {{ layers: number, width: number }} largest @returns {Config} */
function gemma(asked, { layers, width }) {
  const { numbers, number } = asked;
  const isLargest = numbers.layers === layers && numbers.width === width;
  const scale = number('attention.scale');
  return {
    ...decoder(asked),
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: scale !== null ? scale ** -2 : isLargest ? numbers.width / numbers.heads : numbers.headDim,
    attn_logit_softcapping: number('attn_logit_softcapping'),
    final_logit_softcapping: number('final_logit_softcapping'),
    sliding_window: numbers.window,
    qkv_norm_shift: 0,
  };
}

/** Every so many layers one sees all, or a list says which. @param {Asked} asked @returns {Config} */
function slidingLayers({ number, flags }) {
  const key = 'attention.sliding_window_pattern';
  const list = flags(key);
  if (list === null) return { sliding_window_pattern: number(key) ?? 6 };
  return { layer_types: list.map((isSliding) => (isSliding ? 'sliding_attention' : 'full_attention')) };
}

/** @type {Record<string, Architecture>} */
const BY_NAME = {
  llama: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: asked.numbers.window === null ? 'llama' : 'mistral',
      hidden_act: 'silu',
      attention_bias: asked.shape('blk.0.attn_q.bias') !== null,
      mlp_bias: asked.shape('blk.0.ffn_up.bias') !== null,
      sliding_window: asked.numbers.window,
    }),
    names: DECODER_NAMES,
    paired: ['blk.{i}.attn_q', 'blk.{i}.attn_k'],
  },
  qwen2: {
    config: (asked) => ({ ...decoder(asked), model_type: 'qwen2', hidden_act: 'silu', use_sliding_window: false }),
    names: DECODER_NAMES,
  },
  qwen3: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: 'qwen3',
      hidden_act: 'silu',
      attention_bias: false,
      use_sliding_window: false,
    }),
    names: { ...DECODER_NAMES, ...HEAD_NORMS },
  },
  gemma: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: 'gemma',
      hidden_activation: 'gelu_pytorch_tanh',
      qkv_norm_shift: 0,
    }),
    names: DECODER_NAMES,
  },
  gemma2: {
    config: (asked) => ({ ...gemma(asked, GEMMA2_27B), model_type: 'gemma2' }),
    names: GEMMA_NAMES,
  },
  gemma3: {
    config: (asked) => ({
      ...gemma(asked, GEMMA3_27B),
      model_type: 'gemma3_text',
      rope_local_base_freq: asked.number('rope.freq_base_swa') ?? 10_000,
      ...slidingLayers(asked),
    }),
    names: { ...GEMMA_NAMES, ...HEAD_NORMS },
  },
  phi2: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: 'phi',
      hidden_act: 'gelu_new',
      layer_norm_eps: asked.number('attention.layer_norm_epsilon'),
      partial_rotary_factor: rotated(asked.numbers),
      qk_layernorm: false,
    }),
    names: {
      token_embd: 'model.embed_tokens',
      output_norm: 'model.final_layernorm',
      output: 'lm_head',
      'blk.{i}.attn_norm': 'model.layers.{i}.input_layernorm',
      'blk.{i}.attn_qkv': ['q', 'k', 'v'].map((part) => `model.layers.{i}.self_attn.${part}_proj`),
      'blk.{i}.attn_q': 'model.layers.{i}.self_attn.q_proj',
      'blk.{i}.attn_k': 'model.layers.{i}.self_attn.k_proj',
      'blk.{i}.attn_v': 'model.layers.{i}.self_attn.v_proj',
      'blk.{i}.attn_output': 'model.layers.{i}.self_attn.dense',
      'blk.{i}.ffn_up': 'model.layers.{i}.mlp.fc1',
      'blk.{i}.ffn_down': 'model.layers.{i}.mlp.fc2',
    },
    partial: true,
  },
  starcoder2: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: 'starcoder2',
      hidden_act: 'gelu_pytorch_tanh',
      norm_epsilon: asked.number('attention.layer_norm_epsilon'),
      use_bias: asked.shape('blk.0.attn_q.bias') !== null || asked.shape('blk.0.attn_qkv.bias') !== null,
      sliding_window: asked.numbers.window,
    }),
    names: {
      ...DECODER_NAMES,
      'blk.{i}.ffn_up': 'model.layers.{i}.mlp.c_fc',
      'blk.{i}.ffn_down': 'model.layers.{i}.mlp.c_proj',
    },
  },
  gptneox: {
    config: (asked) => ({
      ...decoder(asked),
      model_type: 'gpt_neox',
      hidden_act: 'gelu',
      layer_norm_eps: asked.number('attention.layer_norm_epsilon'),
      rotary_pct: rotated(asked.numbers),
      rotary_emb_base: asked.numbers.rope.rope_theta,
      use_parallel_residual: asked.number('use_parallel_residual') !== 0,
    }),
    names: {
      token_embd: 'gpt_neox.embed_in',
      output_norm: 'gpt_neox.final_layer_norm',
      output: 'embed_out',
      'blk.{i}.attn_norm': 'gpt_neox.layers.{i}.input_layernorm',
      'blk.{i}.attn_qkv': 'gpt_neox.layers.{i}.attention.query_key_value',
      'blk.{i}.attn_output': 'gpt_neox.layers.{i}.attention.dense',
      'blk.{i}.ffn_norm': 'gpt_neox.layers.{i}.post_attention_layernorm',
      'blk.{i}.ffn_up': 'gpt_neox.layers.{i}.mlp.dense_h_to_4h',
      'blk.{i}.ffn_down': 'gpt_neox.layers.{i}.mlp.dense_4h_to_h',
    },
    stacked: ['blk.{i}.attn_qkv'],
    partial: true,
  },
  gpt2: {
    config: ({ numbers: { layers, width, ffn, heads, vocab }, number, shape }) => ({
      model_type: 'gpt2',
      n_embd: width,
      n_inner: ffn,
      n_layer: layers,
      n_head: heads,
      n_positions: shape('position_embd.weight')?.[0] ?? null,
      activation_function: 'gelu_new',
      layer_norm_epsilon: number('attention.layer_norm_epsilon'),
      vocab_size: vocab,
      tie_word_embeddings: shape('output.weight') === null,
      qkv_conv1d: false,
    }),
    names: {
      token_embd: 'transformer.wte',
      position_embd: 'transformer.wpe',
      output_norm: 'transformer.ln_f',
      output: 'lm_head',
      'blk.{i}.attn_norm': 'transformer.h.{i}.ln_1',
      'blk.{i}.attn_qkv': 'transformer.h.{i}.attn.c_attn',
      'blk.{i}.attn_output': 'transformer.h.{i}.attn.c_proj',
      'blk.{i}.ffn_norm': 'transformer.h.{i}.ln_2',
      'blk.{i}.ffn_up': 'transformer.h.{i}.mlp.c_fc',
      'blk.{i}.ffn_down': 'transformer.h.{i}.mlp.c_proj',
    },
  },
  bert: {
    isEncoder: true,
    config: ({ numbers: { layers, width, ffn, heads, vocab }, number, shape }) => ({
      model_type: 'bert',
      hidden_size: width,
      intermediate_size: ffn,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      max_position_embeddings: shape('position_embd.weight')?.[0] ?? null,
      type_vocab_size: shape('token_types.weight')?.[0] ?? 0,
      hidden_act: 'gelu',
      layer_norm_eps: number('attention.layer_norm_epsilon'),
      vocab_size: vocab,
    }),
    names: {
      token_embd: 'bert.embeddings.word_embeddings',
      position_embd: 'bert.embeddings.position_embeddings',
      token_types: 'bert.embeddings.token_type_embeddings',
      token_embd_norm: 'bert.embeddings.LayerNorm',
      'blk.{i}.attn_qkv': ['query', 'key', 'value'].map((part) => `bert.encoder.layer.{i}.attention.self.${part}`),
      'blk.{i}.attn_q': 'bert.encoder.layer.{i}.attention.self.query',
      'blk.{i}.attn_k': 'bert.encoder.layer.{i}.attention.self.key',
      'blk.{i}.attn_v': 'bert.encoder.layer.{i}.attention.self.value',
      'blk.{i}.attn_output': 'bert.encoder.layer.{i}.attention.output.dense',
      'blk.{i}.attn_output_norm': 'bert.encoder.layer.{i}.attention.output.LayerNorm',
      'blk.{i}.ffn_up': 'bert.encoder.layer.{i}.intermediate.dense',
      'blk.{i}.ffn_down': 'bert.encoder.layer.{i}.output.dense',
      'blk.{i}.layer_output_norm': 'bert.encoder.layer.{i}.output.LayerNorm',
    },
  },
};

/** @type {ReadonlyMap<string, Architecture>} */
export const ARCHITECTURES = new Map(Object.entries(BY_NAME));
