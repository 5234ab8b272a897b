import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { assertSameBits } from '../api/golden.js';
import { distance } from './differences.js';
import { flags, floats, numbers } from './tensors.js';
import { VARIANTS } from './variants.js';

/** @typedef {import('qkv').FloatTensor} FloatTensor */

const [B, L, S, D, H, DK] = [2, 5, 7, 24, 4, 6];
const query = numbers(1, [B, L, D]);
const key = numbers(2, [B, S, D]);
const value = numbers(3, [B, S, D]);

/** @param {number} kvHeads @returns {Record<string, FloatTensor>} */
const parametersOf = (kvHeads) => ({
  in_proj_weight: numbers(4, [D + 2 * kvHeads * DK, D], 0.3),
  in_proj_bias: numbers(5, [D + 2 * kvHeads * DK], 0.3),
  'out_proj.weight': numbers(6, [D, D], 0.3),
  'out_proj.bias': numbers(7, [D], 0.3),
});

/** y = x W^T + b in float64. @param {ArrayLike<number>} x @param {FloatTensor} weight @param {ArrayLike<number> | null} bias @param {number} row0 @param {number} outputs */
function linear(x, { data: w, shape: [, inputs] }, bias, row0, outputs) {
  const rows = x.length / inputs;
  return Array.from({ length: rows * outputs }, (_, at) => {
    const [i, o] = [Math.floor(at / outputs), (at % outputs) + row0];
    let sum = bias ? bias[o] : 0;
    for (let e = 0; e < inputs; e++) sum += x[i * inputs + e] * w[o * inputs + e];
    return sum;
  });
}

/** @param {FloatTensor} tensor [A, B, C] as [B, A, C] */
function swapped({ data, shape: [a, b, c] }) {
  const out = new Float32Array(data.length);
  for (let i = 0; i < a; i++)
    for (let j = 0; j < b; j++) out.set(data.subarray((i * b + j) * c, (i * b + j + 1) * c), (j * a + i) * c);
  return { data: out, shape: [b, a, c] };
}

