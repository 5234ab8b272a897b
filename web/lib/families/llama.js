/**
 * Llama and the many decoders that are the same (SmolLM, TinyLlama, Vicuna ...): rotary positions, RMSNorm in front, a
 * gated feed-forward layer, several query heads for one key and value head.
 * Source: arXiv 2302.13971 and 2307.09288; names as transformers writes them.
 */
import { bert } from './bert.js';
import { GATED_RMS } from './parts/engine_config.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const llama = {
  family: 'llama',
  types: ['llama'],
  causal: true,
  keys: { ...bert.keys, kv_heads: 'num_key_value_heads', head_dim: 'head_dim' },
  config: (c, sizes) => {
    const inAttention = Number(c.flag('attention_bias', false));
    return {
      ...GATED_RMS,
      ...ropeFields(c, [ropeSet(c, sizes)]),
      norm_eps: c.number('rms_norm_eps', { above: 0, max: 1, missing: 1e-6 }),
      activation: c.activation('hidden_act', 'silu'),
      qkv_bias: inAttention,
      o_bias: inAttention,
      ffn_bias: Number(c.flag('mlp_bias', false)),
    };
  },

  prefixes: ['', 'model.'],
  names: { tokens: 'embed_tokens', final_norm: 'norm' },
  layer: 'layers.{i}.',
  layerNames: {
    attn_norm: 'input_layernorm',
    q: 'self_attn.q_proj',
    k: 'self_attn.k_proj',
    v: 'self_attn.v_proj',
    o: 'self_attn.o_proj',
    ffn_norm: 'post_attention_layernorm',
    gate: 'mlp.gate_proj',
    up: 'mlp.up_proj',
    down: 'mlp.down_proj',
  },
  heads: [{ weights: ['lm_head'], biases: [], isTied: false }],
};
