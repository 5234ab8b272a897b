/**
 * StarCoder2: a decoder with LayerNorm in front, several query heads for one key and value head, rotary positions, a plain
 * feed-forward layer and, in some sizes, a sliding window in every layer.
 * Source: arXiv 2402.19173; names as transformers writes them.
 */
import { PRE_NORM } from './parts/engine_config.js';
import { slidingWindows } from './parts/layer_kinds.js';
import { llama } from './llama.js';
import { ropeFields, ropeSet } from './parts/rope.js';

/** @type {import('./index.js').Family} */
export const starcoder2 = {
  ...llama,
  family: 'starcoder2',
  types: ['starcoder2'],
  missing: { kv_heads: () => 2 },
  config: (c, sizes) => {
    const hasBias = Number(c.flag('use_bias', true));
    const kind = (c.raw('sliding_window') ?? null) === null ? 'full_attention' : 'sliding_attention';
    return {
      ...PRE_NORM,
      ...ropeFields(c, [ropeSet(c, sizes)]),
      windows: slidingWindows(c, Array(sizes.layers).fill(kind), null),
      norm_eps: c.number('norm_epsilon', { above: 0, max: 1, missing: 1e-5 }),
      activation: c.activation('hidden_act', 'gelu_pytorch_tanh'),
      ...{ qkv_bias: hasBias, o_bias: hasBias, ffn_bias: hasBias },
    };
  },
  layerNames: {
    attn_norm: 'input_layernorm',
    q: 'self_attn.q_proj',
    k: 'self_attn.k_proj',
    v: 'self_attn.v_proj',
    o: 'self_attn.o_proj',
    ffn_norm: 'post_attention_layernorm',
    up: 'mlp.c_fc',
    down: 'mlp.c_proj',
  },
  heads: [{ weights: ['lm_head'], biases: [], isTied: true }],
};
