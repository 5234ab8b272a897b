/** Tokenizers that went through GGUF: what the converter keeps of a tokenizer.json gives the ids of the original again, as the
 * Rust package computed them for hundreds of hostile texts (tests/golden/tokenizers). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { mergesOf } from '../../../web/lib/formats/gguf/gguf_merges.js';
import { ggufTokenizer } from '../../../web/lib/formats/gguf/gguf_tokenizer.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { goldenCases, goldenJson } from '../tokenizer/golden_tokenizer.js';

/** @typedef {Record<string, any>} Json */
/** @typedef {import('../../../web/lib/formats/gguf/gguf_header.js').Metadata} Metadata */

const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const BYTE = 6;

/** Texts and ids, whatever way the model keeps them. @param {Json} json @returns {string[]} */
function tokensOf({ model, added_tokens: added }) {
  /** @type {string[]} */
  const tokens = [];
  if (Array.isArray(model.vocab)) for (const [id, [text]] of model.vocab.entries()) tokens[id] = text;
  else for (const [text, id] of Object.entries(model.vocab)) tokens[id] = text;
  for (const { id, content } of added) tokens[id] = content;
  return tokens;
}

/** @param {Json} json @param {string[]} tokens @returns {Int32Array} */
function typesOf({ model, added_tokens: added }, tokens) {
  const types = new Int32Array(tokens.length).fill(NORMAL);
  if (model.byte_fallback) for (const [id, text] of tokens.entries()) if (/^<0x..>$/.test(text)) types[id] = BYTE;
  for (const { id, special } of added) types[id] = special ? CONTROL : USER_DEFINED;
  const unknown = typeof model.unk_id === 'number' ? model.unk_id : tokens.indexOf(model.unk_token);
  if (unknown >= 0) types[unknown] = UNKNOWN;
  return types;
}

/** SentencePiece's scores for BPE: what is merged first scores best, single characters come last. @param {Json} json @param {string[]} tokens */
function scoresOf({ model }, tokens) {
  if (model.type === 'Unigram') return Float32Array.from(tokens, (_, id) => model.vocab[id]?.[1] ?? 0);
  const scores = new Float32Array(tokens.length).fill(-1e6);
  const ids = new Map(tokens.map((token, id) => [token, id]));
  /** @type {Set<number>} */
  const done = new Set();
  for (const merge of model.merges) {
    const id = ids.get((Array.isArray(merge) ? merge : merge.split(' ')).join('')) ?? -1;
    if (!done.has(id)) scores[id] = -done.size;
    done.add(id);
  }
  return scores;
}

/** @param {Json} json @param {Record<string, string | boolean>} told @returns {Metadata} */
function metadataOf(json, told) {
  const tokens = tokensOf(json);
  const merges = json.model.merges?.map((/** @type {string | string[]} */ m) => (Array.isArray(m) ? m.join(' ') : m));
  const charsmap = json.normalizer?.precompiled_charsmap ?? json.normalizer?.normalizers?.[0]?.precompiled_charsmap;
  const ids = { bos: ['<s>', '<|begin_of_text|>', '[CLS]'], eos: ['</s>', '<|end_of_text|>'], seperator: ['[SEP]'] };
  /** @type {Metadata} */
  const metadata = new Map([['general.architecture', 'llama']]);
  const put = (/** @type {string} */ key, /** @type {any} */ value) => metadata.set(`tokenizer.ggml.${key}`, value);
  put('tokens', json.model.type === 'WordPiece' ? tokens.map(withSpaceMark) : tokens);
  put('token_type', typesOf(json, tokens));
  if (told.model === 'gpt2') put('merges', merges);
  else if (told.model !== 'bert') put('scores', scoresOf(json, tokens));
  if (charsmap !== undefined) put('precompiled_charsmap', Uint8Array.from(Buffer.from(charsmap, 'base64')));
  for (const [key, names] of Object.entries(ids)) {
    const id = tokens.findIndex((token) => names.includes(token));
    if (id >= 0) put(`${key}_token_id`, id);
  }
  const unknown = tokens.findIndex((token) => token === '<unk>' || token === '[UNK]');
  if (unknown >= 0) put('unknown_token_id', unknown);
  for (const [key, value] of Object.entries(told)) put(key, value);
  return metadata;
}

