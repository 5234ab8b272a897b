/**
 * Gemma 3, its language model: Gemma 2 with a norm over each head of query and key in place of the soft caps, and a rotary
 * base of its own for the layers with a window, five of six. EmbeddingGemma is one whose tokens see later ones too, with
 * half of the window on each side.
 * Source: arXiv 2503.19786; names as transformers writes them.
 */
import { gemma2 } from './gemma2.js';
import { layerKinds, slidingWindows, windowsOf } from './parts/layer_kinds.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const gemma3 = {
  ...gemma2,
  family: 'gemma3',
  types: ['gemma3_text'],
  only: {},
  bidirectional: 'use_bidirectional_attention',
  config: (c, sizes) => {
    const every = c.size('sliding_window_pattern', { max: 1_000, missing: 6 });
    const kinds = layerKinds(c, sizes.layers, (layer) => (layer + 1) % every !== 0);
    const near = { layerType: 'sliding_attention', thetaKey: 'rope_local_base_freq', theta: 10_000, isScaled: false };
    const key = 'final_logit_softcapping';
    return {
      ...gemma2.config(c, sizes),
      ...ropeFields(c, [ropeSet(c, sizes, { layerType: 'full_attention', theta: 1e6 }), ropeSet(c, sizes, near)]),
      rope_of_layer: Int32Array.from(kinds, (kind) => Number(kind === 'sliding_attention')),
      windows: c.flag('use_bidirectional_attention', false)
        ? windowsOf(kinds, Math.floor(c.size('sliding_window', { max: 16_777_216, missing: 4096 }) / 2))
        : slidingWindows(c, kinds, 4096),
      qk_norm: 1,
      // Configs carry attn_logit_softcapping on from Gemma 2; transformers does not read it here.
      softcap: 0,
      logit_softcap: (c.raw(key) ?? null) === null ? 0 : c.number(key, { above: 0, max: 1e6 }),
    };
  },
  layerNames: { ...gemma2.layerNames, q_norm: 'self_attn.q_norm', k_norm: 'self_attn.k_norm' },
};
