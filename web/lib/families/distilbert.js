/**
 * DistilBERT: BERT with half of the layers, no token types, names of its own, and 1e-12 in every norm whatever
 * config.json says. Source: arXiv 1910.01108; names as transformers writes them.
 */
import { POST_NORM } from './parts/engine_config.js';

/** @type {import('./index.js').Family} */
export const distilbert = {
  family: 'distilbert',
  types: ['distilbert'],
  causal: false,
  keys: {
    layers: 'n_layers',
    heads: 'n_heads',
    width: 'dim',
    ffn: 'hidden_dim',
    vocab: 'vocab_size',
    positions: 'max_position_embeddings',
  },
  config: (c, { positions }) => ({
    ...POST_NORM,
    positions,
    norm_eps: 1e-12,
    activation: c.activation('activation', 'gelu'),
  }),

  prefixes: ['', 'distilbert.'],
  names: {
    tokens: 'embeddings.word_embeddings',
    positions: 'embeddings.position_embeddings',
    embed_norm: 'embeddings.LayerNorm',
  },
  layer: 'transformer.layer.{i}.',
  layerNames: {
    q: 'attention.q_lin',
    k: 'attention.k_lin',
    v: 'attention.v_lin',
    o: 'attention.out_lin',
    attn_norm: 'sa_layer_norm',
    up: 'ffn.lin1',
    down: 'ffn.lin2',
    ffn_norm: 'output_layer_norm',
  },
  heads: [
    {
      dense: 'vocab_transform',
      activation: (c) => c.activation('activation', 'gelu'),
      norm: 'vocab_layer_norm',
      weights: ['vocab_projector'],
      biases: ['vocab_projector.bias'],
      isTied: true,
    },
  ],
};
