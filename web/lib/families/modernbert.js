/**
 * ModernBERT: an encoder with rotary positions, norms in front, a gated feed-forward layer, and windows in two of three
 * layers, which have a rotary base of their own. The first layer's attention has no norm.
 * Source: arXiv 2412.13663; names as transformers writes them.
 */
import { bert } from './bert.js';
import { PRE_NORM } from './parts/engine_config.js';
import { layerKinds, windowsOf } from './parts/layer_kinds.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const modernbert = {
  family: 'modernbert',
  types: ['modernbert'],
  causal: false,
  keys: bert.keys,
  config: (c, sizes) => {
    const every = c.size('global_attn_every_n_layers', { max: 1_000, missing: 3 });
    const kinds = layerKinds(c, sizes.layers, (layer) => layer % every !== 0);
    const near = c.size('local_attention', { min: 2, max: 16_777_216, missing: 128 });
    const inAttention = Number(c.flag('attention_bias', false));
    return {
      ...PRE_NORM,
      ...ropeFields(c, [
        ropeSet(c, sizes, { layerType: 'full_attention', thetaKey: 'global_rope_theta', theta: 160_000 }),
        ropeSet(c, sizes, { layerType: 'sliding_attention', thetaKey: 'local_rope_theta', theta: 10_000 }),
      ]),
      rope_of_layer: Int32Array.from(kinds, (kind) => Number(kind === 'sliding_attention')),
      windows: windowsOf(kinds, Math.floor(near / 2)),
      embed_norm: 1,
      first_norm: 0,
      gated: 1,
      norm_bias: Number(c.flag('norm_bias', false)),
      norm_eps: c.number('norm_eps', { above: 0, max: 1, missing: 1e-5 }),
      activation: c.activation('hidden_activation', 'gelu'),
      qkv_bias: inAttention,
      o_bias: inAttention,
      ffn_bias: Number(c.flag('mlp_bias', false)),
    };
  },

  prefixes: ['', 'model.'],
  names: {
    tokens: 'embeddings.tok_embeddings',
    embed_norm: 'embeddings.norm',
    final_norm: 'final_norm',
  },
  layer: 'layers.{i}.',
  layerNames: {
    attn_norm: 'attn_norm',
    'q|k|v': 'attn.Wqkv',
    o: 'attn.Wo',
    ffn_norm: 'mlp_norm',
    'gate|up': 'mlp.Wi',
    down: 'mlp.Wo',
  },
  heads: [
    {
      dense: 'head.dense',
      activation: (c) => c.activation('classifier_activation', 'gelu'),
      norm: 'head.norm',
      weights: ['decoder'],
      biases: ['decoder.bias'],
      isTied: true,
    },
  ],
};
