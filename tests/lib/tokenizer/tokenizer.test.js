import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { MAX_TEXT } from '../../../web/lib/tokenizer/index.js';
import { expectError } from '../expect_error.js';
import { minilmTokenizer } from './minilm_tokenizer.js';

const tokenizer = minilmTokenizer();
/** @param {string} text @param {string} [pair] */
const pieces = (text, pair) => tokenizer.encode(text, pair).tokens.map((token) => token.text);
/** @param {string} text without what BERT ignores, however it is written */
const bare = (text) =>
  text
    .replace(/^##/, '')
    .normalize('NFD')
    .replace(/[\p{M}\p{C}\ufffd]/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ');

test('a sentence becomes pieces that know their word, place and part', () => {
  const { tokens, ids, typeIds, truncated } = tokenizer.encode("Don't be unaffable!");
  assert.deepEqual(
    tokens.map(({ text, word, start, end }) => [text, word, start, end]),
    [
      ['[CLS]', null, 0, 0],
      ['don', 0, 0, 3],
      ["'", 1, 3, 4],
      ['t', 2, 4, 5],
      ['be', 3, 6, 8],
      ['una', 4, 9, 12],
      ['##ffa', 4, 12, 15],
      ['##ble', 4, 15, 18],
      ['!', 5, 18, 19],
      ['[SEP]', null, 19, 19],
    ],
  );
  assert.deepEqual(
    [...ids],
    tokens.map(({ id }) => id),
  );
  assert.deepEqual([...typeIds], Array(10).fill(0));
  assert.equal(truncated, null);
  assert.deepEqual(tokens[5], {
    id: 14477,
    text: 'una',
    word: 4,
    start: 9,
    end: 12,
    special: false,
    segment: 0,
    sequence: 0,
    side: 'source',
  });
});

test('a pair has two segments, each with words and offsets of its own', () => {
  const { tokens, typeIds } = tokenizer.encode('a cat', 'the dog');
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ['[CLS]', 'a', 'cat', '[SEP]', 'the', 'dog', '[SEP]'],
  );
  assert.deepEqual([...typeIds], [0, 0, 0, 0, 1, 1, 1]);
  assert.deepEqual(
    tokens.map(({ segment }) => segment),
    [0, 0, 0, 0, 1, 1, 1],
  );
  assert.deepEqual(
    tokens.map(({ word }) => word),
    [null, 0, 1, null, 0, 1, null],
  );
  assert.deepEqual(
    tokens.slice(4).map(({ start, end }) => [start, end]),
    [
      [0, 3],
      [4, 7],
      [7, 7],
    ],
  );
  assert.deepEqual(pieces('a', ''), ['[CLS]', 'a', '[SEP]', '[SEP]']);
});

test('special tokens are those that were added and those that the user typed; the unknown token is a word', () => {
  const { tokens } = tokenizer.encode('[MASK] x [SEP] 𠀀 [UNK]');
  assert.deepEqual(
    tokens.map(({ text, special }) => [text, special]),
    [
      ['[CLS]', true],
      ['[MASK]', true],
      ['x', false],
      ['[SEP]', true],
      ['[UNK]', false],
      ['[UNK]', false],
      ['[SEP]', true],
    ],
  );
  assert.equal(tokenizer.isSpecial(101), true);
  assert.equal(tokenizer.isSpecial(100), false);
  assert.deepEqual(tokenizer.separators, [102]);
  assert.equal(tokenizer.textOf(7592), 'hello');
  assert.equal(tokenizer.textOf(99_999), '#99999');
});

test('text without words is the two special tokens', () => {
  for (const text of ['', ' ', '\n'.repeat(10_000), '\0\ufffd\u200b\u202e', '\ud800', '\u0301', '\u00a0\u3000\u2028']) {
    assert.deepEqual(pieces(text), ['[CLS]', '[SEP]'], JSON.stringify(text.slice(0, 9)));
  }
});

test('composed and decomposed letters give the same ids', () => {
  for (const text of [
    'Café naïve',
    'Ångström',
    'Việt ế ở ữ',
    'ἄνθρωπος',
    'Йод ё',
    '한국어 가각',
    'नमस्ते क़',
    'שָׁלוֹם',
    'ガギグ',
  ]) {
    assert.deepEqual(tokenizer.encode(text.normalize('NFD')).ids, tokenizer.encode(text.normalize('NFC')).ids, text);
  }
});

test('a capital sigma becomes σ wherever it stands, as in the Rust tokenizer', () => {
  const [capital, small] = ['ΣΑΣ', 'σασ'].map((text) => [...tokenizer.encode(text).ids]);
  assert.deepEqual(capital, small);
});

test('characters outside 16 bits count two units and are never cut in half', () => {
  const text = '👍 𠀀𠀁x [SEP]😀';
  const { tokens } = tokenizer.encode(text);
  assert.deepEqual(
    tokens.slice(1, -1).map(({ start, end }) => text.slice(start, end)),
    ['👍', '𠀀', '𠀁', 'x', '[SEP]', '😀'],
  );
});

test('whatever the text, places are in range, in order, and hold what the piece says', () => {
  const units = fc.array(fc.nat(0xffff), { maxLength: 40 }).map((codes) => String.fromCharCode(...codes));
  const mixed = fc.array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 5 }),
      fc.constantFrom(
        '[CLS]',
        '[SEP]',
        '##',
        'playing',
        'é',
        'e\u0301',
        'Σ',
        '\ud83d',
        '\u202e',
        '漢',
        '한',
        ' ',
        '👨‍👩‍👧',
        'İ',
      ),
    ),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        units,
        mixed.map((parts) => parts.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        let last = 0;
        for (const { id, text: piece, start, end, word } of tokenizer.encode(text).tokens) {
          assert.ok(Number.isInteger(id) && id >= 0 && id < 30522);
          assert.ok(last <= start && start <= end && end <= text.length);
          if (word !== null) assert.ok(start < end);
          if (word !== null && piece !== '[UNK]') {
            // Pieces that share a Hangul syllable all have its place, so there the slice only contains the piece.
            const slice = bare(text.slice(start, end));
            assert.ok(/\p{Script=Hangul}/u.test(slice) ? slice.includes(bare(piece)) : slice === bare(piece));
          }
          last = start;
        }
      },
    ),
    { seed: 6, numRuns: 3000 },
  );
});

