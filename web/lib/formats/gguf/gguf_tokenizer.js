/**
 * From the vocabulary in a GGUF file to an object like tokenizer.json, valid for the Rust package tokenizers as well (but for
 * the charsmap of t5, which sentencepiece applies in another way than the package).
 *
 *   tokenizer.ggml.model  is                                  becomes
 *   gpt2                  byte-level BPE with its merges      BPE; the way of cutting words is known by its name only
 *   llama                 SentencePiece BPE with scores       BPE with byte fallback; merges follow from the scores
 *   t5                    SentencePiece Unigram               Unigram
 *   bert                  WordPiece, "▁" before whole words   WordPiece, "##" before the others
 */
import { QkvError } from '../../checks/errors.js';
import { ggufEnds } from './gguf_ends.js';
import { mergesOf } from './gguf_merges.js';
import { isSplitNamed, likelySplit, splitNames, splitOf } from './gguf_splits.js';

/** @typedef {import('./gguf_header.js').Metadata} Metadata */
/** @typedef {import('./gguf_splits.js').Part} Part */
/** @typedef {Record<string, unknown>} TokenizerJson */
/**
 * @typedef {object} Vocabulary
 * @property {string} label of the file
 * @property {Metadata} metadata
 * @property {string[]} tokens
 * @property {ArrayLike<number>} types
 */

const TOKENIZER = 'tokenizer.ggml.';
const MAX_TOKENS = 2_000_000;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const BYTE = 6;
const NORMAL = 1;
const BYTE_TOKEN = /^<0x[0-9A-F]{2}>$/;
/** SentencePiece's sign for a space. */
const SPACE = '▁';
const BASE64_PART = 8_192;
/** Spaces cut a text; other kinds of white space are what the charsmap makes of them. */
const SPACES = { type: 'Split', pattern: { String: ' ' }, behavior: 'Removed', invert: false };

/**
 * @param {Metadata} metadata
 * @param {string} label of the file
 * @param {number} rows of the token table
 * @returns {TokenizerJson | null} null when the file has no vocabulary
 */
export function ggufTokenizer(metadata, label, rows) {
  const model = metadata.get(`${TOKENIZER}model`);
  if (model === undefined || model === 'none' || model === 'no_vocab') return null;
  const make = typeof model === 'string' ? MODELS.get(model) : undefined;
  if (make === undefined) {
    const want = [...MODELS.keys()].join(', ');
    throw new QkvError('unsupported', `${label}: metadata "${TOKENIZER}model"`, { got: model, want });
  }
  return make(readVocabulary(metadata, label, Math.min(rows, MAX_TOKENS)));
}

/**
 * What is assumed where the file does not say.
 * @param {Metadata} metadata of a file whose tokenizer has been read
 * @param {string} label of the file
 * @returns {string[]}
 */
export function ggufNotes(metadata, label) {
  const tokens = metadata.get(`${TOKENIZER}tokens`);
  if (metadata.get(`${TOKENIZER}model`) !== 'gpt2' || isSplitNamed(metadata.get(`${TOKENIZER}pre`))) return [];
  const split = likelySplit(metadata.get('general.architecture'), isTexts(tokens) ? tokens.length : 0);
  return [
    `${label}: metadata "${TOKENIZER}pre" does not say how text is cut into words; the way of "${split}" is assumed`,
  ];
}

/** @type {ReadonlyMap<string, (vocabulary: Vocabulary) => TokenizerJson>} */
const MODELS = new Map([
  ['gpt2', byteLevelBpe],
  ['llama', scoredBpe],
  ['t5', unigram],
  ['bert', wordPiece],
]);

/** @param {Metadata} metadata @param {string} label @param {number} most tokens @returns {Vocabulary} */
function readVocabulary(metadata, label, most) {
  const tokens = metadata.get(`${TOKENIZER}tokens`);
  if (!isTexts(tokens) || tokens.length === 0 || tokens.length > most) {
    const got = isTexts(tokens) ? `${tokens.length} tokens` : kindOf(tokens);
    throw refusal(label, 'tokens', got, `a list of 1 to ${most} texts, rows of the token table`);
  }
  const types = numbersAt(metadata, label, 'token_type', tokens.length) ?? new Int32Array(tokens.length).fill(NORMAL);
  if (new Set(tokens).size !== tokens.length) checkTwice(tokens, label);
  for (let id = 0; id < tokens.length; id++) {
    if (types[id] === BYTE && !BYTE_TOKEN.test(tokens[id])) {
      throw refusal(label, `tokens[${id}]`, tokens[id], 'a byte as <0x00> to <0xFF>');
    }
  }
  return { label, metadata, tokens, types };
}

