/**
 * Tiny random models of tests/golden/tiny as folders that a reader of the page could have: with a tokenizer, since those
 * of the goldens come without one.
 */
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const GOLDEN = fileURLToPath(new URL('../golden/tiny/', import.meta.url));
const SPECIAL = ['<pad>', '<s>', '</s>'];
/** The bytes of 京 in the alphabet of byte-level vocabularies. */
const BYTES = ['ä', 'º', '¬'];
const MERGES = ['t h', 'Ġ t', 'Ġt h', 'Ġth e', 'o n', 'e r', 'a t', 'Ġ c', 'Ġc at', 'i n'];

/** Byte-level BPE in so few pieces that they fit into the vocabularies of the goldens. */
function byteLevel() {
  const pieces = [...SPECIAL, 'Ġ', '.', ',', ...BYTES, ...'abcdefghijklmnopqrstuvwxyz', ...MERGES.map(joined)];
  return {
    version: '1.0',
    added_tokens: SPECIAL.map((content, id) => addedToken(id, content)),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges: MERGES.map((merge) => merge.split(' ')),
    },
  };
}

/** WordPiece with a mask token, for masked language models. */
function wordPiece() {
  const pieces = [
    '<s>',
    '<pad>',
    '</s>',
    '[UNK]',
    '<mask>',
    '.',
    ...'abcdefghijklmnopqrstuvwxyz',
    'the',
    'cat',
    'sat',
    '##s',
  ];
  const special = ['<s>', '<pad>', '</s>', '[UNK]', '<mask>'];
  const [start, end] = ['<s>', '</s>'].map((id) => ({ SpecialToken: { id, type_id: 0 } }));
  return {
    version: '1.0',
    added_tokens: special.map((content) => addedToken(pieces.indexOf(content), content)),
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [start, { Sequence: { id: 'A', type_id: 0 } }, end],
      pair: [start, { Sequence: { id: 'A', type_id: 0 } }, end, { Sequence: { id: 'B', type_id: 0 } }, end],
      special_tokens: Object.fromEntries(
        ['<s>', '</s>'].map((id) => [id, { id, ids: [pieces.indexOf(id)], tokens: [id] }]),
      ),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
    },
  };
}

/** @param {string} merge */
const joined = (merge) => merge.replace(' ', '');

/** @param {number} id  @param {string} content */
const addedToken = (id, content) => ({
  ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
});

/**
 * @param {string} name a folder of tests/golden/tiny
 * @param {'byteLevel' | 'wordPiece'} [tokenizer]
 * @returns {string} the folder, which the caller removes
 */
export function tinyFolder(name, tokenizer = 'byteLevel') {
  const folder = join(mkdtempSync(join(tmpdir(), 'qkv-')), `tiny ${name}`);
  mkdirSync(folder);
  const filter = (/** @type {string} */ source) => !/golden-|config\.v4/.test(source);
  cpSync(join(GOLDEN, name), folder, { recursive: true, filter });
  const json = tokenizer === 'byteLevel' ? byteLevel() : wordPiece();
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
  return folder;
}
