/**
 * RoBERTa and its kin in other languages: BERT whose positions start behind the padding id and skip padding.
 * Source: arXiv 1907.11692; names as transformers writes them.
 */
import { bert } from './bert.js';

/**
 * Position ids start behind the padding id, so the table must reach beyond it.
 * @param {import('./parts/config_reader.js').ConfigReader} c
 * @param {import('./parts/engine_config.js').Sizes} sizes
 * @param {number} padding
 */
export function startBehind(c, { positions }, padding) {
  if (positions > padding + 1) return { position_first: padding + 1, position_pad: padding };
  throw c.wrong(
    'max_position_embeddings',
    `more than ${padding + 1}, since positions start behind the padding's ${padding}`,
  );
}

/** @type {import('./index.js').Family} */
export const roberta = {
  ...bert,
  family: 'roberta',
  types: ['roberta', 'xlm-roberta', 'camembert'],
  config: (c, sizes) => {
    const padding = c.size('pad_token_id', { min: 0, max: 16_777_216, missing: 1 });
    return { ...bert.config(c, sizes), ...startBehind(c, sizes, padding) };
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