/** @param {string[]} tokens @param {string} label */
function checkTwice(tokens, label) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  tokens.forEach((token, id) => {
    const other = ids.get(token);
    // Tokens without text never occur in a text, so several may be empty.
    if (other !== undefined && token !== '') {
      throw refusal(label, `tokens[${id}]`, token, `another than tokens[${other}]`);
    }
    ids.set(token, id);
  });
}

/** @param {string} label @param {string} key @param {unknown} got @param {string} want @returns {QkvError} */
const refusal = (label, key, got, want) =>
  new QkvError('tokenizer', `${label}: metadata "${TOKENIZER}${key}"`, { got: got ?? 'nothing', want });

/** @param {unknown} value @returns {unknown} what a message should show of it */
const kindOf = (value) => (typeof value === 'object' ? 'a list of something else' : value);

/** @param {unknown} value @returns {value is string[]} */
const isTexts = (value) => Array.isArray(value);

/**
 * @param {Metadata} metadata
 * @param {string} label
 * @param {string} key
 * @param {number} count
 * @returns {ArrayLike<number> | null} one for each token, null where the key is not there
 */
function numbersAt(metadata, label, key, count) {
  const value = metadata.get(`${TOKENIZER}${key}`) ?? null;
  if (value === null) return null;
  const isList = value instanceof Int32Array || value instanceof Uint32Array || value instanceof Float32Array;
  if (isList && value.length === count) return value;
  throw refusal(label, key, isList ? `${value.length} numbers` : kindOf(value), `${count}, one for each token`);
}

/** @param {Vocabulary} vocabulary @returns {ArrayLike<number>} */
function scoresOf({ metadata, label, tokens }) {
  const scores = numbersAt(metadata, label, 'scores', tokens.length);
  if (scores === null) throw refusal(label, 'scores', 'nothing', 'a number for each token');
  for (let id = 0; id < scores.length; id++) {
    if (!Number.isFinite(scores[id])) throw refusal(label, `scores[${id}]`, String(scores[id]), 'a finite number');
  }
  return scores;
}

/** @param {Vocabulary} vocabulary @param {string} key @param {boolean} missing @returns {boolean} */
function flagAt({ metadata, label }, key, missing) {
  const value = metadata.get(`${TOKENIZER}${key}`) ?? missing;
  if (typeof value === 'boolean') return value;
  throw refusal(label, key, kindOf(value), 'true or false');
}

/** @param {Vocabulary} vocabulary @param {string} key @param {number} [missing] @returns {number | null} */
function idAt({ metadata, label, tokens }, key, missing) {
  const value = metadata.get(`${TOKENIZER}${key}_token_id`) ?? missing ?? null;
  if (value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < tokens.length) return value;
  // Converters write -1 or 2^32 - 1 where there is none.
  if (value === -1 || value === 2 ** 32 - 1) return null;
  throw refusal(label, `${key}_token_id`, kindOf(value), `a whole number from 0 to ${tokens.length - 1}`);
}

/**
 * What the four kinds of tokenizer differ in.
 * @typedef {object} Pieces
 * @property {Part | null} normalizer
 * @property {Part | null} preTokenizer
 * @property {Part | null} postProcessor
 * @property {Part} decoder
 * @property {Part} model
 * @property {(text: string) => boolean} [isAdded] whether a user-defined token is cut out of a text before all else
 */

/** @param {Vocabulary} vocabulary @param {Pieces} pieces @returns {TokenizerJson} */
function assemble(vocabulary, { normalizer, preTokenizer, postProcessor, decoder, model, isAdded = () => true }) {
  const { tokens, types } = vocabulary;
  const named = ['bos', 'eos', 'unknown', 'padding'].map((key) => idAt(vocabulary, key));
  const specials = new Set([...named, ...ggufEnds(vocabulary.metadata)]);
  const added = tokens.flatMap((content, id) => {
    const type = types[id];
    const special = type === CONTROL || type === UNKNOWN || specials.has(id);
    const isWanted = special || (type === USER_DEFINED && isAdded(content));
    if (!isWanted || content === '') return [];
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }];
  });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer,
    pre_tokenizer: preTokenizer,
    post_processor: postProcessor,
    decoder,
    model,
  };
}

