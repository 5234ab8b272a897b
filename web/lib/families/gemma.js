/**
 * Gemma: Llama whose token rows are multiplied by the root of the width, whose norms multiply by 1 + w, and which
 * computes the tanh form of GELU even where config.json says "gelu".
 * Source: arXiv 2403.08295; names as transformers writes them.
 */
import { llama } from './llama.js';

/** @type {import('./index.js').Family} */
export const gemma = {
  ...llama,
  family: 'gemma',
  types: ['gemma'],
  missing: { kv_heads: () => 16, head_dim: () => 256 },
  only: { use_bidirectional_attention: [false] },
  config: (c, sizes) => ({
    ...llama.config(c, sizes),
    ffn_bias: 0,
    activation: c.raw('hidden_act') === 'gelu' ? 'gelu_tanh' : c.activation('hidden_act', 'gelu_pytorch_tanh'),
    embed_scale: Math.sqrt(sizes.width),
    // A converted file may hold 1 + w and says so.
    norm_shift: c.size('qkv_norm_shift', { min: 0, max: 1, missing: 1 }),
  }),
  heads: [{ weights: ['lm_head'], biases: [], isTied: true }],
};
