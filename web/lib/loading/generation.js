/** What a model's files say about generating: the ids that end a text, and those that may not be chosen.
 *
 * Of generation_config.json these keys are followed: eos_token_id, suppress_tokens, begin_suppress_tokens. How a token is
 * drawn is the caller's choice (the options of generate; greedy unless said), so do_sample, temperature, top_k, top_p and
 * their kind are defaults of another library and ignored, as max_length is. What changes the choice in other ways
 * (repetition_penalty, bad_words_ids ...) is not followed either, and model.info.notes says so where a file has it. */

import { QkvError } from '../checks/errors.js';

/** @typedef {Record<string, unknown>} Config a parsed config.json or generation_config.json */
/** @typedef {{ config: Config, label: string }} LabelledConfig */
/** @typedef {{ always: number[], first: number[] }} Suppressed never chosen; not chosen as the first new token */

/** Keys that would change which token is chosen, and the values that change nothing. @type {Record<string, unknown[]>} */
const UNFOLLOWED = {
  repetition_penalty: [1],
  encoder_repetition_penalty: [1],
  no_repeat_ngram_size: [0],
  encoder_no_repeat_ngram_size: [0],
  bad_words_ids: [],
  sequence_bias: [],
  forced_bos_token_id: [],
  forced_eos_token_id: [],
  min_length: [0],
  min_new_tokens: [0],
  exponential_decay_length_penalty: [],
  guidance_scale: [1],
  penalty_alpha: [0],
  num_beams: [1],
  stop_strings: [],
  watermarking_config: [],
};

/**
 * Both files may say it, as one id, several or null; generation_config.json, the more particular one, counts first. Ids that
 * the model cannot choose are left out.
 * @param {LabelledConfig[]} files the first that has the key counts
 * @param {number} vocab
 * @returns {number[]}
 */
export function readStops(files, vocab) {
  const file = files.find(({ config }) => config.eos_token_id !== undefined);
  return file ? idsAt(file, 'eos_token_id', vocab) : [];
}

/**
 * @param {LabelledConfig | null} generation
 * @param {number} vocab
 * @returns {Suppressed}
 */
export function readSuppressed(generation, vocab) {
  const read = (/** @type {string} */ key) => (generation ? idsAt(generation, key, vocab) : []);
  return { always: read('suppress_tokens'), first: read('begin_suppress_tokens') };
}

/**
 * A sentence for each key that is not followed.
 * @param {LabelledConfig | null} generation
 * @returns {string[]}
 */
export function generationNotes(generation) {
  if (generation === null) return [];
  const { config, label } = generation;
  const keys = Object.entries(UNFOLLOWED).filter(([key, neutral]) => ![null, ...neutral].includes(config[key] ?? null));
  return keys.map(([key]) => `${label}: generate does not follow ${key}`);
}

/** @param {LabelledConfig} file @param {string} key @param {number} vocab @returns {number[]} */
function idsAt({ config, label }, key, vocab) {
  const value = config[key] ?? [];
  const ids = Array.isArray(value) ? value : [value];
  for (const id of ids) {
    if (Number.isSafeInteger(id)) continue;
    throw new QkvError('config', `${label}: ${key}`, { got: id, want: 'a token id or an array of them' });
  }
  return [...new Set(ids)].filter((id) => id >= 0 && id < vocab);
}
