/** A decoder of random weights, wide enough for a single token to be worth sharing out between threads. */
import { entry, fileOf } from '../lib/formats/safetensors_file.js';
import { seeded } from './golden.js';

const [WIDTH, HEADS, KV_HEADS, FFN, LAYERS] = [256, 4, 2, 512, 2];
export const VOCAB = 1000;

const CONFIG = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_act: 'silu',
  hidden_size: WIDTH,
  intermediate_size: FFN,
  max_position_embeddings: 256,
  num_attention_heads: HEADS,
  num_hidden_layers: LAYERS,
  num_key_value_heads: KV_HEADS,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  tie_word_embeddings: false,
  vocab_size: VOCAB,
  eos_token_id: null,
};

/** @returns {Record<string, number[]>} */
function shapes() {
  const keys = (WIDTH / HEADS) * KV_HEADS;
  const layers = Array.from({ length: LAYERS }, (_, i) => [
    [`model.layers.${i}.input_layernorm.weight`, [WIDTH]],
    [`model.layers.${i}.post_attention_layernorm.weight`, [WIDTH]],
    [`model.layers.${i}.self_attn.q_proj.weight`, [WIDTH, WIDTH]],
    [`model.layers.${i}.self_attn.k_proj.weight`, [keys, WIDTH]],
    [`model.layers.${i}.self_attn.v_proj.weight`, [keys, WIDTH]],
    [`model.layers.${i}.self_attn.o_proj.weight`, [WIDTH, WIDTH]],
    [`model.layers.${i}.mlp.gate_proj.weight`, [FFN, WIDTH]],
    [`model.layers.${i}.mlp.up_proj.weight`, [FFN, WIDTH]],
    [`model.layers.${i}.mlp.down_proj.weight`, [WIDTH, FFN]],
  ]);
  return Object.fromEntries([
    ['model.embed_tokens.weight', [VOCAB, WIDTH]],
    ...layers.flat(),
    ['model.norm.weight', [WIDTH]],
    ['lm_head.weight', [VOCAB, WIDTH]],
  ]);
}

/** @returns {{ [name: string]: Uint8Array }} */
export function wideDecoderFiles() {
  const random = seeded(17);
  /** @type {Record<string, import('../lib/formats/safetensors_file.js').Entry>} */
  const header = {};
  let end = 0;
  for (const [name, shape] of Object.entries(shapes())) {
    const begin = end;
    end += shape.reduce((product, extent) => product * extent, 4);
    header[name] = entry(shape, begin, end);
  }
  const values = Float32Array.from({ length: end / 4 }, () => (random() - 0.5) / 4);
  return {
    'config.json': new TextEncoder().encode(JSON.stringify(CONFIG)),
    'model.safetensors': fileOf(header, new Uint8Array(values.buffer)),
  };
}
