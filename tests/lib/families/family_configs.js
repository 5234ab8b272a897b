/** A believable config.json for every model type, as published: with what such files leave out left out. */

const HF = { vocab_size: 30522, hidden_size: 768, num_hidden_layers: 12, num_attention_heads: 12 };
const ENCODER = { ...HF, intermediate_size: 3072, max_position_embeddings: 512 };
const LLAMA = {
  vocab_size: 32000,
  hidden_size: 2048,
  num_hidden_layers: 22,
  num_attention_heads: 32,
  intermediate_size: 5632,
  max_position_embeddings: 2048,
};
const GEMMA = { ...LLAMA, vocab_size: 256000, num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256 };

/** @type {Record<string, Record<string, unknown>>} */
export const CONFIGS = {
  bert: { model_type: 'bert', ...ENCODER },
  roberta: { model_type: 'roberta', ...ENCODER, max_position_embeddings: 514, type_vocab_size: 1 },
  'xlm-roberta': { model_type: 'xlm-roberta', ...ENCODER, max_position_embeddings: 514, type_vocab_size: 1 },
  camembert: { model_type: 'camembert', ...ENCODER, max_position_embeddings: 514, type_vocab_size: 1 },
  distilbert: {
    model_type: 'distilbert',
    vocab_size: 30522,
    dim: 768,
    n_layers: 6,
    n_heads: 12,
    hidden_dim: 3072,
    max_position_embeddings: 512,
  },
  electra: { model_type: 'electra', ...ENCODER, hidden_size: 256, num_attention_heads: 4, embedding_size: 128 },
  mpnet: { model_type: 'mpnet', ...ENCODER, max_position_embeddings: 514 },
  albert: { model_type: 'albert', ...ENCODER, embedding_size: 128 },
  modernbert: { model_type: 'modernbert', ...ENCODER, max_position_embeddings: 8192 },
  gpt2: { model_type: 'gpt2', vocab_size: 50257, n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024, n_ctx: 1024 },
  gpt_neox: { model_type: 'gpt_neox', ...ENCODER, vocab_size: 50432, max_position_embeddings: 2048 },
  llama: { model_type: 'llama', ...LLAMA },
  mistral: { model_type: 'mistral', ...LLAMA, num_key_value_heads: 8, sliding_window: 4096 },
  qwen2: { model_type: 'qwen2', ...LLAMA, num_hidden_layers: 24, num_key_value_heads: 8, use_sliding_window: false },
  qwen3: { model_type: 'qwen3', ...LLAMA, num_key_value_heads: 8, head_dim: 128 },
  phi: { model_type: 'phi', ...LLAMA, max_position_embeddings: 2048 },
  starcoder2: { model_type: 'starcoder2', ...LLAMA, num_key_value_heads: 4, sliding_window: 4096 },
  gemma: { model_type: 'gemma', ...GEMMA, num_key_value_heads: 1 },
  gemma2: { model_type: 'gemma2', ...GEMMA },
  gemma3_text: { model_type: 'gemma3_text', ...GEMMA },
};

/** The families of the types that are not called as their family. @type {Record<string, string>} */
export const FAMILY_OF = { 'xlm-roberta': 'roberta', camembert: 'roberta', gemma3_text: 'gemma3' };
