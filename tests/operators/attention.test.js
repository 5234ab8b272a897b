import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, scaledDotProductAttention } from 'qkv';
import { assertSameBits } from '../api/golden.js';
import { referenceAttention } from '../reference/attention_f64.js';
import { BOUNDS, distance } from './differences.js';
import { flags, floats, numbers, rowsOf, sideBySide, triple } from './tensors.js';
import { VARIANTS } from './variants.js';

for (const variant of VARIANTS) {
  const engine = await init({ variant });
  const attend = (/** @type {import('qkv').AttentionOptions<'weights'>} */ options) =>
    scaledDotProductAttention(engine, options);
  /** With the weights. @param {object} options */
  const look = (options) => attend({ .../** @type {any} */ (options), returns: 'weights' });

  test(`two, three and four axes are the same attention, ${variant}`, () => {
    const four = triple(1, { kvHeads: 2 });
    const [query, key, value] = [four.query, four.key, four.value].map(sideBySide);
    const three = look({ query, key, value, heads: 4, kvHeads: 2, causal: 'bottom-right' });
    const whole = look({ ...four, causal: 'bottom-right' });
    assertSameBits(three.output.data, sideBySide({ ...whole.output, shape: [...whole.output.shape] }).data, 'output');
    assertSameBits(three.weights.data, whole.weights.data, 'weights');
    assert.deepEqual(three.output.shape, [2, 7, 32]);
    assert.deepEqual(three.weights.shape, [2, 4, 7, 9]);

    const one = triple(4, { batch: 1, heads: 1 });
    const flat = Object.fromEntries(
      Object.entries(one).map(([name, { data, shape }]) => [name, { data, shape: shape.slice(2) }]),
    );
    assertSameBits(look(flat).output.data, look(one).output.data, 'two axes');
    assert.deepEqual(look(flat).output.shape, [7, 8]);
    const single = Object.fromEntries(
      Object.entries(one).map(([name, { data, shape }]) => [name, { data, shape: shape.slice(1) }]),
    );
    assertSameBits(look(single).output.data, look(one).output.data, 'three axes without heads are one head');
  });

  test(`the three ways to say a mask agree, and true means what the name says, ${variant}`, () => {
    const given = triple(7);
    const isOpen = (/** @type {number} */ index) => index % 3 !== 1;
    const shape = [2, 1, 7, 9];
    const allow = look({ ...given, mask: { allow: flags(shape, isOpen) } });
    const ignore = look({ ...given, mask: { ignore: flags(shape, (index) => !isOpen(index)) } });
    const add = look({
      ...given,
      mask: { add: floats(shape, (index) => (isOpen(index) ? 0 : Number.NEGATIVE_INFINITY)) },
    });
    const inverted = look({ ...given, mask: { allow: flags(shape, (index) => !isOpen(index)) } });
    assertSameBits(ignore.output.data, allow.output.data, 'ignore');
    assertSameBits(add.output.data, allow.output.data, 'add');
    assertSameBits(ignore.weights.data, allow.weights.data, 'weights of ignore');
    allow.weights.data.forEach((weight, index) => {
      const isSeen = isOpen((Math.floor(index / 252) * 63 + (index % 63)) % 126);
      assert.equal(weight > 0, isSeen, `weight ${index}`);
      assert.equal(inverted.weights.data[index] > 0, !isSeen, `inverted weight ${index}`);
    });
  });

  test(`grouped heads are the same as repeated keys and values, ${variant}`, () => {
    for (const kvHeads of [1, 2]) {
      const given = triple(11, { kvHeads });
      const repeat = (
        /** @type {{ data: Float32Array, shape: number[] }} */ { data, shape: [batch, heads, rows, dim] },
      ) => {
        const matrix = rows * dim;
        const parts = Array.from({ length: batch * 4 }, (_, at) => {
          const from = (Math.floor(at / 4) * heads + Math.floor((at % 4) / (4 / heads))) * matrix;
          return [...data.subarray(from, from + matrix)];
        });
        return { data: Float32Array.from(parts.flat()), shape: [batch, 4, rows, dim] };
      };
      const plain = look({ ...given, key: repeat(given.key), value: repeat(given.value), causal: true });
      const grouped = look({ ...given, causal: true });
      assertSameBits(grouped.output.data, plain.output.data, `${kvHeads} key/value heads`);
      assertSameBits(grouped.weights.data, plain.weights.data, `${kvHeads} key/value heads`);
    }
  });

  test(`token by token with a past gives the bits of the whole, ${variant}`, () => {
    const { query, key, value } = triple(13, { queries: 9, kvHeads: 2 });
    const whole = attend({ query, key, value, causal: true });
    let past = { pastKey: rowsOf(key, 0, 0), pastValue: rowsOf(value, 0, 0) };
    for (let i = 0; i < 9; i++) {
      const row = (/** @type {typeof query} */ tensor) => rowsOf(tensor, i, i + 1);
      const step = attend({ query: row(query), key: row(key), value: row(value), ...past, causal: true });
      assertSameBits(step.output.data, rowsOf(whole.output, i, i + 1).data, `token ${i}`);
      assert.ok(step.presentKey && step.presentValue);
      past = {
        pastKey: /** @type {typeof key} */ (step.presentKey),
        pastValue: /** @type {typeof value} */ (step.presentValue),
      };
    }
    assertSameBits(past.pastKey.data, key.data, 'present key');
    assertSameBits(past.pastValue.data, value.data, 'present value');
  });

  test(`a batch gives the bits of its sequences, and lengths those of shorter keys, ${variant}`, () => {
    const given = triple(17, { batch: 3 });
    const keyLengths = Int32Array.of(9, 5, 1);
    const all = look({ ...given, keyLengths });
    keyLengths.forEach((length, b) => {
      const pick = (/** @type {import('qkv').FloatTensor} */ { data, shape: [, ...rest] }) => {
        const count = data.length / 3;
        return { data: data.slice(b * count, (b + 1) * count), shape: [1, ...rest] };
      };
      const [key, value] = [given.key, given.value].map((tensor) => rowsOf(pick(tensor), 0, length));
      const alone = look({ query: pick(given.query), key, value });
      assertSameBits(alone.output.data, pick({ data: all.output.data, shape: [3, 4, 7, 8] }).data, `sequence ${b}`);
    });
  });

  test(`a causal row does not know what comes later, ${variant}`, () => {
    const given = triple(19, { queries: 9 });
    const before = look({ ...given, causal: true });
    const changed = { ...given, key: { ...given.key, data: given.key.data.slice() } };
    for (let h = 0; h < 8; h++) changed.key.data.fill(7, (h * 9 + 5) * 8, (h + 1) * 72);
    const after = look({ ...changed, causal: true });
    assertSameBits(rowsOf(after.output, 0, 5).data, rowsOf(before.output, 0, 5).data, 'rows before the change');
    assert.ok(distance(rowsOf(after.output, 5, 9).data, rowsOf(before.output, 5, 9).data) > 1e-3);
  });

  test(`weights are a distribution, equal keys give the mean, one key gives its value, ${variant}`, () => {
    const given = triple(23);
    const { weights } = look(given);
    for (let row = 0; row < 56; row++) {
      const sum = weights.data.subarray(row * 9, row * 9 + 9).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6);
    }
    const equal = look({ ...given, key: floats([2, 4, 9, 8], (index) => index % 8) });
    for (let e = 0; e < 8; e++) {
      let mean = 0;
      for (let j = 0; j < 9; j++) mean += given.value.data[j * 8 + e] / 9;
      assert.ok(Math.abs(equal.output.data[e] - mean) < 1e-6);
    }
    const only = look({ ...given, mask: { allow: flags([9], (j) => j === 6) } });
    for (let row = 0; row < 56; row++) {
      assert.equal(only.weights.data[row * 9 + 6], 1);
      const from = (Math.floor(row / 7) * 9 + 6) * 8;
      assertSameBits(
        only.output.data.subarray(row * 8, row * 8 + 8),
        given.value.data.subarray(from, from + 8),
        `row ${row}`,
      );
    }
  });

  test(`rows without keys, huge logits, denormals, hostile masks: all defined, ${variant}`, () => {
    const given = triple(29);
    const none = { ...given, mask: { allow: flags([7, 1], (i) => i !== 3) }, keyLengths: null };
    for (const emptyRows of ['zero', 'nan']) {
      const all = look({ ...given, mask: { allow: flags([1, 1, 1, 9], () => false) }, emptyRows });
      assert.ok(all.output.data.every((x) => (emptyRows === 'nan' ? Number.isNaN(x) : x === 0)));
      assert.ok(all.weights.data.every((x) => (emptyRows === 'nan' ? Number.isNaN(x) : x === 0)));
    }
    // A last axis of 1 is not broadcast: keys behind it are left out, so every row sees key 0 or nothing.
    const first = look(none);
    first.weights.data.forEach((weight, index) => {
      assert.equal(weight, index % 9 === 0 && Math.floor(index / 9) % 7 !== 3 ? 1 : 0);
    });

    for (const [name, value] of /** @type {const} */ ([
      ['1e4', 100],
      ['denormal', 1e-21],
    ])) {
      const options = {
        ...given,
        query: floats([2, 4, 7, 8], (i) => value * Math.sin(i)),
        key: floats([2, 4, 9, 8], (i) => value * Math.cos(i)),
      };
      const truth = referenceAttention(options);
      const { output } = look(options);
      const error = distance(output.data, truth.output, (at) => truth.size[Math.floor(at / 8)]);
      assert.ok(error <= BOUNDS.random, `${name}: ${error}`);
      assert.ok(Math.max(...truth.size) > (value > 1 ? 1e4 : 0.5));
    }
    const spoiled = (/** @type {number} */ bias) =>
      look({ ...given, mask: { add: floats([7, 9], (i) => (i === 9 ? bias : 0)) } }).weights.data;
    const plain = look(given).weights.data;
    for (const bias of [Number.NaN, Number.POSITIVE_INFINITY]) {
      spoiled(bias).forEach((weight, index) => {
        if (Math.floor(index / 9) % 7 === 1) assert.ok(Number.isNaN(weight), 'the row of a NaN is NaN');
        else assert.equal(weight, plain[index]);
      });
    }
    assert.equal(spoiled(-1e38)[9], 0);
    const low = look({ ...given, mask: { add: floats([9], () => -1e38) } }).weights.data;
    assert.ok(
      low.every((weight) => Math.abs(weight - 1 / 9) < 1e-7),
      'a large finite number everywhere is no mask',
    );
  });

  test(`no queries, no keys, no batch: empty or empty rows, ${variant}`, () => {
    const noQueries = look(triple(31, { queries: 0 }));
    assert.deepEqual(
      [noQueries.output.shape, noQueries.weights.shape],
      [
        [2, 4, 0, 8],
        [2, 4, 0, 9],
      ],
    );
    const noKeys = look(triple(31, { keys: 0 }));
    assert.deepEqual(noKeys.output.data, new Float32Array(448));
    assert.deepEqual(noKeys.weights.shape, [2, 4, 7, 0]);
    assert.ok(look({ ...triple(31, { keys: 0 }), emptyRows: 'nan' }).output.data.every(Number.isNaN));
    assert.deepEqual(look(triple(31, { batch: 0 })).output.shape, [0, 4, 7, 8]);
    const past = { pastKey: numbers(1, [2, 4, 3, 8]), pastValue: numbers(2, [2, 4, 3, 8]) };
    assert.deepEqual(look({ ...triple(31, { keys: 0 }), ...past }).presentKey?.data, past.pastKey.data);
  });

  test(`long rows and wide heads against float64, ${variant}`, (t) => {
    let worst = 0;
    for (const [queries, keys, dim, valueDim] of [
      [700, 3, 5, 5],
      [2, 700, 64, 64],
      [33, 257, 130, 129],
      [129, 65, 127, 1],
      [64, 64, 1, 130],
    ]) {
      const options = {
        ...triple(queries, { batch: 1, heads: 2, kvHeads: 1, queries, keys, dim, valueDim }),
        causal: 'bottom-right',
      };
      const truth = referenceAttention(options);
      const { output, weights } = look(options);
      worst = Math.max(
        worst,
        distance(output.data, truth.output, (at) => truth.size[Math.floor(at / valueDim)]),
      );
      worst = Math.max(
        worst,
        distance(weights.data, truth.weights, (at) => truth.size[Math.floor(at / keys)]),
      );
    }
    assert.ok(worst <= BOUNDS.random, `${worst}`);
    t.diagnostic(`worst ${worst.toExponential(2)} of the row's scale`);
  });
}
