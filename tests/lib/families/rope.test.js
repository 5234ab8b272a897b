import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { bucketsByDistance } from '../../../web/lib/families/parts/buckets.js';
import { createReader } from '../../../web/lib/families/parts/config_reader.js';
import { ropeFields, ropeSet } from '../../../web/lib/families/parts/rope.js';

/** What transformers computes; see tests/golden/README.md. */
const golden = JSON.parse(readFileSync(new URL('../../golden/positions.json', import.meta.url), 'utf8'));
/** A power in float32 may be off by one unit in the last place, as its makers allow; that is at most 1.2e-7. */
const ONE_UNIT = 1.2e-7;

for (const { config, head_dim, frequencies, scale } of golden.rope) {
  const { rope_type, rope_theta } = config.rope_parameters;
  test(`rotary frequencies of ${rope_type} at ${rope_theta} are those of transformers`, () => {
    const set = ropeSet(createReader(config, 'config.json'), { head_dim, positions: config.max_position_embeddings });
    assert.equal(set.frequencies.length, frequencies.length);
    assert.equal(set.scale, scale);
    const worst = Math.max(
      ...frequencies.map((/** @type {number} */ f, /** @type {number} */ i) => Math.abs(set.frequencies[i] / f - 1)),
    );
    assert.ok(worst <= 3 * ONE_UNIT, `${worst}`);
    const same = frequencies.filter(
      (/** @type {number} */ f, /** @type {number} */ i) => set.frequencies[i] === Math.fround(f),
    );
    assert.ok(same.length >= frequencies.length - 2, `${same.length} of ${frequencies.length} bit for bit`);
  });
}

test('buckets of relative positions are those of transformers, at every distance', () => {
  const reach = 128;
  const buckets = bucketsByDistance(32, reach);
  for (const [distance, expected] of golden.buckets) {
    const at = Math.min(Math.max(distance, -reach), reach);
    assert.equal(buckets[at + reach], expected, `at ${distance}`);
  }
});

test('both spellings of the rotary parameters mean the same', () => {
  const sizes = { head_dim: 64, positions: 4096 };
  const scaling = {
    rope_type: 'llama3',
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 1024,
  };
  const older = ropeSet(createReader({ rope_theta: 5e5, rope_scaling: scaling }, 'c'), sizes);
  const newer = ropeSet(createReader({ rope_parameters: { rope_theta: 5e5, ...scaling } }, 'c'), sizes);
  assert.deepEqual(older, newer);
  const oldest = ropeSet(createReader({ rope_scaling: { type: 'linear', factor: 2 } }, 'c'), sizes);
  assert.equal(oldest.frequencies[0], 0.5);
});

test('part of a head may turn; an odd number of components is rounded up', () => {
  const part = (/** @type {number} */ factor, /** @type {number} */ head_dim) => {
    const config = createReader({ partial_rotary_factor: factor }, 'c');
    return ropeFields(config, [ropeSet(config, { head_dim, positions: 8 }, { partial: 0.5 })]).rope_dim;
  };
  assert.deepEqual([part(0.5, 64), part(0.25, 20), part(1, 8)], [32, 6, 8]);
});

test('LongRoPE has one set of frequencies up to the length that the model was first trained for', () => {
  const short_factor = Array(4).fill(2);
  const parameters = {
    rope_type: 'longrope',
    short_factor,
    long_factor: short_factor,
    original_max_position_embeddings: 100,
  };
  const { context, frequencies } = ropeSet(createReader({ rope_parameters: parameters }, 'c'), {
    head_dim: 8,
    positions: 400,
  });
  assert.equal(context, 100);
  assert.equal(frequencies[0], 0.5);
});
