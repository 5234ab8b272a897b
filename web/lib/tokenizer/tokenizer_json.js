/**
 * Reads tokenizer.json into plain settings and refuses, with the place and a reason, whatever would give wrong ids
 * later: kinds of tokenizer other than BERT's WordPiece, ids outside the model's table, endless nesting.
 * The file's own truncation and padding are ignored; the model's length counts.
 */
import { QkvError } from '../errors.js';

/** @typedef {import('./added_tokens.js').AddedToken} AddedToken */
/** @typedef {import('./bert_text.js').BertOptions} BertOptions */
/** @typedef {import('./wordpiece.js').WordPieceModel} WordPieceModel */
/** @typedef {Record<string, unknown>} Json */

/** A part of the template: the first or second text, or ids that are always there. */
/** @typedef {{ sequence: 0 | 1 | null, ids: number[], type: number }} TemplatePart */

/**
 * @typedef {object} TokenizerSettings
 * @property {WordPieceModel} model
 * @property {BertOptions} normalizer
 * @property {boolean} splitWords whether there is a pre-tokenizer
 * @property {AddedToken[]} added
 * @property {TemplatePart[]} single
 * @property {TemplatePart[]} pair
 */

const FILE = 'tokenizer.json';
const MAX_VOCAB = 2_000_000;
const MAX_ADDED = 20_000;
const MAX_CONTENT = 1_000;
const MAX_TEMPLATE = 64;
const MAX_NESTING = 8;
const MAX_WORD = 1_000;

/** @param {string} key @param {unknown} got @param {string} want @param {string} [fix] @returns {QkvError} */
const refusal = (key, got, want, fix) => new QkvError('tokenizer', `${FILE}: ${key}`, { got: brief(got), want, fix });

/** @param {unknown} value @returns {unknown} what an error should show of it */
function brief(value) {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : value;
}

/** @param {unknown} value @returns {value is Json} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {unknown} value @param {string} key @returns {Json} */
function objectAt(value, key) {
  if (!isObject(value)) throw refusal(key, value, 'an object');
  return value;
}

/** @param {unknown} value @param {string} key @param {number} limit @returns {unknown[]} */
function listAt(value, key, limit) {
  if (!Array.isArray(value)) throw refusal(key, value, 'a list');
  if (value.length > limit) throw refusal(key, value, `at most ${limit} entries`);
  return value;
}

/** @param {unknown} value @param {string} key @returns {string} */
function stringAt(value, key) {
  if (typeof value !== 'string') throw refusal(key, value, 'a string');
  return value;
}

/** @param {unknown} value @param {string} key @param {number} vocab @returns {number} */
function idAt(value, key, vocab) {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < vocab) return value;
  throw refusal(
    key,
    value,
    `a whole number from 0 to ${vocab - 1}`,
    'tokenizer.json and the weights may not belong together.',
  );
}

/**
 * @param {unknown} json what JSON.parse gave
 * @param {number} vocab rows of the model's token table
 * @returns {TokenizerSettings}
 */
export function readTokenizerJson(json, vocab) {
  const root = objectAt(json, 'the whole file');
  const model = readModel(root.model, vocab);
  const added = readAdded(root.added_tokens ?? [], model, vocab);
  return {
    model,
    normalizer: readNormalizer(root.normalizer ?? null),
    splitWords: readPreTokenizer(root.pre_tokenizer ?? null),
    added,
    ...readTemplate(root.post_processor ?? null, vocab),
  };
}