/** As the converter writes WordPiece. @param {string} token */
function withSpaceMark(token) {
  if (/^\[.*\]$/.test(token)) return token;
  return token.startsWith('##') ? token.slice(2) : `▁${token}`;
}

/** @type {[string, Record<string, string | boolean>][]} */
const CASES = [
  ['gpt2', { model: 'gpt2', pre: 'gpt-2' }],
  ['smollm2', { model: 'gpt2', pre: 'smollm' }],
  ['llama3', { model: 'gpt2', pre: 'llama-bpe' }],
  ['qwen2', { model: 'gpt2', pre: 'qwen2' }],
  ['llama2', { model: 'llama' }],
  ['gemma', { model: 'llama', add_space_prefix: false }],
  ['xlm_roberta', { model: 't5', add_bos_token: true, remove_extra_whitespaces: true }],
  ['t5', { model: 't5', remove_extra_whitespaces: false }],
  ['cased', { model: 'bert' }],
];

for (const [name, told] of CASES) {
  test(`${name}: ids after a way through GGUF are those of the original`, () => {
    const json = /** @type {Json} */ (ggufTokenizer(metadataOf(goldenJson(name), told), 'f.gguf', 4096));
    // The goldens are the Rust package's, which applies a charsmap in its own way.
    if (told.model === 't5') delete json.normalizer.longest_match;
    const tokenizer = createTokenizer(json, { vocab: 4096, maxTokens: 1e9 });
    let checks = 0;
    for (const { text, pair, golden } of goldenCases(name)) {
      // GGUF does not say that spaces behind <extra_id_0> belong to it.
      if (pair !== null || text.includes('<extra_id_')) continue;
      // The package cuts there; for sentencepiece only a space is one.
      if (told.model === 't5' && text.includes('\u0085')) continue;
      assert.deepEqual([...tokenizer.encode(text).ids], golden[0], JSON.stringify(text));
      checks++;
    }
    assert.ok(checks > 400);
  });
}

test('W5: a t5 file with a charsmap gives the ids of sentencepiece', () => {
  const file = new URL('../../golden/tokenizers/edges/sentencepiece.golden.gz', import.meta.url);
  const { tokens, scores, types, texts, ids } = JSON.parse(gunzipSync(readFileSync(file)).toString());
  const charsmap = gunzipSync(readFileSync(new URL('../nmt_nfkc.gz', file)));
  /** @type {Metadata} */
  const metadata = new Map(
    Object.entries({
      'tokenizer.ggml.model': 't5',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.scores': Float32Array.from(scores),
      'tokenizer.ggml.token_type': Int32Array.from(types),
      'tokenizer.ggml.precompiled_charsmap': new Uint8Array(charsmap),
      'tokenizer.ggml.add_eos_token': false,
      'tokenizer.ggml.remove_extra_whitespaces': true,
    }),
  );
  const tokenizer = createTokenizer(ggufTokenizer(metadata, 'f.gguf', 4096), { vocab: 4096, maxTokens: 1e9 });
  for (const [i, text] of texts.entries()) {
    assert.deepEqual([...tokenizer.encode(text).ids], ids[i], JSON.stringify(text));
  }
  const pieces = (/** @type {string} */ text) => [...tokenizer.encode(text).ids].map((id) => tokens[id]).join(' ');
  assert.equal(pieces('\u1100\u1161\u11a8'), '▁각');
  assert.equal(pieces('CAFE\u0301'), '▁C A F É');
  assert.ok(texts.length > 1000);
});

