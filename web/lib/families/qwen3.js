/**
 * Qwen3: Qwen2 with an RMSNorm over each head of query and key in place of the biases.
 * Source: arXiv 2505.09388; names as transformers writes them.
 */
import { qwen2 } from './qwen2.js';

/** @type {import('./index.js').Family} */
export const qwen3 = {
  ...qwen2,
  family: 'qwen3',
  types: ['qwen3'],
  missing: { kv_heads: () => 32, head_dim: () => 128 },
  config: (c, sizes) => {
    const inAttention = Number(c.flag('attention_bias', false));
    return { ...qwen2.config(c, sizes), qkv_bias: inAttention, o_bias: inAttention, qk_norm: 1 };
  },
  layerNames: { ...qwen2.layerNames, q_norm: 'self_attn.q_norm', k_norm: 'self_attn.k_norm' },
};
