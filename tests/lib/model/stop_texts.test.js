/** Texts to stop at: what is told is the text up to the first one that is complete, however the text is cut into tokens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStopTexts, readStopTexts } from '../../../web/lib/model/stop_texts.js';
import { seeded } from '../../api/golden.js';
import { expectError } from '../expect_error.js';

/** Character by character. @param {string} text @param {string[]} texts @returns {string | null} null: none is complete */
function cutPlainly(text, texts) {
  for (let end = 1; end <= text.length; end++) {
    const lengths = texts.filter((stop) => text.slice(0, end).endsWith(stop)).map((stop) => stop.length);
    if (lengths.length > 0) return text.slice(0, end - Math.max(...lengths));
  }
  return null;
}

test('what is told ends before the first text that is complete, and never says more', () => {
  const random = seeded(21);
  const pick = (/** @type {number} */ count) => Math.floor(random() * count);
  const word = (/** @type {number} */ most) => Array.from({ length: 1 + pick(most) }, () => 'abc'[pick(3)]).join('');
  for (let round = 0; round < 4000; round++) {
    const texts = Array.from({ length: 1 + pick(3) }, () => word(5));
    const text = word(30);
    const filter = createStopTexts(texts);
    let [told, isEnd] = ['', false];
    for (let at = 0; at < text.length && !isEnd; ) {
      const next = Math.min(text.length, at + pick(5));
      const step = filter.push(text.slice(at, next), next === text.length);
      told += step.told;
      isEnd = step.isEnd;
      at = next;
      if (isEnd) break;
      // Nothing is held back that cannot become one of the texts.
      const held = text.slice(told.length, at);
      assert.ok(held === '' || texts.some((stop) => stop.startsWith(held)), `${texts}: ${text} at ${at}: "${held}"`);
    }
    const expected = cutPlainly(text, texts);
    assert.deepEqual([told, isEnd], [expected ?? text, expected !== null], `${texts}: ${text}`);
  }
});

test('without texts everything is told at once', () => {
  const filter = createStopTexts([]);
  assert.deepEqual(filter.push('abc', false), { told: 'abc', isEnd: false });
  assert.equal(filter.endsIn('abc'), false);
});

test('whether a text would be complete is told without taking it in', () => {
  const filter = createStopTexts(['\n\n']);
  assert.equal(filter.push('a\n', false).told, 'a');
  assert.equal(filter.endsIn('b'), false);
  assert.equal(filter.endsIn('\n'), true);
  assert.deepEqual(filter.push('b', true), { told: '\nb', isEnd: false });
});

test('what is no list of texts is refused', async () => {
  for (const bad of ['text', null, {}, 5, true, new Set(['a']), new Array(65).fill('a')]) {
    await expectError(() => readStopTexts(bad), 'argument', /^generate: stop: got/);
  }
  for (const bad of ['', 5, null, undefined, ['a'], 'a'.repeat(1001), Symbol('a'), () => 'a']) {
    await expectError(() => readStopTexts(['ok', bad]), 'argument', /^generate: stop\[1\]: got/);
  }
  await expectError(() => readStopTexts(new Array(1)), 'argument', /^generate: stop\[0\]: got/);
  assert.deepEqual(readStopTexts(undefined), []);
  assert.deepEqual(readStopTexts([]), []);
});
