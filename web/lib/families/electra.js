/**
 * ELECTRA: BERT whose tables may be narrower than its blocks. The discriminator's head says of each token how much it
 * looks replaced, one logit a position; the generator's head is a masked language model.
 * Source: arXiv 2003.10555; names as transformers writes them.
 */
import { bert } from './bert.js';

/** @type {import('./index.js').Family} */
export const electra = {
  ...bert,
  family: 'electra',
  types: ['electra'],
  config: (c, sizes) => {
    const embed_width = c.size('embedding_size', { max: 65_536, missing: 128 });
    return { ...bert.config(c, sizes), embed_width, embed_project: Number(embed_width !== sizes.width) };
  },
  prefixes: ['', 'electra.'],
  names: { ...bert.names, embed_project: 'embeddings_project' },
  heads: [
    {
      dense: 'discriminator_predictions.dense',
      activation: (c) => c.activation('hidden_act', 'gelu'),
      weights: ['discriminator_predictions.dense_prediction'],
      biases: ['discriminator_predictions.dense_prediction.bias'],
      rows: 1,
    },
    {
      dense: 'generator_predictions.dense',
      activation: () => 'gelu',
      norm: 'generator_predictions.LayerNorm',
      weights: ['generator_lm_head'],
      biases: ['generator_lm_head.bias'],
      isTied: true,
      isEmbedWide: true,
    },
  ],
};