/** @param {unknown} value @param {number} vocab @returns {WordPieceModel} */
function readModel(value, vocab) {
  const model = objectAt(value, 'model');
  const prefix = stringAt(model.continuing_subword_prefix ?? '##', 'model.continuing_subword_prefix');
  // Files from before the type was written can be told apart by the prefix: only WordPiece has one.
  if ((model.type ?? 'WordPiece') !== 'WordPiece') {
    throw refusal('model.type', model.type, 'WordPiece', 'Give token ids instead of text, or a BERT-like model.');
  }
  const ids = readVocab(model.vocab, vocab);
  const unknown = ids.get(stringAt(model.unk_token ?? '[UNK]', 'model.unk_token'));
  if (unknown === undefined) throw refusal('model.unk_token', model.unk_token, 'a token of model.vocab');
  const maxChars = model.max_input_chars_per_word ?? 100;
  if (typeof maxChars !== 'number' || !Number.isInteger(maxChars) || maxChars < 1 || maxChars > MAX_WORD) {
    throw refusal('model.max_input_chars_per_word', maxChars, `a whole number from 1 to ${MAX_WORD}`);
  }
  return { ids, unknown, prefix, maxChars };
}

/** @param {unknown} value @param {number} vocab @returns {Map<string, number>} */
function readVocab(value, vocab) {
  const entries = Object.entries(objectAt(value, 'model.vocab'));
  if (entries.length === 0 || entries.length > MAX_VOCAB) {
    throw refusal('model.vocab', `${entries.length} tokens`, `1 to ${MAX_VOCAB}`);
  }
  /** @type {Map<string, number>} */
  const ids = new Map();
  /** @type {Map<number, string>} */
  const owners = new Map();
  for (const [piece, value] of entries) {
    const id = idAt(value, `model.vocab[${JSON.stringify(piece)}]`, vocab);
    const owner = owners.get(id);
    if (owner !== undefined) {
      throw refusal(
        `model.vocab[${JSON.stringify(piece)}]`,
        id,
        `an id of its own, not that of ${JSON.stringify(owner)}`,
      );
    }
    owners.set(id, piece);
    ids.set(piece, id);
  }
  return ids;
}

/** @param {unknown} value @param {WordPieceModel} model @param {number} vocab @returns {AddedToken[]} */
function readAdded(value, model, vocab) {
  return listAt(value, 'added_tokens', MAX_ADDED).map((entry, i) => {
    const key = `added_tokens[${i}]`;
    const token = objectAt(entry, key);
    const content = stringAt(token.content, `${key}.content`);
    if (content === '' || content.length > MAX_CONTENT) {
      throw refusal(`${key}.content`, `${content.length} characters`, `1 to ${MAX_CONTENT}`);
    }
    const id = idAt(token.id, `${key}.id`, vocab);
    const known = model.ids.get(content);
    if (known !== undefined && known !== id) throw refusal(`${key}.id`, id, `${known}, as in model.vocab`);
    return {
      id,
      content,
      special: token.special === true,
      singleWord: token.single_word === true,
      lstrip: token.lstrip === true,
      rstrip: token.rstrip === true,
      normalized: typeof token.normalized === 'boolean' ? token.normalized : token.special !== true,
    };
  });
}

/** @type {BertOptions} */
const UNCHANGED = Object.freeze({ clean: false, chinese: false, accents: false, lower: false });

/**
 * Only normalisers whose result can be told character by character, so that offsets are exact and no pattern of the
 * file is ever run as a regular expression.
 * @param {unknown} value
 * @returns {BertOptions}
 */
function readNormalizer(value) {
  if (value === null) return UNCHANGED;
  const { key, node } = unwrap(value);
  if (node === null) return UNCHANGED;
  if (node.type !== 'BertNormalizer') throw refusal(`${key}.type`, node.type, 'BertNormalizer');
  const lower = node.lowercase !== false;
  return {
    clean: node.clean_text !== false,
    chinese: node.handle_chinese_chars !== false,
    accents: typeof node.strip_accents === 'boolean' ? node.strip_accents : lower,
    lower,
  };
}

/** A Sequence of one is that one. @param {unknown} value @returns {{ key: string, node: Json | null }} */
function unwrap(value) {
  let key = 'normalizer';
  let node = objectAt(value, key);
  for (let depth = 0; node.type === 'Sequence'; depth++) {
    if (depth === MAX_NESTING) throw refusal('normalizer', 'deeper nesting', `at most ${MAX_NESTING} sequences`);
    const members = listAt(node.normalizers, `${key}.normalizers`, 1);
    if (members.length === 0) return { key, node: null };
    key = `${key}.normalizers[0]`;
    node = objectAt(members[0], key);
  }
  return { key, node };
}

