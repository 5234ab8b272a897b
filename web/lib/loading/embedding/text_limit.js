/** What the files of sentence-transformers change about texts. */

/** @typedef {import('../../run/embedding.js').EmbeddingPlan} EmbeddingPlan */

/**
 * How many tokens of a text are read where the caller says nothing.
 * @param {EmbeddingPlan} plan
 * @param {number} context the most that the model can take
 */
export const textLimit = ({ maxTokens }, context) => Math.min(maxTokens ?? context, context);

/**
 * tokenizer.json with lower case in front of its other steps, where the folder asks for it.
 * @param {Record<string, unknown>} json
 * @param {boolean} lowerCase
 */
export function lowered(json, lowerCase) {
  if (!lowerCase) return json;
  const { normalizer = null } = json;
  const first = { type: 'Lowercase' };
  return { ...json, normalizer: normalizer === null ? first : { type: 'Sequence', normalizers: [first, normalizer] } };
}
