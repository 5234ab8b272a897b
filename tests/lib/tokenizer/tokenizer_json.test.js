import assert from 'node:assert/strict';
import test from 'node:test';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { expectError } from '../expect_error.js';

/** @typedef {Record<string, any>} Json */

/** A complete tokenizer.json of eight pieces. @returns {Json} */
const sample = () => ({
  version: '1.0',
  truncation: { max_length: 3 },
  padding: { strategy: { Fixed: 128 } },
  added_tokens: [
    { id: 1, content: '[CLS]', special: true, normalized: false },
    { id: 2, content: '[SEP]', special: true, normalized: false },
  ],
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
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { Sequence: { id: 'B', type_id: 1 } },
    ],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [1], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [2], tokens: ['[SEP]'] },
    },
  },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: { '[UNK]': 0, '[CLS]': 1, '[SEP]': 2, a: 3, b: 4, '##c': 5, '##d': 6, Ab: 7 },
  },
});
/** @param {(json: Json) => unknown} change @param {number} [vocab] */
const tokenizerOf = (change, vocab = 16) => {
  const json = sample();
  const replaced = change(json);
  return createTokenizer(replaced === undefined ? json : replaced, { vocab, maxTokens: 16 });
};
/** @param {(json: Json) => unknown} change @param {string} text @param {string} [pair] */
const pieces = (change, text, pair) =>
  tokenizerOf(change)
    .encode(text, pair)
    .tokens.map((token) => token.text);
const nothing = () => undefined;
/** @param {string} path keys with dots between them @param {unknown} value undefined takes the key out */
const put = (path, value) => (/** @type {Json} */ json) => {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce((node, key) => node[key], json);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
};

test('a complete file works; its own truncation and padding are ignored', () => {
  assert.deepEqual(pieces(nothing, 'acd ab Ab x'), ['[CLS]', 'a', '##c', '##d', '[UNK]', '[UNK]', '[UNK]', '[SEP]']);
  assert.deepEqual(pieces(nothing, 'a', 'b'), ['[CLS]', 'a', 'b']);
});

/** @param {unknown} inner @param {number} depth */
const nested = (inner, depth) => {
  let node = inner;
  for (let i = 0; i < depth; i++) node = { type: 'Sequence', normalizers: [node] };
  return node;
};

/** @type {[string, (json: Json) => unknown, RegExp][]} */
const REFUSED = [
  ['an empty object', () => ({}), /model: got "nothing", want an object/],
  ['null', () => null, /the whole file: got null/],
  ['a list', () => [], /the whole file/],
  ['a model of null', put('model', null), /model: got null/],
  [
    'an unknown kind of model',
    put('model.type', 'Neural'),
    /model\.type: got "Neural", want WordPiece, BPE, Unigram, WordLevel\. Give/,
  ],
  ['a vocabulary that is a list', put('model.vocab', ['a']), /model\.vocab: got "a list of 1", want an object/],
  ['an empty vocabulary', put('model.vocab', {}), /model\.vocab/],
  ['an id of -1', put('model.vocab.a', -1), /model\.vocab\["a"\]: got -1, want a whole number from 0 to 15/],
  ['an id of 2^31', put('model.vocab.a', 2 ** 31), /model\.vocab\["a"\]: got 2147483648/],
  ['an id of 1.5', put('model.vocab.a', 1.5), /model\.vocab\["a"\]: got 1\.5/],
  ['an id in quotes', put('model.vocab.a', '3'), /model\.vocab\["a"\]: got "3"/],
  ['an id of null', put('model.vocab.a', null), /model\.vocab\["a"\]: got null/],
  [
    'an id as large as the table',
    put('model.vocab.a', 16),
    /got 16, want a whole number from 0 to 15.*belong together/,
  ],
  [
    'no unknown token',
    put('model.vocab.[UNK]', undefined),
    /model\.unk_token: got "\[UNK\]", want a token of model\.vocab/,
  ],
  ['an unknown token of null', put('model.unk_token', 5), /model\.unk_token/],
  ['a word limit of 0', put('model.max_input_chars_per_word', 0), /max_input_chars_per_word/],
  ['a word limit of a billion', put('model.max_input_chars_per_word', 1e9), /max_input_chars_per_word/],
  [
    '3000 nested normalisers',
    put('normalizer', nested({ type: 'BertNormalizer' }, 3000)),
    /normalizer: got "deeper nesting", want at most 8/,
  ],
  [
    'a normaliser of no kind',
    put('normalizer', { type: 'Sequence', normalizers: [{ type: 'NFC' }, {}] }),
    /normalizer\.normalizers\[1\]\.type: got "nothing", want one of BertNormalizer, NFC/,
  ],
  [
    'another pre-tokenizer',
    put('pre_tokenizer', { type: '__proto__' }),
    /pre_tokenizer\.type: got "__proto__", want one of BertPreTokenizer/,
  ],
  ['another post-processor', put('post_processor', { type: 'Script' }), /post_processor\.type/],
  ['a template without the text', put('post_processor.single', []), /post_processor\.single: got "the texts nowhere"/],
  [
    'a template with the text twice',
    (json) => void json.post_processor.single.push({ Sequence: { id: 'A' } }),
    /single: got "the texts 0,0"/,
  ],
  [
    'a template of a hundred tokens',
    put('post_processor.single', Array(100).fill({ Sequence: { id: 'A' } })),
    /at most 64 entries/,
  ],
  [
    'a template with a stranger',
    put('post_processor.single.0.SpecialToken.id', '__proto__'),
    /a key of post_processor\.special_tokens/,
  ],
  [
    'a template id outside the table',
    put('post_processor.special_tokens.[CLS].ids', [99]),
    /special_tokens\["\[CLS\]"\]\.ids: got 99/,
  ],
  ['added tokens that are no list', put('added_tokens', {}), /added_tokens: got "an object", want a list/],
  ['an added token whose id is no number', put('added_tokens.0.id', '1'), /added_tokens\[0\]\.id: got "1"/],
  ['an added token without text', put('added_tokens.0.content', undefined), /added_tokens\[0\]\.content/],
  ['an endless added token', put('added_tokens.0.content', 'x'.repeat(2000)), /2000 characters/],
];

