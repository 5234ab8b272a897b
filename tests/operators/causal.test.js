/** Which keys a query sees, as pictures: what each form of `causal` means alone, with lengths, a window and a past. The rows
 * of the queries stand side by side, x = seen; zeros as logits give each key that is seen the same weight. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, scaledDotProductAttention } from 'qkv';
import '../fresh_dist.js';

/** @typedef {Partial<import('qkv').AttentionOptions>} Options */

const engine = await init();
/** @param {number} rows @param {number} [value] */
const tensor = (rows, value = 0) => ({ data: new Float32Array(rows).fill(value), shape: [1, 1, rows, 1] });

/** @param {number} queries @param {number} keys @param {Options} options */
function picture(queries, keys, options) {
  const given = { query: tensor(queries), key: tensor(keys), value: tensor(keys), ...options };
  const { data, shape } = scaledDotProductAttention(engine, { ...given, returns: 'weights' }).weights;
  const row = (/** @type {number} */ i) => [...data.subarray(i * shape[3], (i + 1) * shape[3])];
  const mark = (/** @type {number} */ weight) => (weight > 0 ? 'x' : '.');
  return Array.from({ length: queries }, (_, i) => row(i).map(mark).join('')).join(' ');
}

/** Two queries, five keys; alone, with keyLengths 4, with keyLengths 1, with a window one to the left, with that and keyLengths 4. */
const ALONE = /** @type {[import('qkv').AttentionOptions['causal'], string[]][]} */ ([
  [false, ['xxxxx xxxxx', 'xxxx. xxxx.', 'x.... x....', 'x.... xx...', '.xx.. ..xx.']],
  [true, ['x.... xx...', 'xxx.. xxxx.', '..... x....', 'x.... xx...', '.xx.. ..xx.']],
  ['top-left', ['x.... xx...', 'xxx.. xxxx.', '..... x....', 'x.... xx...', '.xx.. ..xx.']],
  ['bottom-right', ['xxxx. xxxxx', 'xxx.. xxxx.', '..... x....', '..xx. ...xx', '.xx.. ..xx.']],
  [1, ['xx... xxx..', 'xx... xxx..', 'x.... x....', 'xx... .xx..', 'xx... .xx..']],
  [-1, ['..... x....', '..... x....', '..... x....', '..... x....', '..... x....']],
]);

/** Two queries, three keys behind a past of two; then the same with a window one to the left. */
const BEHIND = /** @type {[import('qkv').AttentionOptions['causal'], string[]][]} */ ([
  [false, ['xxxxx xxxxx', '.xx.. ..xx.']],
  [true, ['xxx.. xxxx.', '.xx.. ..xx.']],
  ['top-left', ['xxx.. xxxx.', '.xx.. ..xx.']],
  ['bottom-right', ['xxxx. xxxxx', '..xx. ...xx']],
  [0, ['x.... xx...', 'x.... xx...']],
  [2, ['xxx.. xxxx.', '.xx.. ..xx.']],
]);

const lengths = (/** @type {number} */ length) => ({ keyLengths: Int32Array.of(length) });
const window = /** @type {const} */ ([1, 0]);

for (const [causal, expected] of ALONE) {
  test(`causal: ${causal}, with lengths and a window`, () => {
    const others = [{}, lengths(4), lengths(1), { window }, { window, ...lengths(4) }];
    assert.deepEqual(
      others.map((options) => picture(2, 5, { causal, ...options })),
      expected,
    );
  });
}

for (const [causal, expected] of BEHIND) {
  test(`causal: ${causal}, behind a past`, () => {
    const past = { causal, pastKey: tensor(2), pastValue: tensor(2) };
    assert.deepEqual([picture(2, 3, past), picture(2, 3, { ...past, window })], expected);
  });
}

test('values are summed before they are divided, so large ones overflow', () => {
  const sum = (/** @type {number} */ keys) =>
    scaledDotProductAttention(engine, { query: tensor(1), key: tensor(keys), value: tensor(keys, 1e38) }).output
      .data[0];
  assert.ok(Math.abs(sum(3) - 1e38) < 1e32);
  assert.equal(sum(4), Number.POSITIVE_INFINITY);
});
