import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, scaledDotProductAttention } from 'qkv';
import { assertSameBits } from '../api/golden.js';
import { byHeads, referenceAttention } from '../reference/attention_f64.js';
import { BOUNDS, distance } from './differences.js';
import { CHOICES, isPossible, randomCase } from './random_case.js';
import { VARIANTS } from './variants.js';

/** @typedef {import('./random_case.js').Option} Option */
/** @typedef {import('qkv').AttentionOptions<'output' | 'scores' | 'scaled' | 'capped' | 'masked' | 'weights'>} AnyOptions */

/** Draws after which every pair has occurred. */
const ENOUGH = 2400;
const COUNT = Number(process.env.QKV_RANDOM_CASES ?? ENOUGH);
const SEED = Number(process.env.QKV_SEED ?? 20171206);
/** A product of two floats below 2^-126 is rounded to multiples of 2^-149. */
const SMALLEST = 2 ** -120;

/** @param {import('./random_case.js').RandomCase} drawn */
const asOptions = ({ options }) => /** @type {AnyOptions} */ (/** @type {unknown} */ (options));

for (const variant of VARIANTS) {
  test(`${COUNT} random calls against float64, ${variant}`, async (t) => {
    const engine = await init({ variant });
    const worst = { output: 0, stage: 0 };
    for (let index = 0; index < COUNT; index++) {
      const drawn = randomCase(SEED, index);
      const label = `seed ${SEED}, case ${index} ${JSON.stringify(drawn.draw)}`;
      const options = asOptions(drawn);
      const result = scaledDotProductAttention(engine, options);
      const truth = referenceAttention(drawn.options);
      const stage = /** @type {'output' | 'weights'} */ (options.returns);
      const rowOf = (/** @type {number} */ at, /** @type {number} */ length) => Math.floor(at / length);
      const output = distance(byHeads(result.output, truth.heads), truth.output, (at) => {
        const row = rowOf(at, truth.valueDim);
        return truth.size[row] * Math.max(truth.valueSize[row], SMALLEST);
      });
      assert.ok(output <= BOUNDS.random, `output ${output} from float64: ${label}`);
      worst.output = Math.max(worst.output, output);
      if (stage !== 'output') {
        const sizes = stage === 'weights' ? truth.size : truth.wholeSize;
        const difference = distance(result[stage].data, truth[stage], (at) => sizes[rowOf(at, truth.keys)]);
        assert.ok(difference <= BOUNDS.random, `${stage} ${difference} from float64: ${label}`);
        worst.stage = Math.max(worst.stage, difference);
        const plain = scaledDotProductAttention(engine, { ...options, returns: 'output' });
        assertSameBits(plain.output.data, result.output.data, `output with and without ${stage}: ${label}`);
      }
    }
    t.diagnostic(
      `seed ${SEED}: worst error relative to the row's scale: output ${worst.output.toExponential(2)}, stages ${worst.stage.toExponential(2)}`,
    );
  });

  test(`NaN, infinities and huge numbers at masked keys change no bit, ${variant}`, async (t) => {
    const engine = await init({ variant });
    let planted = 0;
    for (let index = 0; index < COUNT; index++) {
      const drawn = randomCase(SEED, index);
      const options = { ...asOptions(drawn), returns: /** @type {const} */ ('weights') };
      const { seen } = referenceAttention(drawn.options);
      const spoiled = spoil(options, seen, drawn.random);
      if (!spoiled) continue;
      planted++;
      const clean = scaledDotProductAttention(engine, options);
      const result = scaledDotProductAttention(engine, spoiled);
      const label = `seed ${SEED}, case ${index} ${JSON.stringify(drawn.draw)}`;
      assertSameBits(result.output.data, clean.output.data, `output: ${label}`);
      assertSameBits(result.weights.data, clean.weights.data, `weights: ${label}`);
    }
    assert.ok(planted > COUNT / 4, `only ${planted} cases had a masked key`);
    t.diagnostic(`${planted} cases with garbage`);
  });
}

test('the random calls have every possible pair of options', () => {
  /** @type {Set<string>} */
  const pairs = new Set();
  const names = /** @type {Option[]} */ (Object.keys(CHOICES));
  for (let index = 0; index < Math.max(COUNT, ENOUGH); index++) {
    const { draw } = randomCase(SEED, index);
    for (const a of names) for (const b of names) pairs.add(`${a} ${draw[a]} ${b} ${draw[b]}`);
  }
  const missing = [];
  for (const a of names)
    for (const b of names)
      for (const x of CHOICES[a])
        for (const y of CHOICES[b])
          if (a < b && isPossible(a, x, b, y) && !pairs.has(`${a} ${x} ${b} ${y}`))
            missing.push(`${a} ${x}, ${b} ${y}`);
  assert.deepEqual(missing, []);
});

/**
 * The options with garbage in K and V wherever no query looks; null when there is no such place.
 * @param {import('qkv').AttentionOptions<'weights'>} options
 * @param {Uint8Array} seen [B, G, M]
 * @param {() => number} random
 */
function spoil(options, seen, random) {
  if (!seen.includes(0)) return null;
  const garbage = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3e38, -3e38, 1e-45];
  const past = options.pastKey?.shape[2] ?? 0;
  const { shape } = options.key;
  const rows = shape.length === 4 ? shape[2] : shape[shape.length - 2];
  const batch = shape.length === 2 ? 1 : shape[0];
  const heads = seen.length / batch / (past + rows);

  /** @param {import('qkv').FloatTensor} tensor @param {number} first row of it among all @param {number} count */
  const spoiled = (tensor, first, count) => {
    const data = tensor.data.slice();
    const dim = data.length / Math.max(batch * heads * count, 1);
    for (let at = 0; at < data.length; at++) {
      const is3d = tensor.shape.length === 3;
      const rest = Math.floor(at / dim);
      const g = is3d ? rest % heads : Math.floor(rest / count) % heads;
      const j = is3d ? Math.floor(rest / heads) % count : rest % count;
      const b = Math.floor(rest / heads / count);
      if (!seen[(b * heads + g) * (past + rows) + first + j]) data[at] = garbage[Math.floor(random() * garbage.length)];
    }
    return { data, shape: tensor.shape };
  };
  return {
    ...options,
    key: spoiled(options.key, past, rows),
    value: spoiled(options.value, past, rows),
    pastKey: options.pastKey && spoiled(options.pastKey, 0, past),
    pastValue: options.pastValue && spoiled(options.pastValue, 0, past),
  };
}
