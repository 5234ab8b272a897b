import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { minilmTokenizer } from './minilm_tokenizer.js';

/** @typedef {[string, string | null, number, number[], number[], (number | null)[], number[]]} Case */
/** @type {{ tokenizers: string, cases: Case[] }} */
const golden = JSON.parse(readFileSync(new URL('../../golden/wordpiece.json', import.meta.url), 'utf8'));
/** @type {Map<number, import('../../../web/lib/tokenizer/index.js').Tokenizer>} */
const byLimit = new Map(
  [...new Set(golden.cases.map(([, , limit]) => limit))].map((limit) => [limit, minilmTokenizer(limit)]),
);

/** @param {Case} one */
function encode([text, pair, limit]) {
  const tokenizer = byLimit.get(limit);
  assert.ok(tokenizer);
  return tokenizer.encode(text, pair);
}

test('the golden holds at least 500 hostile strings, pairs and cut texts', () => {
  assert.ok(golden.cases.length > 800);
  assert.ok(golden.cases.filter(([, pair]) => pair !== null).length > 50);
  assert.ok(golden.cases.filter(([, , limit, ids]) => ids.length === limit).length > 20);
});

test('ids and type ids are those of the Rust tokenizer, for every string', () => {
  for (const one of golden.cases) {
    const [text, , , ids, types] = one;
    const encoding = encode(one);
    assert.deepEqual([...encoding.ids], ids, JSON.stringify(text));
    assert.deepEqual([...encoding.typeIds], types, JSON.stringify(text));
    assert.deepEqual(
      encoding.tokens.map(({ id }) => id),
      ids,
    );
  }
});

test('words and offsets are those of the Rust tokenizer; added specials are empty places, not (0, 0)', () => {
  for (const one of golden.cases) {
    const [text, pair, , , , words, offsets] = one;
    const { tokens } = encode(one);
    assert.deepEqual(
      tokens.map(({ word }) => word),
      words,
      JSON.stringify(text),
    );
    tokens.forEach(({ word, start, end, segment }, i) => {
      if (word !== null) {
        assert.deepEqual([start, end], offsets.slice(2 * i, 2 * i + 2), JSON.stringify(text));
        return;
      }
      const before = tokens
        .slice(0, i)
        .filter((token) => token.segment === segment)
        .at(-1);
      assert.deepEqual([start, end], [before?.end ?? 0, before?.end ?? 0]);
    });
    assert.ok(tokens.every(({ segment, end }) => end <= (segment === 0 ? text : (pair ?? '')).length));
  }
});

test('the texts of the PyTorch goldens have the ids that went into the model there', () => {
  for (let k = 0; k < 6; k++) {
    /** @type {{ text: string, tokens: string[] }} */
    const { text, tokens } = JSON.parse(
      readFileSync(new URL(`../../golden/minilm/golden-${k}.json`, import.meta.url), 'utf8'),
    );
    assert.deepEqual(
      encode([text, null, 512, [], [], [], []]).tokens.map((token) => token.text),
      tokens,
    );
  }
});