for (const [what, change, message] of REFUSED) {
  test(`refused: a tokenizer.json with ${what}`, async () => {
    const error = await expectError(() => tokenizerOf(change), 'tokenizer', message);
    assert.ok(error.message.startsWith('tokenizer.json: '));
  });
}

test('pieces called like members of an object are pieces', () => {
  const vocab = JSON.parse('{"[UNK]":0,"__proto__":8,"constructor":9,"tostring":10,"_":11,"proto":12}');
  const text = 'constructor toString __proto__ valueOf';
  const { ids } = tokenizerOf(put('model.vocab', vocab)).encode(text);
  assert.deepEqual([...ids], [1, 9, 10, 11, 11, 12, 11, 11, 0, 2]);
});

test('a cased model keeps case and accents, and a file without normaliser changes nothing', () => {
  const cased = (/** @type {Json} */ json) =>
    void Object.assign(json.normalizer, { lowercase: false, strip_accents: false });
  assert.deepEqual(pieces(cased, 'Ab ab á'), ['[CLS]', 'Ab', '[UNK]', '[UNK]', '[SEP]']);
  assert.deepEqual(pieces(put('normalizer', null), 'Ab a\0'), ['[CLS]', 'Ab', '[UNK]', '[SEP]']);
  assert.deepEqual(pieces(put('normalizer', nested(sample().normalizer, 3)), 'Á'), ['[CLS]', 'a', '[SEP]']);
  assert.deepEqual(pieces(put('pre_tokenizer', null), 'a b'), ['[CLS]', '[UNK]', '[SEP]']);
});

test('the older spelling of the template does the same', () => {
  const older = put('post_processor', { type: 'BertProcessing', sep: ['[SEP]', 2], cls: ['[CLS]', 1] });
  assert.deepEqual(pieces(older, 'a', 'b'), ['[CLS]', 'a', '[SEP]', 'b', '[SEP]']);
  assert.deepEqual([...tokenizerOf(older).encode('a', 'b').typeIds], [0, 0, 0, 1, 1]);
  assert.deepEqual(pieces(put('post_processor', null), 'a', 'b'), ['a', 'b']);
});

