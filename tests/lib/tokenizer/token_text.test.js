import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../api/golden.js';
import { GOLDEN_TOKENIZERS, goldenJson, goldenTokenizer } from './golden_tokenizer.js';

const ALL = Object.values(GOLDEN_TOKENIZERS).flat();
/** What these give back is what they were given, and every character of it is in some token. */
const LOSSLESS = ['gpt2', 'llama3', 'smollm2', 'o200k', 'deepseek', 'falcon'];

const hostile = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.array(fc.nat(0xffff), { maxLength: 30 }).map((codes) => String.fromCharCode(...codes)),
  fc
    .array(
      fc.constantFrom(
        ' ',
        '\n',
        "'S",
        'don’t',
        '<mask>',
        '<s>',
        '</s>',
        'é',
        'e\u0301',
        '👨‍👩‍👧',
        '12',
        '▁',
        '<0x41>',
        'Ġ',
        '漢',
      ),
    )
    .map((parts) => parts.join('')),
);

for (const name of ALL) {
  test(`${name}: whatever the text, ids are in the vocabulary and places in range and in order`, () => {
    const json = goldenJson(name);
    const size = Math.max(
      ...(Array.isArray(json.model.vocab) ? [json.model.vocab.length - 1] : Object.values(json.model.vocab)),
      ...json.added_tokens.map((/** @type {{ id: number }} */ { id }) => id),
    );
    const tokenizer = goldenTokenizer(name);
    const property = fc.property(hostile, (text) => {
      let [last, word] = [0, 0];
      for (const token of tokenizer.encode(text).tokens) {
        assert.ok(token.id >= 0 && token.id <= size);
        assert.ok(last <= token.start && token.start <= token.end && token.end <= text.length);
        assert.ok(token.word === null || token.word >= word);
        // The space that RoBERTa puts before a word after a special token has no place, and is empty behind its first letter.
        if (token.start < token.end) last = token.start;
        word = token.word ?? word;
      }
    });
    fc.assert(property, { seed: 8, numRuns: 300 });
  });
}

for (const name of LOSSLESS) {
  test(`${name}: tokens cover the text without a gap, and decoding gives the text back`, () => {
    const tokenizer = goldenTokenizer(name);
    const property = fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
      const { ids, tokens } = tokenizer.encode(text);
      const own = tokens.filter(({ word }) => word !== null);
      let covered = 0;
      for (const { start, end } of own) {
        assert.ok(start <= covered || text.slice(covered, start).trim() === '');
        covered = Math.max(covered, end);
      }
      assert.equal(text.slice(covered).trim(), '');
      assert.equal(tokenizer.decode(ids), text);
      assert.equal(tokenizer.decode(ids, { special: true }).endsWith(text), true);
    });
    fc.assert(property, { seed: 9, numRuns: 300 });
  });
}

test('a token is shown as a person reads it, and a part of a character as its bytes', () => {
  const shown = (/** @type {string} */ name, /** @type {string} */ text) =>
    goldenTokenizer(name)
      .encode(text)
      .tokens.map((token) => token.text);
  assert.deepEqual(shown('gpt2', 'the 👍'), ['the', ' ', '<0xF0>', '<0x9F>', '<0x91>', '<0x8D>']);
  assert.deepEqual(shown('gemma', 'the \u{1d49c}\n'), [
    ...['<s>', 'the', ' ', '<0xF0>', '<0x9D>', '<0x92>', '<0x9C>', '\n'],
  ]);
  assert.deepEqual(shown('t5', 'a the'), [' a', ' the', '</s>']);
});

test('the bytes of one character all have its place and its word', () => {
  for (const name of ['gpt2', 'llama2', 'unigram_bytes']) {
    const bytes = goldenTokenizer(name)
      .encode('x 👍y')
      .tokens.filter(({ text }) => text.startsWith('<0x'));
    assert.equal(bytes.length, 4, name);
    for (const { start, end, word } of bytes) assert.deepEqual([start, end, word], [2, 4, bytes[0].word], name);
  }
});

