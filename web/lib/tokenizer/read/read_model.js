/** The model of tokenizer.json: its vocabulary, and how a word is cut into pieces of it. */
import { createBpe } from '../models/bpe.js';
import { flagAt, idAt, listAt, objectAt, refusal, stringAt, wholeAt } from './json_checks.js';
import { createUnigram } from '../models/unigram.js';
import { createWordLevel } from '../models/word_level.js';
import { createWordPiece } from '../models/wordpiece.js';

/** @typedef {import('./json_checks.js').Json} Json */
/** @typedef {import('../models/wordpiece.js').CutWord} CutWord */

/**
 * @typedef {object} Model
 * @property {ReadonlyMap<string, number>} ids
 * @property {number | null} unknown id of the unknown token
 * @property {CutWord} cutWord
 */

const MAX_VOCAB = 2_000_000;
const MAX_WORD = 1_000;
const MAX_AFFIX = 100;
/** A text is compared with every piece that could start at each of its characters, so these must not be endless. */
const MAX_UNIGRAM_PIECE = 256;

/** @type {Record<string, (model: Json, vocab: number) => Model>} */
const KINDS = { WordPiece: wordPiece, BPE: bpe, Unigram: unigram, WordLevel: wordLevel };

/** @param {unknown} value @param {number} vocab rows of the model's token table @returns {Model} */
export function readModel(value, vocab) {
  const model = objectAt(value, 'model');
  const type = model.type ?? olderType(model);
  if (typeof type === 'string' && Object.hasOwn(KINDS, type)) return KINDS[type](model, vocab);
  const fix = 'Give token ids instead of text, or a model with another tokenizer.';
  throw refusal('model.type', type, Object.keys(KINDS).join(', '), fix);
}

/** Older files do not name the type; it follows from the keys that they have. @param {Json} model @returns {string} */
function olderType(model) {
  if (model.merges !== undefined) return 'BPE';
  return Array.isArray(model.vocab) ? 'Unigram' : 'WordPiece';
}

/** @param {Json} model @param {number} vocab @returns {Model} */
function wordPiece(model, vocab) {
  const prefix = stringAt(model.continuing_subword_prefix ?? '##', 'model.continuing_subword_prefix', MAX_AFFIX);
  const ids = readVocab(model.vocab, vocab);
  const unknown = ids.get(stringAt(model.unk_token ?? '[UNK]', 'model.unk_token'));
  if (unknown === undefined) throw refusal('model.unk_token', model.unk_token, 'a token of model.vocab');
  const maxChars = wholeAt(model.max_input_chars_per_word ?? 100, 'model.max_input_chars_per_word', 1, MAX_WORD);
  return { ids, unknown, cutWord: createWordPiece({ ids, unknown, prefix, maxChars }) };
}

/** @param {Json} model @param {number} vocab @returns {Model} */
function wordLevel(model, vocab) {
  const ids = readVocab(model.vocab, vocab);
  const unknown = ids.get(stringAt(model.unk_token, 'model.unk_token')) ?? null;
  return { ids, unknown, cutWord: createWordLevel({ ids, unknown }) };
}

/** @param {Json} model @param {number} vocab @returns {Model} */
function bpe(model, vocab) {
  const ids = readVocab(model.vocab, vocab);
  const prefix = stringAt(model.continuing_subword_prefix ?? '', 'model.continuing_subword_prefix', MAX_AFFIX);
  const suffix = stringAt(model.end_of_word_suffix ?? '', 'model.end_of_word_suffix', MAX_AFFIX);
  if ((model.dropout ?? 0) !== 0) throw refusal('model.dropout', model.dropout, 'null or 0: it would give random ids');
  const name = stringAt(model.unk_token ?? '', 'model.unk_token');
  const unknown = name === '' ? null : (ids.get(name) ?? null);
  if (name !== '' && unknown === null) throw refusal('model.unk_token', name, 'a token of model.vocab');
  const cutWord = createBpe({
    ids,
    merges: readMerges(model.merges, ids, prefix),
    unknown,
    byteFallback: flagAt(model.byte_fallback ?? false, 'model.byte_fallback'),
    fuseUnknown: flagAt(model.fuse_unk ?? false, 'model.fuse_unk'),
    ignoreMerges: flagAt(model.ignore_merges ?? false, 'model.ignore_merges'),
    prefix,
    suffix,
  });
  return { ids, unknown, cutWord };
}

/** @param {Json} model @param {number} vocab @returns {Model} */
function unigram(model, vocab) {
  const entries = listAt(model.vocab, 'model.vocab', MAX_VOCAB);
  if (entries.length === 0 || entries.length > vocab) {
    throw refusal('model.vocab', `${entries.length} tokens`, `1 to ${vocab}`);
  }
  const pieces = entries.map((entry, id) => {
    const key = `model.vocab[${id}]`;
    const [piece, score] = listAt(entry, key, 2);
    if (typeof score !== 'number' || !Number.isFinite(score)) throw refusal(`${key}[1]`, score, 'a score');
    return /** @type {const} */ ([stringAt(piece, `${key}[0]`, MAX_UNIGRAM_PIECE), score]);
  });
  const unknown = wholeAt(model.unk_id, 'model.unk_id', 0, pieces.length - 1);
  const byteFallback = flagAt(model.byte_fallback ?? false, 'model.byte_fallback');
  const ids = new Map(pieces.map(([piece], id) => [piece, id]));
  return { ids, unknown, cutWord: createUnigram({ pieces, unknown, byteFallback }) };
}

/** Several pieces may have one id: then each of them is that token. @param {unknown} value @param {number} vocab @returns {Map<string, number>} */
function readVocab(value, vocab) {
  const entries = Object.entries(objectAt(value, 'model.vocab'));
  if (entries.length === 0 || entries.length > MAX_VOCAB) {
    throw refusal('model.vocab', `${entries.length} tokens`, `1 to ${MAX_VOCAB}`);
  }
  /** @type {Map<string, number>} */
  const ids = new Map();
  for (const [piece, value] of entries) {
    const key = () => `model.vocab[${JSON.stringify(piece)}]`;
    const id = typeof value === 'number' && ids.size < vocab ? value : -1;
    if (!Number.isInteger(id) || id < 0 || id >= vocab) idAt(value, key(), vocab);
    ids.set(piece, id);
  }
  return ids;
}

/**
 * @param {unknown} value "a b" in older files, ["a", "b"] in newer ones
 * @param {ReadonlyMap<string, number>} ids
 * @param {string} prefix what the second of a pair loses when they are joined
 * @returns {Int32Array}
 */
function readMerges(value, ids, prefix) {
  const entries = listAt(value, 'model.merges', MAX_VOCAB);
  const merges = new Int32Array(3 * entries.length);
  let length = 0;
  entries.forEach((entry, i) => {
    if (typeof entry === 'string' && entry.startsWith('#version')) return;
    const pair = typeof entry === 'string' ? entry.split(' ') : entry;
    if (!Array.isArray(pair) || pair.length !== 2 || pair.some((piece) => typeof piece !== 'string')) {
      throw refusal(`model.merges[${i}]`, entry, 'two pieces');
    }
    const [first, second] = pair;
    for (const piece of [first, second, first + second.slice(prefix.length)]) {
      const id = ids.get(piece);
      if (id === undefined) throw refusal(`model.merges[${i}]`, piece, 'pieces, and what they become, of model.vocab');
      merges[length++] = id;
    }
  });
  return merges.subarray(0, length);
}
