/** What a model needs for embeddings and qkv does not compute: no error of loading, but of asking for an embedding. */

/** @typedef {import('../../run/embedding.js').Refusal} Refusal */

const FIX = 'Name a pooling in the options to have the last hidden states pooled without what follows.';

/** @param {Omit<Refusal, 'fix'> & { fix?: string }} refusal @returns {Refusal} */
export const refusalOf = (refusal) => ({ fix: FIX, ...refusal });

export class Unsupported extends Error {
  /** @param {Omit<Refusal, 'fix'> & { fix?: string }} refusal */
  constructor(refusal) {
    super(refusal.what);
    this.refusal = refusalOf(refusal);
  }
}