test('a stream holds back the bytes of a character until it is complete', () => {
  for (const name of ['gpt2', 'gemma']) {
    const tokenizer = goldenTokenizer(name);
    const ids = [...tokenizer.encode('a👍b').ids].filter((id) => !tokenizer.isSpecial(id));
    const stream = tokenizer.openText({ early: true });
    assert.deepEqual(ids.map(stream.push), ['a', '', '', '', '👍', 'b'], name);
    assert.equal(stream.end(), '');
    // A byte that may still follow would spoil a run of byte pieces: it is told when it has ended.
    const exact = tokenizer.openText();
    const parts = name === 'gemma' ? ['a', '', '', '', '', '👍b'] : ['a', '', '', '', '👍', 'b'];
    assert.deepEqual(ids.map(exact.push), parts, name);
    const cut = tokenizer.openText();
    assert.deepEqual(ids.slice(0, 3).map(cut.push), ['a', '', ''], name);
    assert.match(cut.end(), /^\ufffd+$/);
  }
});

test('bytes that are no text become U+FFFD, one by one or all at once', () => {
  const tokenizer = goldenTokenizer('gemma');
  const byte = (/** @type {number} */ value) => tokenizer.idOf(`<0x${value.toString(16).toUpperCase()}>`) ?? -1;
  const ids = [0xe2, 0x82, 0x41, 0xff, 0xc3, 0xa9].map(byte);
  assert.equal(tokenizer.decode(ids), '\ufffd'.repeat(6));
  const stream = tokenizer.openText();
  assert.equal(ids.map(stream.push).join('') + stream.end(), '\ufffd'.repeat(6));
  const early = tokenizer.openText({ early: true });
  assert.equal(ids.map(early.push).join('') + early.end(), '\ufffd\ufffdA\ufffdé');
});

/** Half of them bytes where the vocabulary has some, among these those of U+00A0 (c2 a0). */
test('the parts of a stream are the text decoded at once, for any ids and every kind of decoder', () => {
  for (const name of ALL) {
    const tokenizer = goldenTokenizer(name);
    const random = seeded(8);
    const pick = (/** @type {number} */ count) => Math.floor(random() * count);
    const byteId = (/** @type {number} */ byte) =>
      tokenizer.idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`) ?? pick(4096);
    const byteOf = [() => 0xc2, () => 0xa0, () => pick(256), () => 0x80 + pick(0x80), () => 0x41];
    for (let round = 0; round < 1500; round++) {
      const ids = Array.from({ length: 1 + pick(9) }, () =>
        random() < 0.5 ? byteId(byteOf[pick(byteOf.length)]()) : pick(4096),
      );
      const options = { special: round % 2 === 0 };
      const stream = tokenizer.openText(options);
      const streamed = ids.map(stream.push).join('') + stream.end();
      assert.equal(streamed, tokenizer.decode(ids, options), `${name}: ${ids}`);
    }
  }
});

test('ids that no piece has are left out of the text, and special ones unless they are asked for', () => {
  const tokenizer = goldenTokenizer('roberta');
  const { ids } = tokenizer.encode('a <mask>');
  assert.equal(tokenizer.decode([...ids, 4000]), ' a');
  assert.equal(tokenizer.decode(ids, { special: true }), '<s> a<mask></s>');
});

test('what the file names can be asked for', () => {
  assert.deepEqual(goldenTokenizer('roberta').named, { bos: 0, eos: 2, pad: null, mask: 4, unk: null });
  assert.deepEqual(goldenTokenizer('t5').named, { bos: null, eos: 1, pad: null, mask: null, unk: 2 });
  assert.equal(goldenTokenizer('qwen2').idOf('<|im_end|>'), 2);
  assert.equal(goldenTokenizer('qwen2').idOf('no such piece'), undefined);
  const filled = goldenJson('t5');
  filled.padding = { pad_id: 0 };
  assert.deepEqual(goldenTokenizer('t5').separators, [1]);
});
