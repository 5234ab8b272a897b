/** What the sandbox keeps in the address, and what it takes from a clipboard: both written by strangers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readHash, writeHash, FIRST_SIGHT } from '../../web/page/hash.js';
import { parseBlock } from '../../web/page/sandbox/block.js';
import { MAX_SANDBOX_LINK, readSetup, writeSetup } from '../../web/page/sandbox/link.js';
import { PRESET_NAMES } from '../../web/page/sandbox/presets.js';
import { normalAt } from '../../web/page/sandbox/seeded.js';
import {
  changed,
  edited,
  filled,
  labelled,
  labelsOf,
  MOST,
  SHEETS,
  setupOf,
  shapeOf,
  tidy,
  valuesOf,
} from '../../web/page/sandbox/setup.js';

/** @typedef {import('../../web/page/sandbox/setup.js').Setup} Setup */

/** One change as a user makes it. @returns {fc.Arbitrary<(setup: Setup) => Setup>} */
function anyChange() {
  const sizes = fc.record(
    {
      n: fc.integer({ min: 1, max: 12 }),
      m: fc.integer({ min: 1, max: 12 }),
      heads: fc.integer({ min: 1, max: 8 }),
      width: fc.integer({ min: 1, max: 64 }),
      head: fc.integer({ min: 0, max: 7 }),
      cross: fc.boolean(),
      scaled: fc.boolean(),
      temperature: fc.double({ min: 0.01, max: 100, noNaN: true }),
    },
    { requiredKeys: [] },
  );
  const cell = fc.tuple(
    fc.integer({ min: 0, max: 63 }),
    fc.integer({ min: 0, max: 63 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  return fc.oneof(
    sizes.map((patch) => (/** @type {Setup} */ setup) => changed(setup, patch)),
    fc.tuple(fc.constantFrom('x', 'y', 'wq', 'wo'), cell).map(
      ([name, one]) =>
        (/** @type {Setup} */ setup) =>
          edited(setup, /** @type {'x'} */ (name), [one]),
    ),
    cell.map(
      ([row, col, value]) =>
        (/** @type {Setup} */ setup) =>
          edited(setup, 'mask', [[row % 12, col % 12, value > 0 ? 1 : 0]]),
    ),
    fc
      .constantFrom('random', 'zero', 'identity', 'preset')
      .map((fill) => (/** @type {Setup} */ setup) => filled(setup, 'wk', /** @type {'zero'} */ (fill))),
    fc.tuple(fc.integer({ min: 0, max: 11 }), fc.string({ unit: 'binary' })).map(
      ([i, label]) =>
        (/** @type {Setup} */ setup) =>
          labelled(setup, 'x', i, label),
    ),
  );
}

test('a setup is the same after it was written into an address and read', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PRESET_NAMES), fc.array(anyChange(), { maxLength: 12 }), (preset, changes) => {
      const setup = changes.reduce((one, change) => change(one), setupOf(preset));
      assert.deepEqual(readSetup(writeSetup(setup)), setup);
      const state = /** @type {const} */ ({ ...FIRST_SIGHT, place: 'sandbox', sandbox: writeSetup(setup) });
      assert.deepEqual(readHash(writeHash(state)), state);
    }),
  );
});

test('whatever an address says, the setup is possible', () => {
  const parts = fc.constantFrom(
    ...[
      'heads',
      'mask',
      '__proto__',
      'n.99',
      'n.0',
      'd.64',
      'd.7',
      'h.8',
      'h.0',
      'h.99',
      'i.9',
      't.0',
      't.1e9',
      't.-1',
    ],
    ...[
      'x.r1_0_1e999',
      'x.q9_5_5',
      'wq.p_4095_NaN',
      'wq.p_9999_1',
      'mask.r5_0_7',
      'mask.c_1_-3',
      'wordsx.0_%',
      'wordsy.99_a',
    ],
    ...['cross.2', 'scaled.0', '', '.', 'constructor.1', 'x.', 'wordsx.__'],
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(parts, { maxLength: 8 }).map((all) => all.join('*')),
      ),
      (text) => {
        const setup = readSetup(text);
        assert.equal(setup.width % setup.heads, 0);
        assert.ok(setup.heads >= 1 && setup.heads <= 8 && setup.head < setup.heads);
        assert.ok(setup.n >= 1 && setup.n <= 12 && setup.m >= 1 && setup.m <= 12 && setup.width <= 64);
        assert.ok(setup.temperature >= 0.01 && setup.temperature <= 100);
        for (const name of SHEETS) {
          const values = valuesOf(setup, name);
          const [rows, cols] = shapeOf(setup, name);
          assert.equal(values.length, rows * cols);
          assert.ok(values.every((value) => Math.abs(value) <= MOST.value));
          if (name === 'mask') assert.ok(values.every((value) => value === 0 || value === 1));
        }
        for (const label of labelsOf(setup, 'x')) assert.ok([...label].length <= MOST.label);
        assert.deepEqual(readSetup(writeSetup(setup)), setup);
      },
    ),
  );
});

