/**
 * Gemma 2: Gemma with sandwich norms, soft-capped scores and logits, and a sliding window in every second layer.
 * Source: arXiv 2408.00118; names as transformers writes them.
 */
import { perLayer } from './parts/engine_config.js';
import { gemma } from './gemma.js';
import { layerKinds, slidingWindows } from './parts/layer_kinds.js';

/** @typedef {import('./parts/config_reader.js').ConfigReader} ConfigReader */

/** null switches a cap off. @param {ConfigReader} c @param {string} key @param {number} missing */
const softcap = (c, key, missing) => (c.raw(key) === null ? 0 : c.number(key, { above: 0, max: 1e6, missing }));

/** @type {import('./index.js').Family} */
export const gemma2 = {
  ...gemma,
  family: 'gemma2',
  types: ['gemma2'],
  missing: { kv_heads: () => 4, head_dim: () => 256 },
  config: (c, sizes) => {
    const kinds = layerKinds(c, sizes.layers, (layer) => layer % 2 === 0);
    const scale = c.number('query_pre_attn_scalar', { above: 1e-6, max: 1e6, missing: 256 }) ** -0.5;
    return {
      ...gemma.config(c, sizes),
      norm_place: 'sandwich',
      activation: c.activation('hidden_activation', 'gelu_pytorch_tanh'),
      scales: perLayer(sizes.layers, () => scale),
      windows: slidingWindows(c, kinds, 4096),
      softcap: softcap(c, 'attn_logit_softcapping', 50),
      logit_softcap: softcap(c, 'final_logit_softcapping', 30),
    };
  },
  layerNames: {
    ...gemma.layerNames,
    attn_out_norm: 'post_attention_layernorm',
    ffn_norm: 'pre_feedforward_layernorm',
    ffn_out_norm: 'post_feedforward_layernorm',
  },
};