test('added tokens take spaces, need word borders, or are sought after normalising, as they ask for', () => {
  /** @param {Json} token */
  const withToken = (token) => (/** @type {Json} */ json) =>
    void json.added_tokens.push({ id: 9, content: 'new', ...token });
  /** @param {Json} token @param {string} text */
  const places = (token, text) =>
    tokenizerOf(withToken(token))
      .encode(text)
      .tokens.filter(({ id }) => id === 8)
      .map(({ start, end }) => [start, end]);
  assert.deepEqual(places({ normalized: false }, 'a new anew NEW'), [
    [2, 5],
    [7, 10],
  ]);
  assert.deepEqual(places({ normalized: false, single_word: true }, 'a new anew new'), [
    [2, 5],
    [11, 14],
  ]);
  assert.deepEqual(places({ normalized: false, lstrip: true, rstrip: true }, 'a  new  b'), [[1, 8]]);
  assert.deepEqual(places({ normalized: true }, 'NÉW nEw'), [
    [0, 3],
    [4, 7],
  ]);
  assert.equal(tokenizerOf(withToken({})).textOf(8), 'new');
});

test('an added token beyond the table is left out: its text is ordinary', () => {
  const beyond = (/** @type {Json} */ json) =>
    void json.added_tokens.push({ id: 8, content: '<image>', special: true });
  const { tokens } = tokenizerOf(beyond, 8).encode('<image>');
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ['[CLS]', '[UNK]', '[UNK]', '[UNK]', '[SEP]'],
  );
  assert.equal(tokenizerOf(beyond, 8).idOf('<image>'), undefined);
});

test('the word limit counts characters, however many units they take', () => {
  const tokenizer = tokenizerOf((json) => {
    json.model.max_input_chars_per_word = 3;
    Object.assign(json.model.vocab, { '😀': 8, '##😀': 9 });
  });
  assert.deepEqual([...tokenizer.encode('😀😀😀 😀😀😀😀').ids], [1, 8, 9, 9, 0, 2]);
});

test('letters that only newer Unicode decomposes stay whole, whatever the browser knows', () => {
  for (const letter of ['\u{11938}', '\u{16122}', '\u{113c5}']) {
    const { ids } = tokenizerOf((json) => void Object.assign(json.model.vocab, { [letter]: 8 })).encode(letter);
    assert.deepEqual([...ids], [1, 8, 2], letter);
  }
});

test('W7: an added token has the id of its piece, or the next one behind the vocabulary, whatever the file says', () => {
  const { encode, idOf } = tokenizerOf((json) => {
    json.added_tokens[0].id = 9;
    for (const content of ['new', '', 'newer', 'new']) json.added_tokens.push({ id: 2, content, normalized: false });
  });
  assert.deepEqual([...encode('[CLS]newernew').ids], [1, 1, 9, 8, 2]);
  assert.deepEqual([idOf('new'), idOf('newer'), idOf('[CLS]')], [8, 9, 1]);
});

test('W7: pieces may share an id, a template may begin with the second text and have specials in a row', () => {
  const special = (/** @type {string} */ id) => ({ SpecialToken: { id, type_id: 0 } });
  const tokenizer = tokenizerOf((json) => {
    json.model.vocab.b = 3;
    json.post_processor.single.unshift(special('[SEP]'));
    json.post_processor.pair = [{ Sequence: { id: 'B', type_id: 1 } }, special('[SEP]'), { Sequence: { id: 'A' } }];
  });
  assert.deepEqual([...tokenizer.encode('a b').ids], [2, 1, 3, 3, 2]);
  const { ids, typeIds, tokens } = tokenizer.encode('ac', 'b');
  assert.deepEqual([...ids], [3, 2, 3, 5]);
  assert.deepEqual([...typeIds], [1, 0, 0, 0]);
  assert.deepEqual(
    tokens.map(({ segment, start, end }) => [segment, start, end]),
    [
      [1, 0, 1],
      [1, 1, 1],
      [0, 0, 1],
      [0, 1, 2],
    ],
  );
});

test('W7: without unknown token WordLevel takes the words it has, and names the one that it has not', async () => {
  const words = put('model', { type: 'WordLevel', unk_token: '?', vocab: { a: 3, b: 4 } });
  assert.deepEqual([...tokenizerOf(words).encode('a b').ids], [1, 3, 4, 2]);
  await expectError(
    () => tokenizerOf(words).encode('a c'),
    'text',
    /A word of the text: got "c", want a word of the voc/,
  );
});
