/**
 * RoBERTa and its kin in other languages: BERT whose positions start behind the padding id and skip padding.
 * Source: arXiv 1907.11692; names as transformers writes them.
 */
import { bert } from './bert.js';

/** @type {import('./index.js').Family} */
export const roberta = {
  ...bert,
  family: 'roberta',
  types: ['roberta', 'xlm-roberta', 'camembert'],
  config: (c, sizes) => {
    const padding = c.size('pad_token_id', { min: 0, max: 16_777_216, missing: 1 });
    return { ...bert.config(c, sizes), position_first: padding + 1, position_pad: padding };
  },
  prefixes: ['', 'roberta.'],
  heads: [
    {
      dense: 'lm_head.dense',
      activation: () => 'gelu',
      norm: 'lm_head.layer_norm',
      weights: ['lm_head.decoder'],
      biases: ['lm_head.decoder.bias', 'lm_head.bias'],
      isTied: true,
    },
  ],
};
