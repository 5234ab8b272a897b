/**
 * Mistral: Llama with a sliding window in every layer; null means none, as in later releases.
 * Source: arXiv 2310.06825; names as transformers writes them.
 */
import { slidingWindows } from './parts/layer_kinds.js';
import { llama } from './llama.js';

/** @type {import('./index.js').Family} */
export const mistral = {
  ...llama,
  family: 'mistral',
  types: ['mistral'],
  missing: { kv_heads: () => 8 },
  config: (c, sizes) => {
    const kind = c.raw('sliding_window') === null ? 'full_attention' : 'sliding_attention';
    const kinds = Array(sizes.layers).fill(kind);
    const windows = slidingWindows(c, kinds, 4096);
    return { ...llama.config(c, sizes), qkv_bias: 0, o_bias: 0, ffn_bias: 0, windows };
  },
};
