/**
 * Phi-1, Phi-1.5 and Phi-2: a decoder whose attention and feed-forward layer both read one norm of the block's input, with
 * rotary positions on half of each head and biases everywhere, the head's included.
 * Source: arXiv 2306.11644 and 2309.05463; names as transformers writes them.
 */
import { PRE_NORM } from './parts/engine_config.js';
import { llama } from './llama.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const phi = {
  family: 'phi',
  types: ['phi'],
  causal: true,
  keys: llama.keys,
  only: { qk_layernorm: [false] },
  config: (c, sizes) => ({
    ...PRE_NORM,
    ...ropeFields(c, [ropeSet(c, sizes, { partial: 0.5 })]),
    parallel: 'parallel_one_norm',
    norm_eps: c.number('layer_norm_eps', { above: 0, max: 1, missing: 1e-5 }),
    activation: c.activation('hidden_act', 'gelu_new'),
  }),

  prefixes: ['', 'model.'],
  names: { tokens: 'embed_tokens', final_norm: 'final_layernorm' },
  layer: 'layers.{i}.',
  layerNames: {
    attn_norm: 'input_layernorm',
    q: 'self_attn.q_proj',
    k: 'self_attn.k_proj',
    v: 'self_attn.v_proj',
    o: 'self_attn.dense',
    up: 'mlp.fc1',
    down: 'mlp.fc2',
  },
  heads: [{ weights: ['lm_head'], biases: ['lm_head.bias'], isTied: false }],
};
