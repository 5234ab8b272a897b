/**
 * GPT-2: a decoder with learned positions and norms in front. Its matrices are stored as [in, out], with query, key and
 * value side by side. Source: "Language Models are Unsupervised Multitask Learners", 2019; names as transformers writes
 * them; files on the hub leave the prefix out and carry mask buffers, which are ignored.
 */
import { PRE_NORM, perLayer } from './parts/engine_config.js';

/** @type {import('./index.js').Family} */
export const gpt2 = {
  family: 'gpt2',
  types: ['gpt2'],
  causal: true,
  keys: {
    layers: 'n_layer',
    heads: 'n_head',
    width: 'n_embd',
    ffn: 'n_inner',
    vocab: 'vocab_size',
    positions: 'n_positions',
  },
  missing: { ffn: ({ width }) => 4 * width },
  only: { add_cross_attention: [false] },
  config: (c, { positions, layers, head_dim }) => {
    const scale = c.flag('scale_attn_weights', true) ? head_dim ** -0.5 : 1;
    const isDivided = c.flag('scale_attn_by_inverse_layer_idx', false);
    return {
      ...PRE_NORM,
      positions,
      norm_eps: c.number('layer_norm_epsilon', { above: 0, max: 1, missing: 1e-5 }),
      activation: c.activation('activation_function', 'gelu_new'),
      scales: perLayer(layers, (layer) => (isDivided ? scale / (layer + 1) : scale)),
    };
  },

  prefixes: ['', 'transformer.'],
  names: { tokens: 'wte', positions: 'wpe', final_norm: 'ln_f' },
  layer: 'h.{i}.',
  layerNames: {
    attn_norm: 'ln_1',
    'q|k|v': 'attn.c_attn',
    o: 'attn.c_proj',
    ffn_norm: 'ln_2',
    up: 'mlp.c_fc',
    down: 'mlp.c_proj',
  },
  // A converted file may hold [out, in] and says so.
  transposed: (c) => (c.flag('qkv_conv1d', true) ? ['q|k|v', 'o', 'up', 'down'] : []),
  heads: [{ weights: ['lm_head'], biases: [], isTied: true }],
};
