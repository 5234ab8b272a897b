/** Softmax and the largest logits, against plain formulas in float64. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestValues } from '../../../web/lib/run/largest.js';
import { exp, largestIds, likeliest, sum, unnormalized } from '../../../web/lib/run/probabilities.js';
import { seeded } from '../../api/golden.js';
import { expectError } from '../expect_error.js';

test('exp is within 3 units in the last place of Math.exp, exact at 0, 0 for what is tiny', () => {
  const random = seeded(1);
  let worst = 0;
  for (let i = 0; i < 100_000; i++) {
    const x = -700 * random() ** 3;
    worst = Math.max(worst, Math.abs(exp(x) - Math.exp(x)) / Math.exp(x));
  }
  assert.ok(worst > 0 && worst < 3 * Number.EPSILON, `${worst}`);
  assert.deepEqual([exp(0), exp(-0), exp(-701), exp(Number.NEGATIVE_INFINITY)], [1, 1, 0, 0]);
  assert.equal(exp(Number.NaN), 0);
});

test('the likeliest ids come with the softmax of all logits', () => {
  const random = seeded(2);
  const logits = Float32Array.from({ length: 500 }, () => random() * 20 - 10);
  const largest = Math.max(...logits);
  const total = logits.reduce((all, logit) => all + Math.exp(logit - largest), 0);
  const likely = likeliest(logits, 500, 'test');
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
  assert.deepEqual(
    likely.map(({ id }) => id),
    order,
  );
  for (const { id, probability } of likely) {
    const expected = Math.exp(logits[id] - largest) / total;
    assert.ok(Math.abs(probability - expected) <= 1e-14 * expected, `${id}`);
  }
  assert.ok(Math.abs(likely.reduce((all, { probability }) => all + probability, 0) - 1) < 1e-13);
  assert.deepEqual(likeliest(logits, 3, 'test'), likely.slice(0, 3));
});

test('of equal logits the lower ids come first', () => {
  const logits = new Float32Array([1, 3, 2, 3, 2, 2, -1]);
  assert.deepEqual(largestIds(logits, 4), [1, 3, 2, 4]);
  assert.deepEqual(largestIds(logits, 1), [1]);
  assert.deepEqual(largestIds(new Float32Array(5), 3), [0, 1, 2]);
  assert.deepEqual(largestIds(new Float32Array([0, -0, 0]), 2), [0, 1]);
});

test('the largest values are those of a full sort, from few and from many, ties and signs included', () => {
  const random = seeded(4);
  for (const length of [1, 2, 100, 511, 512, 513, 5000]) {
    for (const spread of [1e-42, 3, 1e38]) {
      const values = Float32Array.from({ length }, () => Math.round((random() - 0.5) * 200) * spread);
      values[0] = Number.NEGATIVE_INFINITY;
      const expected = values.slice().sort().reverse();
      for (const count of [1, 2, 40, 600, length - 1, length].filter((some) => some > 0 && some <= length)) {
        assert.deepEqual(largestValues(values, count), expected.slice(0, count), `${count} of ${length}`);
      }
    }
  }
  // A part of a larger array.
  assert.deepEqual([...largestValues(new Float32Array([9, 1, 3, 2, 9]).subarray(1, 4), 2)], [3, 2]);
});

test('logits far apart, and closed ones, have probability 0 and no NaN', () => {
  const likely = likeliest(new Float32Array([1e38, -1e38, Number.NEGATIVE_INFINITY]), 3, 'test');
  assert.deepEqual(
    likely.map(({ probability }) => probability),
    [1, 0, 0],
  );
  assert.equal(sum(unnormalized(new Float32Array([5, 4]), 5, 1e-300)), 1);
});

test('logits that are no finite numbers are refused', async () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
    for (const at of [0, 1, 2]) {
      const logits = new Float32Array([1, 2, 3]);
      logits[at] = bad;
      await expectError(() => likeliest(logits, 1, 'nextTokens'), 'weight', /nextTokens: the largest logit/);
    }
  }
  const closed = new Float32Array(3).fill(Number.NEGATIVE_INFINITY);
  await expectError(() => likeliest(closed, 1, 'nextTokens'), 'weight');
});