for (const variant of VARIANTS) {
  const engine = await init({ variant });
  const layerOf = (/** @type {object} */ changes = {}) =>
    new MultiHeadAttention(engine, { embedDim: D, numHeads: H, parameters: parametersOf(H), ...changes });

  test(`every step follows from the one before, ${variant}`, () => {
    for (const kvHeads of [4, 2, 1]) {
      const parameters = parametersOf(kvHeads);
      const layer = layerOf({ numKvHeads: kvHeads, parameters });
      const mask = floats([L, S], (index) => (index % 4 === 1 ? Number.NEGATIVE_INFINITY : (index % 5) - 2));
      const { output, weights } = layer.forward(query, key, value, { attnMask: mask, averageWeights: false });
      const bias = parameters.in_proj_bias.data;
      const kvWidth = kvHeads * DK;
      for (let b = 0; b < B; b++) {
        const [x, y, z] = [
          [query, L],
          [key, S],
          [value, S],
        ].map(([tensor, rows]) => {
          const count = Number(rows) * D;
          return /** @type {FloatTensor} */ (tensor).data.subarray(b * count, (b + 1) * count);
        });
        for (let head = 0; head < H; head++) {
          const get = (/** @type {import('../../web/lib/operators/multi_head.js').MultiHeadStage} */ name) =>
            layer.getStage(name, { head, sequence: b });
          const near = (
            /** @type {ArrayLike<number>} */ actual,
            /** @type {ArrayLike<number>} */ expected,
            /** @type {string} */ what,
          ) => assert.ok(distance(actual, expected) < 5e-6, `${what} of head ${head}: ${distance(actual, expected)}`);
          const g = Math.floor(head / (H / kvHeads));
          const [q, k, v] = [get('q'), get('k'), get('v')];
          assert.deepEqual(
            [q.shape, k.shape, v.shape],
            [
              [L, DK],
              [S, DK],
              [S, DK],
            ],
          );
          near(q.data, linear(x, parameters.in_proj_weight, bias, head * DK, DK), 'q');
          near(k.data, linear(y, parameters.in_proj_weight, bias, D + g * DK, DK), 'k');
          near(v.data, linear(z, parameters.in_proj_weight, bias, D + kvWidth + g * DK, DK), 'v');
          near(get('scores').data, linear(q.data, k, null, 0, S), 'scores');
          near(
            get('scaled').data,
            get('scores').data.map((s) => s / Math.sqrt(DK)),
            'scaled',
          );
          assertSameBits(get('capped').data, get('scaled').data, 'capped');
          assertSameBits(get('biased').data, get('scaled').data, 'biased');
          near(
            get('masked').data,
            get('scaled').data.map((s, index) => s + mask.data[index]),
            'masked',
          );
          const shown = get('weights').data;
          for (let i = 0; i < L; i++) {
            const logits = [...get('masked').data.subarray(i * S, (i + 1) * S)];
            const powers = logits.map((s) => Math.exp(s - Math.max(...logits)));
            const sum = powers.reduce((p, r) => p + r, 0);
            near(
              shown.subarray(i * S, (i + 1) * S),
              powers.map((p) => p / sum),
              'weights',
            );
          }
          const matrix = (b * H + head) * L * S;
          assertSameBits(
            shown,
            /** @type {FloatTensor} */ (weights).data.subarray(matrix, matrix + L * S),
            'weights shown and returned',
          );
          near(
            get('context').data,
            linear(shown, { data: transposed(v.data, S, DK), shape: [DK, S] }, null, 0, DK),
            'context',
          );
          for (let i = 0; i < L; i++) {
            const concat = get('concat').data.subarray(i * D + head * DK, i * D + (head + 1) * DK);
            assertSameBits(concat, get('context').data.subarray(i * DK, (i + 1) * DK), 'concat');
          }
        }
        const concat = layer.getStage('concat', { sequence: b });
        const expected = linear(concat.data, parameters['out_proj.weight'], parameters['out_proj.bias'].data, 0, D);
        assert.ok(distance(layer.getStage('output', { sequence: b }).data, expected) < 5e-6);
        assertSameBits(
          layer.getStage('output', { sequence: b }).data,
          output.data.subarray(b * L * D, (b + 1) * L * D),
          'output',
        );
      }
      layer.dispose();
    }
  });

  test(`in boolean masks true is left out, the opposite of SDPA's allow, ${variant}`, () => {
    const layer = layerOf();
    const isOut = (/** @type {number} */ index) => index % 3 === 1;
    const { weights } = layer.forward(query, key, value, { attnMask: flags([L, S], isOut), averageWeights: false });
    weights?.data.forEach((weight, index) => {
      assert.equal(weight === 0, isOut(index % (L * S)));
    });
    const stages = (/** @type {'q' | 'k' | 'v'} */ name) => layer.getStage(name, { head: 1, sequence: 1 });
    const [q, k, v] = [stages('q'), stages('k'), stages('v')];
    const options = { query: q, key: k, value: v, returns: /** @type {const} */ ('weights') };
    const own = weights?.data.subarray((H + 1) * L * S, (H + 2) * L * S) ?? new Float32Array(0);
    const allow = scaledDotProductAttention(engine, {
      ...options,
      mask: { allow: flags([L, S], (index) => !isOut(index)) },
    });
    assertSameBits(allow.weights.data, own, 'SDPA with the inverted mask');
    const wrong = scaledDotProductAttention(engine, { ...options, mask: { allow: flags([L, S], isOut) } });
    assert.ok(distance(wrong.weights.data, own) > 0.1, 'the mask as it is means something else there');
    assertSameBits(
      scaledDotProductAttention(engine, { ...options, mask: { ignore: flags([L, S], isOut) } }).weights.data,
      own,
      'ignore',
    );
  });

  test(`padding and attention masks merge, boolean and float alike, ${variant}`, () => {
    const layer = layerOf();
    const padding = flags([B, S], (index) => index === 3 || index === 9);
    const attention = flags([B * H, L, S], (index) => index % 5 === 2);
    const run = (/** @type {object} */ options) =>
      layer.forward(query, key, value, { averageWeights: false, ...options });
    const both = run({ keyPaddingMask: padding, attnMask: attention });
    const merged = flags([B * H, L, S], (index) => {
      const b = Math.floor(index / (H * L * S));
      return index % 5 === 2 || padding.data[b * S + (index % S)] === 1;
    });
    assertSameBits(both.output.data, run({ attnMask: merged }).output.data, 'one mask of both');
    const asFloats = (/** @type {{ data: Uint8Array, shape: number[] }} */ { data, shape }) =>
      floats(shape, (index) => (data[index] ? Number.NEGATIVE_INFINITY : 0));
    for (const [one, other] of [
      [asFloats(padding), attention],
      [padding, asFloats(attention)],
      [asFloats(padding), asFloats(attention)],
    ]) {
      assertSameBits(run({ keyPaddingMask: one, attnMask: other }).output.data, both.output.data, 'as floats');
    }
    const triangle = flags([L, S], (index) => index % S > Math.floor(index / S));
    const causal = run({ keyPaddingMask: padding, causal: true });
    assertSameBits(causal.output.data, run({ keyPaddingMask: padding, attnMask: triangle }).output.data, 'causal');
  });

  test(`bias_k, bias_v and zero attention add keys that no mask leaves out, ${variant}`, () => {
    const parameters = { ...parametersOf(H), bias_k: numbers(8, [1, 1, D]), bias_v: numbers(9, [1, 1, D]) };
    const layer = layerOf({ parameters, addZeroAttn: true });
    const all = flags([B, S]);
    const { weights } = layer.forward(query, key, value, { keyPaddingMask: all, averageWeights: false });
    assert.deepEqual(weights?.shape, [B, H, L, S + 2]);
    weights?.data.forEach((weight, index) => {
      assert.equal(weight > 0, index % (S + 2) >= S);
    });
    assertSameBits(
      layer.getStage('k', { head: 2, sequence: 1 }).data.subarray(S * DK, (S + 1) * DK),
      parameters.bias_k.data.slice(2 * DK, 3 * DK),
      'bias_k',
    );
    assert.ok(
      layer
        .getStage('v', { head: 2, sequence: 1 })
        .data.subarray((S + 1) * DK)
        .every((x) => x === 0),
    );
    const causal = layer.forward(query, key, value, { causal: true, averageWeights: false }).weights;
    causal?.data.forEach((weight, index) => {
      const [i, j] = [Math.floor(index / (S + 2)) % L, index % (S + 2)];
      assert.equal(weight > 0, j <= i || j >= S, `query ${i}, key ${j}`);
    });
    const second = layerOf({ parameters, addZeroAttn: true, batchFirst: false });
    const turned = second.forward(swapped(query), swapped(key), swapped(value), { causal: true });
    assertSameBits(
      swapped(turned.output).data,
      layer.forward(query, key, value, { causal: true }).output.data,
      'batch second',
    );
  });

  test(`self-attention, two axes, the mean of the heads, no weights, ${variant}`, () => {
    const layer = layerOf();
    const self = layer.forward(query);
    assertSameBits(self.output.data, layer.forward(query, query, query).output.data, 'defaults');
    assert.deepEqual(self.weights?.shape, [B, L, L]);
    const each = layer.forward(query, query, query, { averageWeights: false }).weights?.data ?? new Float32Array(0);
    for (let at = 0; at < L * L; at++) {
      let mean = 0;
      for (let h = 0; h < H; h++) mean += each[h * L * L + at] / H;
      assert.ok(Math.abs(mean - (self.weights?.data[at] ?? 0)) < 1e-7);
    }
    const first = { data: query.data.slice(0, L * D), shape: [L, D] };
    const flat = layer.forward(first);
    assertSameBits(flat.output.data, self.output.data.subarray(0, L * D), 'two axes');
    assert.deepEqual(
      [flat.output.shape, flat.weights?.shape],
      [
        [L, D],
        [L, L],
      ],
    );
    const padded = layer.forward(first, first, first, {
      keyPaddingMask: flags([L], (j) => j > 2),
      averageWeights: false,
    });
    assert.deepEqual(padded.weights?.shape, [H, L, L]);
    const without = layer.forward(query, query, query, { needWeights: false });
    assert.equal(without.weights, null);
    assertSameBits(without.output.data, self.output.data, 'needWeights false');
    const none = layer.forward({ data: new Float32Array(0), shape: [B, 0, D] });
    assert.deepEqual(
      [none.output.shape, none.weights?.shape],
      [
        [B, 0, D],
        [B, 0, 0],
      ],
    );
    layer.dispose();
  });

  test(`a query without keys: zeros through W_O, or NaN, ${variant}`, () => {
    const layer = layerOf();
    const options = { keyPaddingMask: flags([B, S], (index) => index < S) };
    const zero = layer.forward(query, key, value, options);
    const bias = parametersOf(H)['out_proj.bias'].data;
    assertSameBits(zero.output.data.slice(0, D), bias, 'the bias of out_proj');
    assert.ok(zero.output.data.every(Number.isFinite));
    const nan = layer.forward(query, key, value, { ...options, emptyRows: 'nan' });
    assert.ok(
      nan.output.data.subarray(0, L * D).every(Number.isNaN) &&
        nan.weights?.data.subarray(0, L * S).every(Number.isNaN),
    );
    assertSameBits(nan.output.data.subarray(L * D), zero.output.data.subarray(L * D), 'the other sequence');
  });
}

/** @param {Float32Array} x @param {number} rows @param {number} cols */
function transposed(x, rows, cols) {
  return Float32Array.from({ length: x.length }, (_, at) => x[(at % rows) * cols + Math.floor(at / rows)]);
}