test('ten thousand words are cut to the limit, and both counts are told', () => {
  const { tokens, ids, truncated } = tokenizer.encode('attention '.repeat(10_000));
  assert.deepEqual(truncated, { from: 10_002, to: 512 });
  assert.equal(ids.length, 512);
  assert.equal(tokens.at(-1)?.text, '[SEP]');
  assert.deepEqual([tokens.at(-1)?.start, tokens.at(-1)?.end], [tokens.at(-2)?.end, tokens.at(-2)?.end]);
  assert.equal(tokenizer.encode('attention '.repeat(510)).truncated, null);
  assert.deepEqual(tokenizer.encode('attention '.repeat(511)).truncated, { from: 513, to: 512 });
});

test('the longer text of a pair is cut first, and the separators stay', () => {
  const small = minilmTokenizer(9);
  const { tokens, truncated } = small.encode('a b', 'a b c d e f g h');
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ['[CLS]', 'a', 'b', '[SEP]', 'a', 'b', 'c', 'd', '[SEP]'],
  );
  assert.deepEqual(truncated, { from: 13, to: 9 });
  assert.deepEqual(
    small.encode('a b c d e', 'a b c d e').tokens.map(({ segment }) => segment),
    [0, 0, 0, 0, 0, 1, 1, 1, 1],
  );
  const odd = minilmTokenizer(10).encode('a b c d e', 'a b c d e');
  assert.deepEqual(
    odd.tokens.map(({ segment }) => segment),
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
  );
});

test('a limit with no room for the special tokens is refused', async () => {
  await expectError(() => minilmTokenizer(1).encode('a'), 'argument', /maxTokens: got 1, want at least 2/);
  await expectError(() => minilmTokenizer(2).encode('a', 'b'), 'argument', /want at least 3/);
  assert.deepEqual([...minilmTokenizer(2).encode('a').ids], [101, 102]);
});

test('what is no text, or more than two million characters, is refused before any work', async () => {
  for (const text of [undefined, null, 5, {}, ['a'], new String('a')]) {
    await expectError(() => tokenizer.encode(/** @type {string} */ (text)), 'text', /want a string/);
  }
  await expectError(() => tokenizer.encode('a', /** @type {string} */ (/** @type {unknown} */ (5))), 'text');
  await expectError(() => tokenizer.encode('a'.repeat(MAX_TEXT + 1)), 'text', /got 2097153, want at most 2097152/);
});
