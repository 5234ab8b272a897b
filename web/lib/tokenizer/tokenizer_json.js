/**
 * Reads tokenizer.json into functions and settings and refuses, with the place and a reason, whatever would give wrong
 * ids later: kinds that are not known, ids outside the model's table, endless nesting, patterns that could hang.
 * The file's own truncation and padding are ignored; the model's length counts.
 */
import { idAt, listAt, objectAt, refusal, stringAt } from './read/json_checks.js';
import { readDecoder } from './read/read_decoder.js';
import { readModel } from './read/read_model.js';
import { readNormalizer } from './read/read_normalizer.js';
import { readPreTokenizer } from './read/read_pre_tokenizer.js';
import { readTemplate } from './read/read_template.js';

/** @typedef {import('./added_tokens.js').AddedToken} AddedToken */
/** @typedef {import('./read/json_checks.js').Json} Json */
/** @typedef {import('./read/read_model.js').Model} Model */

/**
 * @typedef {object} TokenizerSettings
 * @property {Model} model
 * @property {import('./read/read_normalizer.js').Normalize} normalize
 * @property {import('./read/read_pre_tokenizer.js').PreTokenize} preTokenize
 * @property {AddedToken[]} added
 * @property {import('./read/read_template.js').Template} template
 * @property {import('./read/read_decoder.js').Decoder} decoder
 * @property {number | null} pad what the file fills short texts of a batch with
 */

const MAX_ADDED = 20_000;
const MAX_CONTENT = 256;

/**
 * @param {unknown} json what JSON.parse gave
 * @param {number} vocab rows of the model's token table
 * @returns {TokenizerSettings}
 */
export function readTokenizerJson(json, vocab) {
  const root = objectAt(json, 'the whole file');
  const model = readModel(root.model, vocab);
  return {
    model,
    normalize: readNormalizer(root.normalizer),
    preTokenize: readPreTokenizer(root.pre_tokenizer),
    added: readAdded(root.added_tokens ?? [], model, vocab, root.encode_special_tokens === true),
    template: readTemplate(root.post_processor, vocab),
    decoder: readDecoder(root.decoder),
    pad: readPad(root.padding, vocab),
  };
}

/** @param {unknown} value @param {number} vocab @returns {number | null} */
function readPad(value, vocab) {
  const id = typeof value === 'object' && value !== null && 'pad_id' in value ? value.pad_id : null;
  return typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < vocab ? id : null;
}

/**
 * Which id an added token has is not the file's to say, though it does: as in the Rust package it is that of its piece, and
 * tokens without one follow behind the vocabulary in the file's order. Of several with one text the last says how. Tokens
 * beyond the model's table are left out: a text model may come with the tokenizer of one that also sees pictures.
 * @param {unknown} value
 * @param {Model} model
 * @param {number} vocab
 * @param {boolean} split special tokens are ordinary text; only tokenizer_config.json says so
 * @returns {AddedToken[]}
 */
function readAdded(value, model, vocab, split) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  let next = model.ids.size;
  /** @type {Map<string, AddedToken>} */
  const tokens = new Map();
  listAt(value, 'added_tokens', MAX_ADDED).forEach((entry, i) => {
    const key = `added_tokens[${i}]`;
    const token = objectAt(entry, key);
    const content = stringAt(token.content, `${key}.content`);
    if (content.length > MAX_CONTENT) {
      throw refusal(`${key}.content`, `${content.length} characters`, `at most ${MAX_CONTENT}`);
    }
    idAt(token.id, `${key}.id`, 2 ** 31);
    if (content === '') return;
    const id = ids.get(content) ?? model.ids.get(content) ?? next;
    ids.set(content, id);
    next = Math.max(next, id + 1);
    if (id >= vocab) return;
    tokens.set(content, {
      id,
      content,
      special: token.special === true,
      split: split && token.special === true,
      singleWord: token.single_word === true,
      lstrip: token.lstrip === true,
      rstrip: token.rstrip === true,
      normalized: typeof token.normalized === 'boolean' ? token.normalized : token.special !== true,
    });
  });
  return [...tokens.values()];
}
