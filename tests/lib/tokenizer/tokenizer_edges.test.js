/** Corners where the Rust package has rules of its own; its answers are made by tools/make_tokenizer_edges.py. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { goldenJson } from './golden_tokenizer.js';

const FOLDER = new URL('../../golden/tokenizers/edges/', import.meta.url);
/** @param {string} name @returns {Record<string, any>} */
const golden = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));

test('W6: a first word keeps its mark where the charsmap takes away what stood before it', () => {
  const { texts, cases } = golden('beginnings');
  const base = goldenJson('t5');
  let checks = 0;
  for (const [before, cuts, ids] of cases) {
    const normalizer = { type: 'Sequence', normalizers: [...before, base.normalizer] };
    const mark = { ...base.pre_tokenizer, prepend_scheme: 'first' };
    const json = { ...base, normalizer, pre_tokenizer: { type: 'Sequence', pretokenizers: [...cuts, mark] } };
    const tokenizer = createTokenizer({ ...json, post_processor: null }, { vocab: 4096, maxTokens: 1e9 });
    for (const [i, text] of texts.entries()) {
      assert.deepEqual([...tokenizer.encode(text).ids], ids[i], JSON.stringify([text, before, cuts]));
      checks++;
    }
  }
  assert.equal(checks, 1600);
});
