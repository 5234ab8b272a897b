/**
 * How much a tokenizer.json may ask for. Work is counted in steps, never timed: the published ways of setting up a tokenizer
 * stay far below what is allowed for any text, and files that ask for endless work are stopped soon.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { mostWork, newBudget } from '../../../web/lib/tokenizer/text/aligned_text.js';
import { createTokenize } from '../../../web/lib/tokenizer/tokenize.js';
import { readTokenizerJson } from '../../../web/lib/tokenizer/tokenizer_json.js';
import { expectError } from '../expect_error.js';
import { GOLDEN_TEXTS, GOLDEN_TOKENIZERS, goldenJson } from './golden_tokenizer.js';

/** @typedef {Record<string, any>} Json */

const MINILM = new URL('../../../web/models/minilm/tokenizer.json', import.meta.url);
/** The pattern of `scripts` is made of everything that there is, and of marks it takes all at each place. */
const NAMES = Object.values(GOLDEN_TOKENIZERS)
  .flat()
  .filter((name) => name !== 'scripts');

/** @param {Json} json @returns {(text: string) => number} the steps that a text takes */
function counting(json) {
  let steps = 0;
  const none = () => '';
  const openBudget = (/** @type {number} */ given) => {
    const { make, work } = newBudget(given);
    return {
      make,
      work(/** @type {number} */ count) {
        steps += count;
        work(count);
      },
    };
  };
  const tokenize = createTokenize(readTokenizerJson(json, 40_000), none, () => false, none, openBudget);
  return (text) => {
    steps = 0;
    tokenize(text, 512, 0);
    return steps;
  };
}

/** @type {Record<string, string>} */
const LONG = {
  'one word': 'abcdefghij'.repeat(2_000),
  spaces: ' '.repeat(20_000),
  words: 'the über 漢字 don’t 12345 '.repeat(800),
  marks: `a${'\u0301\u0323'.repeat(8_000)}`,
  'special tokens': '<mask></s>'.repeat(2_000),
  'words of 99 letters': `${'abcdefghi'.repeat(11)} `.repeat(200),
  'beginnings of special tokens': '[CL'.repeat(6_000),
};

for (const name of [...NAMES, 'minilm']) {
  test(`T2: ${name} takes at most 240 steps for a unit of a long text, where 256 are allowed for the longest`, () => {
    const stepsOf = counting(name === 'minilm' ? JSON.parse(readFileSync(MINILM, 'utf8')) : goldenJson(name));
    for (const [what, text] of Object.entries(LONG)) {
      const steps = stepsOf(text);
      assert.ok(steps > text.length && steps < 240 * text.length, `${what}: ${steps / text.length}`);
      // Twice the text is about twice the work.
      assert.ok(stepsOf(text.repeat(2)) < 2.4 * steps, what);
    }
    for (const text of GOLDEN_TEXTS) assert.ok(stepsOf(text) < mostWork(text.length) / 4, JSON.stringify(text));
  });
}

test('T2: the limit is what a second or two can do, and grows with the text', () => {
  assert.equal(mostWork(0), 2 ** 22);
  assert.equal(mostWork(4_000), 2 ** 22 + 4_096_000);
  assert.equal(mostWork(2 ** 21), 2 ** 29);
});

/** @param {Json} step @param {number} count */
const many = (step, count) => ({
  type: 'Sequence',
  normalizers: Array(count).fill(step),
  pretokenizers: Array(count).fill(step),
});
const WORK = /The work that tokenizer\.json asks for on this text: got "more", want at most \d+ steps/;
const wordPiece = (/** @type {Record<string, number>} */ vocab) => ({
  model: { type: 'WordPiece', unk_token: '?', max_input_chars_per_word: 1000, vocab: { '?': 0, ...vocab } },
});
const LONGEST = 'a'.repeat(1001);

/** @type {[string, Json, string][]} */
const ENDLESS = [
  [
    '64 splits by four hundred letters each',
    {
      ...goldenJson('gpt2'),
      pre_tokenizer: many({ type: 'Split', pattern: { Regex: `${'a{100}'.repeat(4)}b` }, behavior: 'Isolated' }, 64),
    },
    'a'.repeat(4_000),
  ],
  ['60 times NFC', { ...goldenJson('gpt2'), normalizer: many({ type: 'NFC' }, 60) }, 'a\u0301\u0323'.repeat(33_000)],
  ['60 times NFD', { ...goldenJson('gpt2'), normalizer: many({ type: 'NFD' }, 60) }, '\u0301\u0323'.repeat(50_000)],
  [
    'a look ahead to the end at each letter',
    { ...goldenJson('gpt2'), pre_tokenizer: { type: 'Split', pattern: { Regex: 'a(?=a*b)' }, behavior: 'Isolated' } },
    'a'.repeat(20_000),
  ],
  [
    'alternatives inside of an atomic group',
    {
      ...goldenJson('gpt2'),
      pre_tokenizer: { type: 'Split', pattern: { Regex: '(?>(?:a|a)+b)' }, behavior: 'Isolated' },
    },
    'a'.repeat(60),
  ],
  ['60 charsmaps', { ...goldenJson('t5'), normalizer: many(goldenJson('t5').normalizer, 60) }, 'é'.repeat(100_000)],
  [
    'letters that begin long pieces',
    wordPiece({ a: 1, '##a': 2, [LONGEST]: 3, [`##${LONGEST}`]: 4 }),
    `${'a'.repeat(1_000)} `.repeat(20),
  ],
];

for (const [what, json, text] of ENDLESS) {
  test(`T2: stopped: ${what}`, async () => {
    const pre = what.startsWith('letters') ? { pre_tokenizer: { type: 'WhitespaceSplit' } } : {};
    const tokenizer = createTokenizer({ ...json, ...pre }, { vocab: 40_000, maxTokens: 512 });
    await expectError(() => tokenizer.encode(text), 'text', WORK);
    // The tokenizer is as good as before.
    assert.ok(tokenizer.encode('a').ids.length > 0);
  });
}

test('T2: a word of a thousand letters costs one walk along a piece of a thousand and one, and not one for each length', () => {
  const stepsOf = counting({ pre_tokenizer: { type: 'WhitespaceSplit' }, ...wordPiece({ [LONGEST]: 1 }) });
  const steps = stepsOf(`${'a'.repeat(1_000)} `.repeat(4));
  assert.ok(steps > 4 * 1_000 && steps < 4 * 1_000 * 40, String(steps));
});

test('T2: marks in a row are sorted by counting them', () => {
  const stepsOf = counting({ ...goldenJson('gpt2'), normalizer: { type: 'NFD' } });
  assert.ok(stepsOf('\u0301\u0323'.repeat(40_000)) < 2.2 * stepsOf('\u0301\u0323'.repeat(20_000)));
});
