/** Choosing the next token: seeds, temperature, top-k and top-p, on small vocabularies where the right frequencies are
 * known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, createSampler } from '../../../web/lib/model/sampler.js';
import { seeded } from '../../api/golden.js';
import { expectError } from '../expect_error.js';
import { plainDraw } from './plain_sampler.js';

const LOGITS = new Float32Array([0.3, 2, -1, 1.5, 0, -3, 1, 0.7]);
const DRAWS = 40_000;
/** What a second implementation of sfc32, in Python, gives for the smallest and the largest seed. */
const PINNED = [
  [0.9817317219131122, 0.5801159137713449, 0.48707062736056117],
  [0.03690017030326875, 0.8930241677663331, 0.20335930240794875],
];

/** @param {import('../../../web/lib/model/sampler.js').SamplerOptions} options @param {Float32Array} [logits] */
function frequencies(options, logits = LOGITS, draws = DRAWS) {
  const sample = createSampler(options, logits.length);
  const counts = new Array(logits.length).fill(0);
  for (let draw = 0; draw < draws; draw++) counts[sample(logits)]++;
  return counts.map((count) => count / draws);
}

/** @param {number} temperature @param {number[]} [kept] ids */
function softmax(temperature, kept = [...LOGITS.keys()]) {
  const weights = Array.from(LOGITS, (logit, id) => (kept.includes(id) ? Math.exp(logit / temperature) : 0));
  const total = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Within five standard deviations of the frequency. @param {number[]} actual @param {number[]} expected */
function assertFrequencies(actual, expected) {
  for (const [id, wanted] of expected.entries()) {
    const deviation = Math.sqrt((wanted * (1 - wanted)) / DRAWS);
    assert.ok(Math.abs(actual[id] - wanted) <= 5 * deviation, `${id}: ${actual[id]}, expected ${wanted}`);
  }
}

test('without a temperature the likeliest token, of equal ones the lower id', () => {
  const sample = createSampler({}, 3);
  assert.equal(sample(new Float32Array([1, 4, 2])), 1);
  assert.equal(sample(new Float32Array([4, 1, 4])), 0);
  assert.equal(sample(new Float32Array([-5, Number.NEGATIVE_INFINITY, -4])), 2);
});

test('draws follow the softmax at every temperature', () => {
  for (const temperature of [0.3, 1, 2.5]) assertFrequencies(frequencies({ temperature }), softmax(temperature));
  const flat = frequencies({ temperature: 100 });
  assert.ok(Math.max(...flat) - Math.min(...flat) < 0.02, `${flat}`);
});

test('top-k draws from the k likeliest', () => {
  assertFrequencies(frequencies({ temperature: 1, topK: 3 }), softmax(1, [1, 3, 6]));
  assertFrequencies(frequencies({ temperature: 1, topK: 8 }), softmax(1));
});

test('top-p draws from the fewest tokens that reach it', () => {
  // softmax(1) summed in falling order: 0.381 (id 1), 0.613 (3), 0.753 (6), 0.857 (7) ...
  assertFrequencies(frequencies({ temperature: 1, topP: 0.38 }), softmax(1, [1]));
  assertFrequencies(frequencies({ temperature: 1, topP: 0.39 }), softmax(1, [1, 3]));
  assertFrequencies(frequencies({ temperature: 1, topP: 0.62 }), softmax(1, [1, 3, 6]));
  assertFrequencies(frequencies({ temperature: 1, topP: 1 }), softmax(1));
  // Of the three that top-k leaves, the first two have 0.506 and 0.307.
  assertFrequencies(frequencies({ temperature: 1, topK: 3, topP: 0.8 }), softmax(1, [1, 3]));
});

test('top-k 1 and a tiny top-p are greedy, whatever the temperature', () => {
  const random = seeded(3);
  const greedy = createSampler({}, 200);
  for (const options of [{ topK: 1 }, { topP: 1e-9 }, { topK: 50, topP: 1e-300 }]) {
    const sample = createSampler({ temperature: 5, ...options }, 200);
    for (let i = 0; i < 50; i++) {
      const logits = Float32Array.from({ length: 200 }, () => Math.floor(random() * 40));
      assert.equal(sample(logits), greedy(logits));
    }
  }
});

test('one seed gives one sequence, another seed another one', () => {
  const take = (/** @type {number} */ seed) => {
    const sample = createSampler({ temperature: 1, seed }, LOGITS.length);
    return Array.from({ length: 100 }, () => sample(LOGITS));
  };
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
  const unseeded = createSampler({ temperature: 1 }, LOGITS.length);
  assert.deepEqual(
    take(0),
    Array.from({ length: 100 }, () => unseeded(LOGITS)),
  );
});

test('the generator is the same on every machine: its first numbers are these', () => {
  const first = (/** @type {number} */ seed) => {
    const random = createRandom(seed);
    return [random(), random(), random()];
  };
  assert.deepEqual(first(0), PINNED[0]);
  assert.deepEqual(first(2 ** 32 - 1), PINNED[1]);
});

test('the generator is even: mean, variance and neighbours of 200,000 numbers', () => {
  const random = createRandom(12345);
  const count = 200_000;
  let [mean, square, product, last] = [0, 0, 0, 0.5];
  for (let i = 0; i < count; i++) {
    const value = random();
    assert.ok(value >= 0 && value < 1);
    mean += value / count;
    square += (value - 0.5) ** 2 / count;
    product += ((value - 0.5) * (last - 0.5)) / count;
    last = value;
  }
  assert.ok(Math.abs(mean - 0.5) < 0.004, `${mean}`);
  assert.ok(Math.abs(square - 1 / 12) < 0.001, `${square}`);
  assert.ok(Math.abs(product) < 0.001, `${product}`);
});

test('a token of probability 0 is never drawn', () => {
  const logits = new Float32Array([0, Number.NEGATIVE_INFINITY, -1e30, 0]);
  const seen = frequencies({ temperature: 1 }, logits, 2000);
  assert.deepEqual([seen[1], seen[2]], [0, 0]);
});

/** Logits as models give them, and as none should. @type {[name: string, of: (random: () => number) => number][]} */
const SHAPES = [
  ['bell', (random) => (random() + random() + random() - 1.5) * 12],
  ['peaked', (random) => random() * 8 + (random() < 0.01 ? 40 : 0)],
  ['ties', (random) => Math.round(random() * 12)],
  ['all equal', () => 2.5],
  ['both zeros', (random) => [0, -0, -1, 1e-40, -1e-40][Math.floor(random() * 5)]],
  ['huge', (random) => (random() - 0.5) * 6e38],
  ['closed', (random) => (random() < 0.3 ? Number.NEGATIVE_INFINITY : random() * 20)],
];

test('what is drawn is what sorting all logits and adding all weights would draw', () => {
  const random = seeded(11);
  const pick = (/** @type {readonly any[]} */ list) => list[Math.floor(random() * list.length)];
  let draws = 0;
  for (let round = 0; round < 1500; round++) {
    const vocab = pick([1, 2, 7, 50, 255, 300, 511, 513, 2500]);
    const [name, of] = pick(SHAPES);
    const logits = Float32Array.from({ length: vocab }, () => of(random));
    logits[Math.floor(random() * vocab)] = Math.fround(of(() => 0.999));
    if (!logits.some(Number.isFinite)) continue;
    const topK = pick([undefined, 1, Math.ceil(random() * Math.min(40, vocab)), Math.ceil(random() * vocab), vocab]);
    const topP = pick([1, 0.95, 0.5, 0.25, 1e-9, 1 - 2 ** -53, random() || 0.5]);
    const options = { temperature: pick([1e-300, 1e-3, 0.3, 0.8, 1, 2.5, 100]), topK, topP };
    const seed = Math.floor(random() * 2 ** 32);
    const sample = createSampler({ ...options, seed }, vocab);
    const numbers = createRandom(seed);
    for (let draw = 0; draw < 4; draw++, draws++) {
      const wanted = plainDraw(logits, options, numbers());
      assert.equal(sample(logits), wanted, `${name}, ${vocab} logits, ${JSON.stringify({ ...options, seed })}`);
    }
  }
  assert.ok(draws > 4000, `${draws}`);
});

test('few of 49,152 logits are sorted, and none by a function', (t) => {
  const random = seeded(12);
  const logits = Float32Array.from({ length: 49_152 }, () => (random() + random() + random() - 1.5) * 12);
  let sorted = 0;
  let mapped = 0;
  const { sort } = Float32Array.prototype;
  /** @this {Float32Array} @param {any} by */
  function countedSort(by) {
    sorted += this.length;
    return sort.call(this, by);
  }
  t.mock.method(Float32Array.prototype, 'sort', countedSort);
  for (const type of /** @type {any[]} */ ([Float32Array, Float64Array, Array])) {
    const { from } = type;
    t.mock.method(type, 'from', (/** @type {any} */ list, /** @type {any[]} */ ...rest) => {
      mapped += list.length;
      return from.call(type, list, ...rest);
    });
  }
  for (const options of [{ topK: 40, topP: 0.95 }, { topK: 40 }, { topP: 0.5 }, {}]) {
    const sample = createSampler({ temperature: 0.8, ...options }, logits.length);
    for (let draw = 0; draw < 10; draw++) sample(logits);
  }
  assert.ok(sorted < 40 * 2000, `${sorted} sorted`);
  assert.ok(mapped < 40 * 2000, `${mapped} mapped`);
});

test('options that cannot be are refused, each with its name', async () => {
  /** @type {[string, string, unknown[]][]} */
  const table = [
    ['temperature', 'argument', [Number.NaN, Number.POSITIVE_INFINITY, '1', null, {}, [1], true, 1n]],
    ['temperature', 'range', [-1, -1e-9, 100.5, 1e9]],
    ['topK', 'argument', [Number.NaN, 1.5, '5', null, [5], Number.POSITIVE_INFINITY]],
    ['topK', 'range', [0, -1, 9, 1e9]],
    ['topP', 'argument', [Number.NaN, '0.5', null, {}, Number.NEGATIVE_INFINITY]],
    ['topP', 'range', [0, -0.1, 1.0001, 1e9]],
    ['seed', 'argument', [Number.NaN, 0.5, '7', null, 7n]],
    ['seed', 'range', [-1, 2 ** 32, 1e15]],
  ];
  for (const [option, code, values] of table) {
    for (const value of values) {
      const options = /** @type {object} */ ({ [option]: value });
      await expectError(() => createSampler(options, LOGITS.length), code, new RegExp(`^generate: ${option}: got`));
    }
  }
});