/** Text of a token to its id; no prototype, so any text can be a key. @param {string[]} tokens @returns {Record<string, number>} */
function idsOf(tokens) {
  const ids = Object.create(null);
  tokens.forEach((token, id) => {
    if (token !== '') ids[token] = id;
  });
  return ids;
}

/**
 * BOS and EOS around every text.
 * @param {Vocabulary} vocabulary
 * @param {{ bos: boolean, eos: boolean, bosId?: number, eosId?: number }} missing what holds where the file does not say
 * @returns {Part | null}
 */
function bosAndEos(vocabulary, { bos, eos, bosId, eosId }) {
  const before = flagAt(vocabulary, 'add_bos_token', bos) ? idAt(vocabulary, 'bos', bosId) : null;
  const after = flagAt(vocabulary, 'add_eos_token', eos) ? idAt(vocabulary, 'eos', eosId) : null;
  if (before === null && after === null) return null;
  const { tokens } = vocabulary;
  /** @param {number | null} id @param {number} type */
  const special = (id, type) => (id === null ? [] : [{ SpecialToken: { id: tokens[id], type_id: type } }]);
  /** @param {'A' | 'B'} id @param {number} type */
  const text = (id, type) => [...special(before, type), { Sequence: { id, type_id: type } }, ...special(after, type)];
  return template(tokens, [before, after], text('A', 0), [...text('A', 0), ...text('B', 1)]);
}

/** @param {string[]} tokens @param {(number | null)[]} ids @param {object[]} single @param {object[]} pair @returns {Part} */
function template(tokens, ids, single, pair) {
  const entries = ids.flatMap((id) =>
    id === null ? [] : [[tokens[id], { id: tokens[id], ids: [id], tokens: [tokens[id]] }]],
  );
  return { type: 'TemplateProcessing', single, pair, special_tokens: Object.fromEntries(entries) };
}

/** @param {Vocabulary} vocabulary @returns {TokenizerJson} */
function byteLevelBpe(vocabulary) {
  const { metadata, label, tokens } = vocabulary;
  const name = metadata.get(`${TOKENIZER}pre`);
  const architecture = metadata.get('general.architecture');
  const split = name === undefined || typeof name === 'string' ? splitOf(name, architecture, tokens.length) : undefined;
  if (split === undefined) {
    throw new QkvError('unsupported', `${label}: metadata "${TOKENIZER}pre"`, { got: name, want: splitNames() });
  }
  const merges = metadata.get(`${TOKENIZER}merges`);
  if (!isTexts(merges)) throw refusal(label, 'merges', kindOf(merges), 'a list of texts');
  const wrong = merges.findIndex((merge) => !/^[^ ]+ [^ ]+$/.test(merge));
  if (wrong >= 0) throw refusal(label, `merges[${wrong}]`, merges[wrong], 'two pieces with a space between them');
  return assemble(vocabulary, {
    normalizer: split.normalizer,
    preTokenizer: split.preTokenizer,
    postProcessor: bosAndEos(vocabulary, { bos: split.addBos, eos: false }),
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: bpe(tokens, merges, { ignore_merges: split.ignoreMerges }),
  });
}

/** @param {string[]} tokens @param {string[]} merges @param {TokenizerJson} settings @returns {Part} */
function bpe(tokens, merges, settings) {
  return {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: false,
    ...settings,
    vocab: idsOf(tokens),
    merges,
  };
}

/** Converters write runs of spaces that SentencePiece was told to keep as plain spaces. @param {string} text */
const isSpaces = (text) => /^ +$/.test(text);

