/**
 * BERT and what copies it (MiniLM, BGE, E5 ...): learned positions, norm after each block, GELU, an encoder.
 * Source: arXiv 1810.04805; names as transformers writes them, gamma and beta as the first files had them.
 */

/** @type {import('./index.js').Family} */
export const bert = {
  family: 'bert',
  types: ['bert'],
  kinds: ['encoder'],

  sizes: {
    layers: { key: 'num_hidden_layers', max: 1_000 },
    heads: { key: 'num_attention_heads', max: 4_096 },
    width: { key: 'hidden_size', max: 65_536 },
    ffn: { key: 'intermediate_size', max: 1_048_576 },
    vocab: { key: 'vocab_size', max: 16_777_216 },
    positions: { key: 'max_position_embeddings', max: 1_048_576 },
    segments: { key: 'type_vocab_size', min: 0, max: 256, default: 2 },
  },
  normEps: { key: 'layer_norm_eps', default: 1e-12 },
  required: {
    hidden_act: ['gelu'],
    position_embedding_type: ['absolute'],
    is_decoder: [false],
    add_cross_attention: [false],
  },

  prefixes: ['', 'bert.'],
  tables: {
    tokens: 'embeddings.word_embeddings',
    positions: 'embeddings.position_embeddings',
    segments: 'embeddings.token_type_embeddings',
  },
  linears: {
    q: 'encoder.layer.{i}.attention.self.query',
    k: 'encoder.layer.{i}.attention.self.key',
    v: 'encoder.layer.{i}.attention.self.value',
    o: 'encoder.layer.{i}.attention.output.dense',
    up: 'encoder.layer.{i}.intermediate.dense',
    down: 'encoder.layer.{i}.output.dense',
  },
  norms: {
    embed_norm: 'embeddings.LayerNorm',
    attn_norm: 'encoder.layer.{i}.attention.output.LayerNorm',
    ffn_norm: 'encoder.layer.{i}.output.LayerNorm',
  },
  quantized: ['tokens', 'q', 'k', 'v', 'o', 'up', 'down'],
};
