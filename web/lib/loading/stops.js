/** The ids that end a text while generating. */

import { QkvError } from '../checks/errors.js';

/** @typedef {{ eos_token_id?: unknown }} Config a parsed config.json or generation_config.json */

/**
 * Both files may say it, as one id, several or null; generation_config.json, the more particular one, counts first. Ids that
 * the model cannot choose are left out.
 * @param {{ config: Config, label: string }[]} files the first that has the key counts
 * @param {number} vocab
 * @returns {number[]}
 */
export function readStops(files, vocab) {
  const file = files.find(({ config }) => config.eos_token_id !== undefined);
  const value = file?.config.eos_token_id ?? [];
  const ids = Array.isArray(value) ? value : [value];
  for (const id of ids) {
    if (Number.isSafeInteger(id)) continue;
    throw new QkvError('config', `${file?.label}: eos_token_id`, { got: id, want: 'a token id or an array of them' });
  }
  return ids.filter((id) => id >= 0 && id < vocab);
}