/** @param {Vocabulary} vocabulary @returns {TokenizerJson} */
function scoredBpe(vocabulary) {
  const { types } = vocabulary;
  const scores = scoresOf(vocabulary);
  const tokens = vocabulary.tokens.map((token) => (isSpaces(token) ? token.replaceAll(' ', SPACE) : token));
  const isMade = (/** @type {number} */ id) =>
    types[id] === NORMAL || (types[id] === USER_DEFINED && isSpaces(vocabulary.tokens[id]));
  const merges = mergesOf(tokens, scores, isMade);
  if (merges === null) {
    const want = 'texts that are made of each other in fewer ways';
    throw refusal(vocabulary.label, 'tokens', `${tokens.length} tokens`, want);
  }
  const unknown = idAt(vocabulary, 'unknown', 0);
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: SPACE };
  const hasPrefix = flagAt(vocabulary, 'add_space_prefix', true);
  const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
  const decoders = [
    { type: 'Replace', pattern: { String: SPACE }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    ...(hasPrefix ? [strip] : []),
  ];
  return assemble(vocabulary, {
    normalizer: hasPrefix ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: SPACE }, replace] } : replace,
    preTokenizer: null,
    postProcessor: bosAndEos(vocabulary, { bos: true, eos: false, bosId: 1, eosId: 2 }),
    decoder: { type: 'Sequence', decoders },
    model: bpe(tokens, merges, {
      unk_token: unknown === null ? null : tokens[unknown],
      fuse_unk: true,
      byte_fallback: Array.prototype.includes.call(types, BYTE),
    }),
    isAdded: (text) => !isSpaces(text),
  });
}

/** @param {Vocabulary} vocabulary @returns {TokenizerJson} */
function unigram(vocabulary) {
  const { metadata, label, tokens } = vocabulary;
  const scores = scoresOf(vocabulary);
  const map = metadata.get(`${TOKENIZER}precompiled_charsmap`) ?? null;
  if (map !== null && !(map instanceof Uint8Array || map instanceof Int8Array)) {
    throw refusal(label, 'precompiled_charsmap', kindOf(map), 'bytes');
  }
  const prefix = flagAt(vocabulary, 'add_space_prefix', true) ? 'always' : 'never';
  const metaspace = { type: 'Metaspace', replacement: SPACE, prepend_scheme: prefix, split: true };
  // Runs of spaces count as one, unless the file says that they do not.
  const isTidy = flagAt(vocabulary, 'remove_extra_whitespaces', true);
  return assemble(vocabulary, {
    normalizer: map === null ? null : charsmap(map),
    preTokenizer: isTidy ? { type: 'Sequence', pretokenizers: [SPACES, metaspace] } : metaspace,
    postProcessor: bosAndEos(vocabulary, { bos: false, eos: true, eosId: 1 }),
    decoder: metaspace,
    model: {
      type: 'Unigram',
      unk_id: idAt(vocabulary, 'unknown', 2),
      vocab: tokens.map((token, id) => [token, scores[id]]),
      byte_fallback: false,
    },
  });
}

/** The package looks whole graphemes up; what made this file, and llama.cpp, the longest text. @param {Uint8Array | Int8Array} map @returns {Part} */
const charsmap = (map) => ({ type: 'Precompiled', precompiled_charsmap: base64(map), longest_match: true });

/** @param {Uint8Array | Int8Array} list @returns {string} */
function base64(list) {
  const bytes = new Uint8Array(list.buffer, list.byteOffset, list.length);
  let text = '';
  for (let at = 0; at < bytes.length; at += BASE64_PART) {
    text += String.fromCharCode(...bytes.subarray(at, at + BASE64_PART));
  }
  return btoa(text);
}

/** @param {string} token @returns {string} */
function wordPieceText(token) {
  if (token.startsWith(SPACE) && token.length > 1) return token.slice(1);
  return token === '' || (token.startsWith('[') && token.endsWith(']')) ? token : `##${token}`;
}

/** @param {Vocabulary} vocabulary @returns {TokenizerJson} */
function wordPiece(vocabulary) {
  const tokens = vocabulary.tokens.map(wordPieceText);
  checkTwice(tokens, vocabulary.label);
  const renamed = { ...vocabulary, tokens };
  const [cls, sep] = [idAt(renamed, 'bos', 101) ?? 101, idAt(renamed, 'seperator', 102) ?? 102];
  const unknown = idAt(renamed, 'unknown', 100) ?? 100;
  /** @param {number} id @param {number} type */
  const special = (id, type) => ({ SpecialToken: { id: tokens[id], type_id: type } });
  const single = [special(cls, 0), { Sequence: { id: 'A', type_id: 0 } }, special(sep, 0)];
  const pair = [...single, { Sequence: { id: 'B', type_id: 1 } }, special(sep, 1)];
  // The file does not say whether the model knows capitals; one that does has words with them.
  const lowercase = !tokens.some((token) => /^[A-Z][a-z]/.test(token));
  return assemble(renamed, {
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase,
    },
    preTokenizer: { type: 'BertPreTokenizer' },
    postProcessor: template(tokens, [cls, sep], single, pair),
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: tokens[unknown],
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: idsOf(tokens),
    },
  });
}