/** @param {unknown} value @returns {boolean} */
function readPreTokenizer(value) {
  if (value === null) return false;
  const { type } = objectAt(value, 'pre_tokenizer');
  if (type !== 'BertPreTokenizer') throw refusal('pre_tokenizer.type', type, 'BertPreTokenizer');
  return true;
}

/** @type {TemplatePart[]} */
const BARE = [{ sequence: 0, ids: [], type: 0 }];

/** @param {unknown} value @param {number} vocab @returns {{ single: TemplatePart[], pair: TemplatePart[] }} */
function readTemplate(value, vocab) {
  if (value === null) return { single: BARE, pair: [...BARE, { sequence: 1, ids: [], type: 1 }] };
  const processor = objectAt(value, 'post_processor');
  if (processor.type === 'BertProcessing') return bertTemplate(processor, vocab);
  if (processor.type !== 'TemplateProcessing') {
    throw refusal('post_processor.type', processor.type, 'TemplateProcessing or BertProcessing');
  }
  const specials = objectAt(processor.special_tokens ?? {}, 'post_processor.special_tokens');
  return {
    single: readParts(processor.single, 'single', specials, vocab),
    pair: readParts(processor.pair, 'pair', specials, vocab),
  };
}

/** @param {Json} processor @param {number} vocab */
function bertTemplate(processor, vocab) {
  /** @param {'cls' | 'sep'} name @param {number} type @returns {TemplatePart} */
  const part = (name, type) => {
    const id = listAt(processor[name], `post_processor.${name}`, 2)[1];
    return { sequence: null, ids: [idAt(id, `post_processor.${name}[1]`, vocab)], type };
  };
  const single = [part('cls', 0), ...BARE, part('sep', 0)];
  /** @type {TemplatePart[]} */
  const pair = [...single, { sequence: 1, ids: [], type: 1 }, part('sep', 1)];
  return { single, pair };
}

/**
 * @param {unknown} value
 * @param {'single' | 'pair'} name
 * @param {Json} specials
 * @param {number} vocab
 * @returns {TemplatePart[]}
 */
function readParts(value, name, specials, vocab) {
  const parts = listAt(value, `post_processor.${name}`, MAX_TEMPLATE).map((entry, i) =>
    readPart(entry, `post_processor.${name}[${i}]`, specials, vocab),
  );
  const order = parts.flatMap((part) => (part.sequence === null ? [] : [part.sequence]));
  const want = name === 'single' ? [0] : [0, 1];
  if (order.join() !== want.join()) {
    throw refusal(
      `post_processor.${name}`,
      `the texts ${order.join() || 'nowhere'}`,
      `${want.join(', then ')}, once each`,
    );
  }
  return parts;
}

/** @param {unknown} entry @param {string} key @param {Json} specials @param {number} vocab @returns {TemplatePart} */
function readPart(entry, key, specials, vocab) {
  const part = objectAt(entry, key);
  const inner = objectAt(part.Sequence ?? part.SpecialToken, key);
  const type = idAt(inner.type_id ?? 0, `${key}.type_id`, 256);
  if (part.Sequence !== undefined) {
    if (inner.id !== 'A' && inner.id !== 'B') throw refusal(`${key}.Sequence.id`, inner.id, 'A or B');
    return { sequence: inner.id === 'A' ? 0 : 1, ids: [], type };
  }
  const name = stringAt(inner.id, `${key}.SpecialToken.id`);
  if (!Object.hasOwn(specials, name))
    throw refusal(`${key}.SpecialToken.id`, name, 'a key of post_processor.special_tokens');
  const place = `post_processor.special_tokens[${JSON.stringify(name)}]`;
  const ids = listAt(objectAt(specials[name], place).ids, `${place}.ids`, MAX_TEMPLATE);
  return { sequence: null, ids: ids.map((id) => idAt(id, `${place}.ids`, vocab)), type };
}
