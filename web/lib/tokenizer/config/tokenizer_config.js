/**
 * What AutoTokenizer of transformers 5.24 makes of tokenizer.json when tokenizer_config.json lies beside it. In that version
 * most classes take no more than the vocabulary, the merges and the post-processor from tokenizer.json and set up everything
 * else themselves, by their own options; others (PreTrainedTokenizerFast, and every name that transformers does not know)
 * take it as it is. Special tokens and added tokens are put into it in either case. Without tokenizer_config.json the file
 * says all by itself.
 *
 * add_bos_token and add_eos_token are not read, since transformers drops them where there is a tokenizer.json: its
 * post-processor decides.
 */
import { isObject, objectAt } from '../read/json_checks.js';
import { addedTokens } from './config_tokens.js';
import { classFor } from './tokenizer_classes.js';
import { createOptions } from './config_options.js';
import { REBUILT } from './rebuilt_classes.js';

/** @typedef {import('../read/json_checks.js').Json} Json */

/**
 * @typedef {object} ConfigFiles
 * @property {Json} config tokenizer_config.json
 * @property {Json | null} specialTokens special_tokens_map.json
 * @property {Json | null} addedTokens added_tokens.json, in which older versions kept them
 * @property {Json} model config.json
 * @property {string} folder for messages
 */

/** @param {Json} config @returns {boolean} whether the older files beside tokenizer_config.json count */
export const readsOlderFiles = (config) => !isObject(config.added_tokens_decoder);

/**
 * @param {Json} json tokenizer.json
 * @param {ConfigFiles} files
 * @returns {Json} a tokenizer.json that says all
 */
export function followTokenizerConfig(json, files) {
  const options = createOptions(files.config, `${files.folder}/tokenizer_config.json`);
  const name = classFor(json, options, files.model);
  const model = objectAt(json.model, 'model');
  const rebuilt = REBUILT.get(name);
  const rebuild = rebuilt !== undefined && rebuilt.model === modelTypeOf(model) ? rebuilt : null;
  const { tokens, specials, idOf } = addedTokens(json, files, options, rebuild);
  const parts = rebuild?.build({ options, specials, idOf, json, model }) ?? {};
  return {
    ...json,
    ...parts,
    added_tokens: tokens,
    encode_special_tokens: options.flag('split_special_tokens', false),
  };
}

/** @param {Json} model @returns {unknown} */
function modelTypeOf(model) {
  if (model.type !== undefined) return model.type;
  if (model.merges !== undefined) return 'BPE';
  return Array.isArray(model.vocab) ? 'Unigram' : 'WordPiece';
}
