import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, scaledDotProductAttention } from 'qkv';
import { flags, numbers, triple } from './tensors.js';

/** Counts arrays made by `new` and by the methods of typed arrays that make one. @param {() => void} action */
function arraysMadeBy(action) {
  const names = /** @type {const} */ (['Float32Array', 'Uint8Array', 'Int32Array', 'DataView', 'ArrayBuffer']);
  const global = /** @type {Record<string, any>} */ (globalThis);
  const originals = names.map((name) => global[name]);
  const methods = /** @type {const} */ (['slice', 'subarray', 'map', 'filter']);
  const shared = Object.getPrototypeOf(Float32Array.prototype);
  const kept = methods.map((method) => shared[method]);
  let made = 0;
  names.forEach((name, index) => {
    global[name] = new Proxy(originals[index], {
      construct(target, args) {
        made++;
        return Reflect.construct(target, args);
      },
    });
  });
  methods.forEach((method, index) => {
    shared[method] = function (/** @type {unknown[]} */ ...args) {
      made++;
      return kept[index].apply(this, args);
    };
  });
  try {
    action();
  } finally {
    names.forEach((name, index) => {
      global[name] = originals[index];
    });
    methods.forEach((method, index) => {
      shared[method] = kept[index];
    });
  }
  return made;
}

const engine = await init({ variant: 'simd' });
const given = triple(1, { kvHeads: 2 });
const past = { pastKey: numbers(4, [2, 2, 3, 8]), pastValue: numbers(5, [2, 2, 3, 8]) };

/** @type {[string, object][]} */
const CALLS = [
  ['plain', {}],
  ['with a mask', { mask: { allow: flags([7, 9], (index) => index % 2 === 0) } }],
  ['with lengths', { keyLengths: Int32Array.of(9, 4), causal: true }],
  ['with a window and a cap', { window: [2, 0], softcap: 3 }],
  ['with a past', { ...past, causal: true }],
];

for (const [name, extra] of CALLS) {
  test(`repeated calls of one shape with out allocate nothing: ${name}`, () => {
    const options = { ...given, ...extra, returns: /** @type {const} */ ('weights') };
    const first = scaledDotProductAttention(engine, options);
    const again = { ...options, out: first };
    const { used, reserved } = engine.memory();
    assert.equal(arraysMadeBy(() => scaledDotProductAttention(engine, options)) > 0, true, 'the counter counts');
    const expected = first.output.data.slice();
    const made = arraysMadeBy(() => {
      for (let i = 0; i < 100; i++) {
        first.output.data.fill(Number.NaN);
        const result = scaledDotProductAttention(engine, again);
        assert.equal(result.output.data, first.output.data);
        assert.equal(result.weights.data, first.weights.data);
      }
    });
    assert.equal(made, 0);
    assert.deepEqual(first.output.data, expected);
    assert.deepEqual(engine.memory(), { used, reserved });
  });
}

test('a few shapes are kept, no more', () => {
  for (let queries = 1; queries < 40; queries++) scaledDotProductAttention(engine, triple(1, { queries }));
  const { used } = engine.memory();
  for (let queries = 1; queries < 200; queries++)
    scaledDotProductAttention(engine, triple(1, { queries: 1 + (queries % 39) }));
  assert.ok(engine.memory().used < used * 2, `${engine.memory().used} after ${used}`);
});

test('plans outlive a growing memory', () => {
  const options = { ...given, out: { output: new Float32Array(448) } };
  const before = scaledDotProductAttention(engine, options).output.data.slice();
  const { reserved } = engine.memory();
  scaledDotProductAttention(engine, triple(1, { queries: 300, keys: 300, dim: 64 }));
  assert.ok(engine.memory().reserved > reserved);
  assert.deepEqual(scaledDotProductAttention(engine, options).output.data, before);
});