test('an address that names what every object has, or a seed for the numbers of a preset, adds nothing', () => {
  for (const part of [
    'constructor.2_x',
    'toString.0_a',
    '__proto__.1_b',
    'valueOf.3_c_4_d',
    'x.p5',
    'mask.p7',
    'wq.c9',
  ]) {
    assert.deepEqual(readSetup(`heads*${part}`), setupOf('heads'), part);
  }
});

test('a sandbox too long for an address is left out, and so is one that is read', () => {
  const rows = Array.from({ length: 64 * 64 }, (_, i) => /** @type {const} */ ([i >> 6, i & 63, i + 0.125]));
  const sandbox = writeSetup(edited(setupOf('width'), 'wq', rows));
  assert.ok(sandbox.length > MAX_SANDBOX_LINK);
  assert.doesNotMatch(writeHash({ ...FIRST_SIGHT, sandbox }), /sandbox/);
  assert.equal(readHash(`#sandbox=${sandbox}`).sandbox, '');
  assert.equal(readHash(`#place=nowhere&sandbox=${'x'.repeat(100)}`).place, 'model');
});

test('changing sizes back and forth loses no number', () => {
  const setup = edited(filled(setupOf('heads'), 'wq', 'random'), 'wq', [[15, 15, 7.5]]);
  const there = changed(setup, { width: 8, n: 2 });
  assert.deepEqual(valuesOf(changed(there, { width: 16, n: 4 }), 'wq'), valuesOf(setup, 'wq'));
});

test('random numbers have mean 0 and variance 1, and are the same every time', () => {
  const numbers = Array.from({ length: 40_000 }, (_, i) => normalAt(7, i >> 6, i & 63));
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const variance = numbers.reduce((a, b) => a + (b - mean) ** 2, 0) / numbers.length;
  assert.ok(Math.abs(mean) < 0.02 && Math.abs(variance - 1) < 0.03, `${mean} ${variance}`);
  assert.equal(normalAt(7, 3, 5), normalAt(7, 3, 5));
  assert.notEqual(normalAt(7, 3, 5), normalAt(8, 3, 5));
  assert.equal(tidy(-0), 0);
});

test('blocks come from spreadsheets, Python and by hand; a wrong one says what it has', () => {
  const want = {
    values: [
      [1, -2.5],
      [0.003, 4],
    ],
  };
  for (const text of [
    '1\t-2.5\n3e-3\t4\n',
    '1, −2.5\r\n.003, 4',
    '[[1, -2.5],\n [3e-3, 4.]]',
    'array([[1,-2.5],[3e-3,4]])',
    ' 1 -2.5 \n\n 3e-3;4',
  ]) {
    assert.deepEqual(parseBlock(text, [2, 2]), want, text);
  }
  assert.deepEqual(parseBlock('1 2 3\n4 5 6', [2, 2]), {
    problem: 'blockShape',
    facts: { got: '2 × 3', want: '2 × 2' },
  });
  assert.deepEqual(parseBlock('1 2\n3', [2, 2]), { problem: 'blockRagged', facts: { row: 2, got: 1, want: 2 } });
  assert.deepEqual(parseBlock('1 2\n3 x', [2, 2]), { problem: 'blockNumber', facts: { row: 2, got: 'x' } });
  assert.deepEqual(parseBlock(' \n ', [2, 2]), { problem: 'blockEmpty', facts: { rows: 2, cols: 2 } });
  for (const text of ['nan 1\n1 1', 'Infinity 1\n1 1', '0x10 1\n1 1', '1e999 1\n1 1']) {
    assert.ok('problem' in parseBlock(text, [2, 2]), text);
  }
});
