/**
 * GPT-NeoX and Pythia: a decoder whose attention and feed-forward layer both read the block's input, with rotary
 * positions on part of each head. One matrix holds query, key and value, head by head.
 * Source: arXiv 2204.06745; names as transformers writes them.
 */
import { bert } from './bert.js';
import { PRE_NORM } from './parts/engine_config.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const gptNeox = {
  family: 'gpt_neox',
  types: ['gpt_neox'],
  causal: true,
  keys: bert.keys,
  config: (c, sizes) => {
    const inAttention = Number(c.flag('attention_bias', true));
    const isParallel = c.flag('use_parallel_residual', true);
    const rope = ropeSet(c, sizes, {
      thetaKey: 'rotary_emb_base',
      partialKey: 'rotary_pct',
      partial: 0.25,
    });
    return {
      ...PRE_NORM,
      ...ropeFields(c, [rope]),
      parallel: isParallel ? 'parallel' : 'serial',
      norm_eps: c.number('layer_norm_eps', { above: 0, max: 1, missing: 1e-5 }),
      activation: c.activation('hidden_act', 'gelu'),
      qkv_bias: inAttention,
      o_bias: inAttention,
    };
  },

  prefixes: ['', 'gpt_neox.'],
  names: { tokens: 'embed_in', final_norm: 'final_layer_norm' },
  layer: 'layers.{i}.',
  layerNames: {
    attn_norm: 'input_layernorm',
    'q|k|v': 'attention.query_key_value',
    o: 'attention.dense',
    ffn_norm: 'post_attention_layernorm',
    up: 'mlp.dense_h_to_4h',
    down: 'mlp.dense_4h_to_h',
  },
  headwise: ['q|k|v'],
  heads: [{ weights: ['embed_out', 'lm_head'], biases: [], isTied: false }],
};
