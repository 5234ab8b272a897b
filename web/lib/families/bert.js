/**
 * BERT and what copies it (MiniLM, BGE, E5 ...): learned positions, norm after each block, GELU, an encoder.
 * Source: arXiv 1810.04805; names as transformers writes them, gamma and beta as the first files had them.
 */
import { POST_NORM } from './parts/engine_config.js';

/** @type {import('./index.js').Family} */
export const bert = {
  family: 'bert',
  types: ['bert'],
  causal: false,
  keys: {
    layers: 'num_hidden_layers',
    heads: 'num_attention_heads',
    width: 'hidden_size',
    ffn: 'intermediate_size',
    vocab: 'vocab_size',
    positions: 'max_position_embeddings',
  },
  only: { is_decoder: [false], add_cross_attention: [false], position_embedding_type: ['absolute'] },
  config: (c, { positions }) => ({
    ...POST_NORM,
    positions,
    segments: c.size('type_vocab_size', { min: 0, max: 256, missing: 2 }),
    norm_eps: c.number('layer_norm_eps', { above: 0, max: 1, missing: 1e-12 }),
    activation: c.activation('hidden_act', 'gelu'),
  }),

  prefixes: ['', 'bert.'],
  names: {
    tokens: 'embeddings.word_embeddings',
    positions: 'embeddings.position_embeddings',
    segments: 'embeddings.token_type_embeddings',
    embed_norm: 'embeddings.LayerNorm',
  },
  layer: 'encoder.layer.{i}.',
  layerNames: {
    q: 'attention.self.query',
    k: 'attention.self.key',
    v: 'attention.self.value',
    o: 'attention.output.dense',
    attn_norm: 'attention.output.LayerNorm',
    up: 'intermediate.dense',
    down: 'output.dense',
    ffn_norm: 'output.LayerNorm',
  },
  heads: [
    {
      dense: 'cls.predictions.transform.dense',
      activation: (c) => c.activation('hidden_act', 'gelu'),
      norm: 'cls.predictions.transform.LayerNorm',
      weights: ['cls.predictions.decoder'],
      biases: ['cls.predictions.decoder.bias', 'cls.predictions.bias'],
      isTied: true,
    },
  ],
};
