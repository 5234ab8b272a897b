import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { alignSlice, newBudget } from '../../../web/lib/tokenizer/text/aligned_text.js';
import { readNormalizer } from '../../../web/lib/tokenizer/read/read_normalizer.js';
import { goldenJson } from './golden_tokenizer.js';

/** @type {{ spans: [number, number][], strings: string[], sha256: Record<string, string> }} */
const golden = JSON.parse(readFileSync(new URL('../../golden/tokenizers/normalizers.json', import.meta.url), 'utf8'));
const singles = golden.spans.flatMap(([first, end]) =>
  Array.from({ length: end - first }, (_, i) => String.fromCodePoint(first + i)),
);

for (const [name, sum] of Object.entries(golden.sha256)) {
  test(`${name} makes of every code point, and of characters that combine, what the Rust package makes of them`, () => {
    const normalize = readNormalizer(name === 'Precompiled' ? goldenJson('t5').normalizer : { type: name });
    const hash = createHash('sha256');
    for (const text of [...singles, ...golden.strings]) {
      const result = normalize(alignSlice(text, 0, text.length), newBudget(text.length));
      assert.equal(result.starts.length, result.text.length);
      assert.equal(result.ends.length, result.text.length);
      hash.update(`${result.text}\n`);
    }
    assert.equal(hash.digest('hex'), sum);
  });
}

/** @param {unknown} json @param {string} text */
const places = (json, text) => {
  const { text: made, starts, ends } = readNormalizer(json)(alignSlice(text, 0, text.length), newBudget(text.length));
  return [made, starts.map((start, i) => `${start}-${ends[i]}`).join(' ')];
};

test('what a normaliser makes of a character has the place of that character', () => {
  assert.deepEqual(places({ type: 'NFD' }, 'é👍'), ['e\u0301👍', '0-1 0-1 1-3 1-3']);
  assert.deepEqual(places({ type: 'NFC' }, 'e\u0301x'), ['éx', '0-1 2-3']);
  assert.deepEqual(places({ type: 'NFKC' }, 'ﬁx'), ['fix', '0-1 0-1 1-2']);
  assert.deepEqual(places({ type: 'Lowercase' }, 'İX'), ['i\u0307x', '0-1 0-1 1-2']);
  assert.deepEqual(places({ type: 'StripAccents' }, 'e\u0301x'), ['ex', '0-1 2-3']);
  assert.deepEqual(places({ type: 'Strip', strip_left: true, strip_right: true }, ' \u0085a '), ['a', '2-3']);
  assert.deepEqual(places({ type: 'Prepend', prepend: '▁' }, '👍'), ['▁👍', '0-2 0-2 0-2']);
  assert.deepEqual(places({ type: 'Prepend', prepend: '▁' }, ''), ['', '']);
  const spaces = { type: 'Replace', pattern: { Regex: ' {2,}' }, content: '▁' };
  assert.deepEqual(places(spaces, 'a   b c'), ['a▁b c', '0-1 3-4 4-5 5-6 6-7']);
  assert.deepEqual(places({ type: 'Replace', pattern: { String: '' }, content: 'x' }, 'ab'), ['ab', '0-1 1-2']);
  // What the charsmap drops at the very beginning is a part of the first character's place, as Metaspace asks for it.
  assert.deepEqual(places(goldenJson('t5').normalizer, '\u0007ﬁ\u0301㌔z'), ['fiキロz', '0-2 2-3 3-4 3-4 4-5']);
  assert.deepEqual(places(goldenJson('t5').normalizer, 'ﬁ\u0301\u0007z'), ['fiz', '0-1 1-2 3-4']);
});
