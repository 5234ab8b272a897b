/**
 * ALBERT: BERT whose layers share weights, in groups of neighbouring layers, and whose tables are narrower than its blocks.
 * Source: arXiv 1909.11942; names as transformers writes them.
 */
import { bert } from './bert.js';

/** @type {import('./index.js').Family} */
export const albert = {
  ...bert,
  family: 'albert',
  types: ['albert'],
  only: { ...bert.only, inner_group_num: [1] },
  config: (c, sizes) => ({
    ...bert.config(c, sizes),
    activation: c.activation('hidden_act', 'gelu_new'),
    stored_layers: c.size('num_hidden_groups', { max: sizes.layers, missing: 1 }),
    embed_width: c.size('embedding_size', { max: 65_536, missing: 128 }),
    embed_project: 1,
  }),
  prefixes: ['', 'albert.'],
  names: { ...bert.names, embed_project: 'encoder.embedding_hidden_mapping_in' },
  layer: 'encoder.albert_layer_groups.{i}.albert_layers.0.',
  layerNames: {
    q: 'attention.query',
    k: 'attention.key',
    v: 'attention.value',
    o: 'attention.dense',
    attn_norm: 'attention.LayerNorm',
    up: 'ffn',
    down: 'ffn_output',
    ffn_norm: 'full_layer_layer_norm',
  },
  heads: [
    {
      dense: 'predictions.dense',
      activation: (c) => c.activation('hidden_act', 'gelu_new'),
      norm: 'predictions.LayerNorm',
      weights: ['predictions.decoder'],
      biases: ['predictions.decoder.bias', 'predictions.bias'],
      isTied: true,
      isEmbedWide: true,
    },
  ],
};
