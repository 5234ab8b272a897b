import assert from 'node:assert/strict';
import test from 'node:test';
import { GOLDEN_TEXTS, GOLDEN_TOKENIZERS, goldenCases, goldenTokenizer } from './golden_tokenizer.js';

/**
 * The Rust package loses count where its charsmap drops a control character at the very beginning or behind a character
 * that becomes several: its places are off from there on. Such texts are few, and only with a charsmap.
 */
const isDropped = (/** @type {string} */ char) =>
  (char < ' ' && !'\0\t\n\f\r'.includes(char)) || '\x7f\x8f\x9f'.includes(char);
const WITH_CHARSMAP = ['xlm_roberta', 't5', 'albert'];

test('there are 500 hostile strings, and every kind of model is set up in several ways', () => {
  assert.ok(new Set(GOLDEN_TEXTS).size > 500);
  assert.deepEqual(
    Object.values(GOLDEN_TOKENIZERS).map((names) => names.length),
    [10, 2, 3, 4, 2, 4],
  );
});

for (const [kind, names] of Object.entries(GOLDEN_TOKENIZERS)) {
  for (const name of names) {
    test(`${kind}, set up like ${name}: ids, types, words, places and text are those of the Rust tokenizer`, () => {
      const tokenizer = goldenTokenizer(name);
      let misplaced = 0;
      for (const { text, pair, golden } of goldenCases(name)) {
        const [ids, types, words, places, decoded] = golden;
        const about = JSON.stringify(text);
        const encoding = tokenizer.encode(text, pair);
        assert.deepEqual([...encoding.ids], ids, about);
        assert.deepEqual([...encoding.typeIds], types, about);
        const { tokens } = encoding;
        assert.deepEqual([...tokens.map(({ word }) => word)], words, about);
        const got = tokens.flatMap(({ word, start, end }) => (word === null ? [0, 0] : [start, end]));
        const mayDiffer = WITH_CHARSMAP.includes(name) && [...text, ...(pair ?? '')].some(isDropped);
        if (!mayDiffer) assert.deepEqual(got, places, about);
        else if (got.join() !== places.join()) misplaced++;
        assert.equal(tokenizer.decode(ids), decoded, about);
      }
      assert.ok(misplaced <= 15, `${misplaced} texts have other places`);
    });
  }
}

test('tokens that come one by one are the same text as all at once', () => {
  for (const name of Object.values(GOLDEN_TOKENIZERS).flat()) {
    const tokenizer = goldenTokenizer(name);
    for (const { golden } of goldenCases(name)) {
      const [ids, , , , decoded] = golden;
      const stream = tokenizer.openText();
      assert.equal(ids.map(stream.push).join('') + stream.end(), decoded, name);
    }
  }
});
