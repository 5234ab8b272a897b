/** What is behind a property may be anything: each is read once, before memory is touched, and only real arrays count. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { init, MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { qkvError } from '../api/golden.js';
import { flags, numbers, triple } from './tensors.js';

const engine = await init({ variant: 'simd' });
const good = triple(1); // [2, 4, 7, 8] and [2, 4, 9, 8]
const past = { pastKey: numbers(4, [2, 4, 3, 8]), pastValue: numbers(5, [2, 4, 3, 8]) };
/** @type {(options: object) => any} */
const attend = (options) =>
  scaledDotProductAttention(engine, /** @type {any} */ ({ ...good, returns: 'weights', ...options }));

/** An object whose properties, and theirs, count how often they are read. @param {any} value @param {Map<string, number>} reads */
function counted(value, reads, path = '') {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const result = /** @type {any} */ (Array.isArray(value) ? [] : {});
  for (const key of Object.keys(value)) {
    const inside = counted(value[key], reads, `${path}.${key}`);
    const get = () => {
      reads.set(`${path}.${key}`, (reads.get(`${path}.${key}`) ?? 0) + 1);
      return inside;
    };
    Object.defineProperty(result, key, { enumerable: true, get });
  }
  return result;
}

test('every part of the options is read once', () => {
  const out = { output: new Float32Array(448), weights: { data: new Float32Array(672), shape: [2, 4, 7, 12] } };
  const options = {
    ...{ ...good, ...past, mask: { allow: flags([7, 12]) }, causal: true, window: [3, 1], scale: 0.5, softcap: 3 },
    ...{ heads: 4, kvHeads: 4, emptyRows: 'zero', returns: 'weights', out },
  };
  /** @type {Map<string, number>} */
  const reads = new Map();
  const result = scaledDotProductAttention(engine, counted(options, reads));
  const expected = scaledDotProductAttention(engine, /** @type {any} */ ({ ...options, out: null }));
  assert.deepEqual(result.output.data, expected.output.data);
  assert.ok(reads.size > 30, `${reads.size} properties`);
  assert.deepEqual(
    [...reads].filter(([, times]) => times > 1),
    [],
  );
});

test('a getter that calls the operator itself finds it at rest, and changes no result', () => {
  const expected = attend({}).output.data;
  const output = new Float32Array(448);
  const busy = () => {
    for (let queries = 1; queries < 20; queries++) scaledDotProductAttention(engine, triple(2, { queries }));
    return output;
  };
  const out = Object.defineProperty({}, 'output', { enumerable: true, get: busy });
  assert.deepEqual(attend({ out }).output.data, expected);
});

test('a tensor that says something else the second time it is asked is taken by its first word', () => {
  let asked = 0;
  const data = () => (asked++ === 0 ? good.query.data : new Float32Array(3));
  const query = Object.defineProperty({ shape: [2, 4, 7, 8] }, 'data', { enumerable: true, get: data });
  assert.deepEqual(attend({ query }).output.data, attend({}).output.data);
  assert.equal(asked, 1);
});

test('results that share memory are refused, wherever in it they are', () => {
  const shared = new ArrayBuffer(4 * 2000);
  const view = (/** @type {number} */ from, /** @type {number} */ count) => new Float32Array(shared, 4 * from, count);
  const same = view(0, 504);
  /** @type {[string, object][]} */
  const cases = [
    ['one float in common', { output: view(0, 448), weights: view(447, 504) }],
    ['the other way round', { output: view(503, 448), weights: view(0, 504) }],
    ['one inside of the other', { output: view(20, 448), weights: view(0, 504) }],
    ['a tensor and a view', { output: view(5, 448), weights: { data: same, shape: [2, 4, 7, 9] } }],
  ];
  for (const [name, out] of cases) {
    assert.throws(() => attend({ out }), qkvError('argument', 'memory that out.', 'memory of its own'), name);
  }
  const equal = triple(1, { keys: 8 });
  const both = new Float32Array(448);
  assert.throws(
    () => attend({ ...equal, out: { output: both, weights: both } }),
    qkvError('argument', 'out.weights: got "memory that out.output has too"'),
  );
  const rows = new Float32Array(768);
  assert.throws(
    () => attend({ ...past, out: { presentKey: rows, presentValue: rows } }),
    qkvError('argument', 'out.presentValue: got "memory that out.presentKey has too"'),
  );
});

test('results side by side in one buffer, and over the inputs, are right', () => {
  const expected = attend({});
  const shared = new ArrayBuffer(4 * (448 + 504));
  const out = { output: new Float32Array(shared, 0, 448), weights: new Float32Array(shared, 4 * 448, 504) };
  attend({ out });
  assert.deepEqual(out.output, expected.output.data);
  assert.deepEqual(out.weights, expected.weights.data);
  const query = { data: good.query.data.slice(), shape: [2, 4, 7, 8] };
  attend({ query, out: { output: query.data } });
  assert.deepEqual(query.data, expected.output.data);
});

test('what only looks like an array is refused, and an array of another realm is taken', () => {
  const fake = Object.create(Float32Array.prototype);
  const proxy = new Proxy(new Float32Array(448), {});
  for (const data of [fake, proxy, { length: 448, 0: 1 }]) {
    assert.throws(() => attend({ query: { data, shape: [2, 4, 7, 8] } }), qkvError('argument', 'query: data'));
    assert.throws(() => attend({ out: { output: data } }), qkvError('argument', 'out.output'));
  }
  const lengths = Object.create(Int32Array.prototype);
  assert.throws(() => attend({ keyLengths: lengths }), qkvError('argument', 'keyLengths'));
  const longer = Object.defineProperty(new Float32Array(4), 'length', { value: 448 });
  assert.throws(
    () => attend({ query: { data: longer, shape: [2, 4, 7, 8] } }),
    qkvError('argument', 'elements of data: got 4, want 448'),
  );
  const foreign = runInContext('new Float32Array(448).fill(0.25)', createContext());
  const query = { data: foreign, shape: [2, 4, 7, 8] };
  const own = { data: new Float32Array(448).fill(0.25), shape: [2, 4, 7, 8] };
  assert.deepEqual(attend({ query }).output.data, attend({ query: own }).output.data);
});

test('a layer reads its inputs once, and its sizes cannot be changed', () => {
  const parameters = {
    in_proj_weight: numbers(1, [24, 8]),
    'out_proj.weight': numbers(2, [8, 8]),
  };
  const layer = new MultiHeadAttention(engine, { embedDim: 8, numHeads: 2, parameters });
  const query = numbers(3, [1, 5, 8]);
  const expected = layer.forward(query);
  /** @type {Map<string, number>} */
  const reads = new Map();
  const options = { needWeights: true, averageWeights: true, causal: false, emptyRows: 'zero' };
  const result = layer.forward(counted(query, reads), undefined, undefined, counted(options, reads, 'options'));
  assert.deepEqual(result, expected);
  assert.deepEqual(
    [...reads].filter(([, times]) => times > 1),
    [],
  );
  for (const name of ['embedDim', 'numHeads', 'numKvHeads', 'headDim', 'batchFirst']) {
    assert.throws(() => Object.assign(layer, { [name]: 1 }), TypeError, name);
  }
  assert.deepEqual(layer.forward(query), expected);
  layer.dispose();
});
