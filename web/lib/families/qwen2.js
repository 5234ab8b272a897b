/**
 * Qwen2 and Qwen2.5: Llama with biases on query, key and value; upper layers may have a sliding window.
 * Source: arXiv 2407.10671; names as transformers writes them.
 */
import { layerKinds, slidingWindows } from './parts/layer_kinds.js';
import { llama } from './llama.js';

/** @type {import('./index.js').Family} */
export const qwen2 = {
  ...llama,
  family: 'qwen2',
  types: ['qwen2'],
  missing: { kv_heads: () => 32 },
  config: (c, sizes) => {
    const first = c.size('max_window_layers', { min: 0, max: 16_777_216, missing: 28 });
    const isSliding = c.flag('use_sliding_window', false) && c.raw('sliding_window') !== null;
    const kinds = layerKinds(c, sizes.layers, (layer) => isSliding && layer >= first);
    const windows = slidingWindows(c, kinds, 4096);
    return { ...llama.config(c, sizes), qkv_bias: 1, o_bias: 0, ffn_bias: 0, windows };
  },
};