test('parts that the file only names are the published ones', () => {
  for (const name of ['gpt2', 'smollm2', 'llama3', 'qwen2']) {
    const told = CASES.find(([one]) => one === name)?.[1] ?? {};
    const original = goldenJson(name);
    const json = /** @type {Json} */ (ggufTokenizer(metadataOf(original, told), 'f.gguf', 4096));
    assert.deepEqual(json.normalizer, original.normalizer, name);
    assert.deepEqual(json.pre_tokenizer, original.pre_tokenizer, name);
    assert.deepEqual({ ...json.model.vocab }, original.model.vocab, name);
    assert.equal(json.model.ignore_merges, original.model.ignore_merges, name);
    assert.deepEqual(json.added_tokens, original.added_tokens, name);
  }
});

test('ties between merges: longer left sides, then longer right sides, then smaller ids first', () => {
  const tokens = ['a', 'b', 'ab', 'aba', 'ba', '😀', '😀a', 'no'];
  const merges = mergesOf(tokens, [0, 0, -1, -1, -1, 0, -1, 9], (id) => id !== 7) ?? [];
  assert.deepEqual(merges, ['ab a', 'a ba', 'a b', 'b a', '😀 a']);
});

test('a vocabulary whose tokens are made of each other in endless ways is refused soon', () => {
  const tokens = Array.from({ length: 3000 }, (_, i) => 'a'.repeat(i + 1));
  /** @type {Metadata} */
  const metadata = new Map(
    Object.entries({
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.scores': new Float32Array(tokens.length),
    }),
  );
  assert.throws(() => ggufTokenizer(metadata, 'f.gguf', 4096), { code: 'tokenizer' });
});

test('files from before the split was named go by their architecture', () => {
  const original = goldenJson('qwen2');
  for (const [architecture, want] of [
    ['qwen2', 'NFC'],
    ['gpt2', undefined],
  ]) {
    for (const pre of [undefined, 'default']) {
      const metadata = metadataOf(original, { model: 'gpt2', ...(pre === undefined ? {} : { pre }) });
      metadata.set('general.architecture', architecture ?? '');
      const json = /** @type {Json} */ (ggufTokenizer(metadata, 'f.gguf', 4096));
      assert.equal(json.normalizer?.type, want);
    }
  }
});

test('BOS and EOS are added as the file says', () => {
  const metadata = metadataOf(goldenJson('llama3'), {
    model: 'gpt2',
    pre: 'gpt-2',
    add_bos_token: true,
    add_eos_token: true,
  });
  const tokenizer = createTokenizer(ggufTokenizer(metadata, 'f.gguf', 4096), { vocab: 4096, maxTokens: 99 });
  const { ids, typeIds } = tokenizer.encode('a', 'b');
  const words = Array.from(ids, (id) => (id < 3 ? id : 'x'));
  assert.deepEqual(words, [0, 'x', 1, 0, 'x', 1]);
  assert.deepEqual([...typeIds], [0, 0, 0, 1, 1, 1]);
});

test('runs of spaces that SentencePiece keeps are made by merging, other user-defined tokens are cut out first', () => {
  const tokens = ['<unk>', '<s>', '</s>', '▁', '  ', '    ', '\n\n', 'a'];
  /** @type {Metadata} */
  const metadata = new Map(
    Object.entries({
      'tokenizer.ggml.model': 'llama',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': Int32Array.of(2, 3, 3, 1, 4, 4, 4, 1),
      'tokenizer.ggml.scores': Float32Array.of(0, 0, 0, -5, 0, 0, 0, -6),
      'tokenizer.ggml.add_space_prefix': false,
      'tokenizer.ggml.add_bos_token': false,
    }),
  );
  const json = /** @type {Json} */ (ggufTokenizer(metadata, 'f.gguf', 4096));
  assert.deepEqual(
    json.added_tokens.map((/** @type {Json} */ token) => token.content),
    ['<unk>', '<s>', '</s>', '\n\n'],
  );
  const { ids } = createTokenizer(json, { vocab: 8, maxTokens: 99 }).encode('a    a  \n\na');
  assert.deepEqual([...ids], [7, 5, 7, 4, 6, 7]);
});
