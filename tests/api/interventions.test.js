/** Masks, ablation, scale and temperature against attention in float64, from the x that the engine shows. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadModel } from 'qkv';
import { attention } from './attention_f64.js';
import { assertClose, assertSameBits, qkvError, randomIds, seeded } from './golden.js';
import { mapsOf, TINY, TINY_FOLDER, tinyFiles } from './tiny_model.js';

/** @typedef {import('qkv').ForwardOptions} ForwardOptions */
/** @typedef {import('./attention_f64.js').Options} Options */

const N = 13;
const CLOSED = Number.NEGATIVE_INFINITY;
const ids = randomIds(seeded(1), N, TINY.vocab);
/** @type {import('qkv').Model} */
let model;

before(async () => {
  model = await loadModel(tinyFiles());
});
after(() => model.dispose());

/**
 * Compares every step of every layer.
 * @param {ForwardOptions} options
 * @param {(layer: number) => Options} expected
 */
async function compare(options, expected) {
  const run = await model.forward({ ids }, options);
  for (let layer = 0; layer < TINY.layers; layer++) {
    const x = (await run.getStage('x', { layer })).data;
    const maps = mapsOf(`${TINY_FOLDER}/model.safetensors`, layer);
    const reference = attention(x, maps, { n: N, width: TINY.width, heads: TINY.heads }, expected(layer));
    for (let head = 0; head < TINY.heads; head++) {
      const weights = await run.getWeights(layer, head);
      assertClose(weights.data, reference.weights[head], `weights ${layer}.${head}`);
      const masked = await run.getWeights(layer, head, { stage: 'masked' });
      assertClose(masked.data, reference.masked[head], `masked ${layer}.${head}`);
    }
    assertClose((await run.getStage('concat', { layer })).data, reference.concat, `concat ${layer}`);
    assertClose((await run.getStage('output', { layer })).data, reference.output, `output ${layer}`);
  }
  run.dispose();
}

/**
 * @param {number} count
 * @param {number[]} shape
 * @param {(index: number) => number} value
 */
const bits = (count, shape, value) => ({ data: Uint8Array.from({ length: count }, (_, index) => value(index)), shape });

test('without options', () => compare({}, () => ({})));

test('a key mask closes columns', () => {
  const allow = bits(N, [N], (j) => (j % 3 === 0 ? 0 : 1));
  return compare({ mask: { allow } }, () => ({ mask: (_, _i, j) => (j % 3 === 0 ? CLOSED : 0) }));
});

test('ignore is the opposite of allow', async () => {
  const allow = bits(N, [N], (j) => (j % 3 === 0 ? 0 : 1));
  const ignore = bits(N, [N], (j) => (j % 3 === 0 ? 1 : 0));
  const [one, other] = [
    await model.forward({ ids }, { mask: { allow } }),
    await model.forward({ ids }, { mask: { ignore } }),
  ];
  assertSameBits((await one.hidden(2)).data, (await other.hidden(2)).data, 'hidden');
});

test('an n x n mask makes the model causal', () => {
  const allow = bits(N * N, [N, N], (at) => (at % N <= Math.floor(at / N) ? 1 : 0));
  return compare({ mask: { allow } }, () => ({ mask: (_, i, j) => (j <= i ? 0 : CLOSED) }));
});

test('under a causal mask later tokens change no bit of earlier rows', async () => {
  const allow = bits(N * N, [N, N], (at) => (at % N <= Math.floor(at / N) ? 1 : 0));
  const changed = ids.slice();
  changed[N - 1] = (changed[N - 1] + 1) % TINY.vocab;
  const [one, other] = [
    await model.forward({ ids }, { mask: { allow } }),
    await model.forward({ ids: changed }, { mask: { allow } }),
  ];
  const before = (/** @type {Float32Array} */ data) => data.slice(0, (N - 1) * TINY.width);
  assertSameBits(before((await one.hidden(2)).data), before((await other.hidden(2)).data), 'rows before the change');
});

test('a mask may differ from head to head', () => {
  const ignore = bits(TINY.heads * N * N, [TINY.heads, N, N], (at) => (at % N === Math.floor(at / (N * N)) ? 1 : 0));
  return compare({ mask: { ignore } }, () => ({ mask: (head, _i, j) => (j === head ? CLOSED : 0) }));
});

test('an added mask is added to the scaled logits', () => {
  const random = seeded(2);
  const add = { data: Float32Array.from({ length: N * N }, () => random() * 4 - 2), shape: [N, N] };
  return compare({ mask: { add } }, () => ({ mask: (_, i, j) => add.data[i * N + j] }));
});

test('a mask may apply to some layers only', () => {
  const allow = bits(N, [N], (j) => (j < 4 ? 1 : 0));
  return compare({ mask: { allow, layers: [1] } }, (layer) =>
    layer === 1 ? { mask: (_, _i, j) => (j < 4 ? 0 : CLOSED) } : {},
  );
});

test('a row that may see nothing gets zeros', async () => {
  const none = { mask: { allow: bits(N, [N], () => 0) } };
  await compare(none, () => ({ mask: () => CLOSED }));
  const run = await model.forward({ ids }, none);
  assert.ok((await run.getWeights(0, 0)).data.every((weight) => weight === 0));
  assert.ok((await run.hidden(2)).data.every(Number.isFinite));
});

test('an ablated head gives zeros for its part of concat, and its weights are still shown', () =>
  compare(
    {
      ablate: [
        { layer: 1, head: 2 },
        { layer: 1, head: 4 },
      ],
    },
    (layer) => (layer === 1 ? { ablated: [2, 4] } : {}),
  ));

test('scale off, other, zero and negative', async () => {
  await compare({ scale: 'off' }, () => ({ scale: 1 }));
  await compare({ scale: 0.1 }, () => ({ scale: Math.fround(0.1) }));
  await compare({ scale: 0 }, () => ({ scale: 0 }));
  await compare({ scale: -1 }, () => ({ scale: -1 }));
});

test('temperature divides the logits before the mask', () => {
  const random = seeded(3);
  const add = { data: Float32Array.from({ length: N }, () => random()), shape: [N] };
  return compare({ temperature: 2.5, mask: { add } }, () => ({ temperature: 2.5, mask: (_, _i, j) => add.data[j] }));
});

test('a high temperature flattens the rows, a low one sharpens them', async () => {
  const flat = await model.forward({ ids }, { temperature: 1e6 });
  assertClose((await flat.getWeights(0, 0)).data, new Float32Array(N * N).fill(1 / N), 'flat', 1e-5);
  const sharp = await model.forward({ ids }, { temperature: 1e-4 });
  const { data } = await sharp.getWeights(0, 0);
  for (let i = 0; i < N; i++) assert.ok(Math.max(...data.subarray(i * N, (i + 1) * N)) > 0.99);
});

test('a mask with one entry too few or many, of the wrong kind or with NaN is refused', async () => {
  const refuse = (/** @type {unknown} */ mask, /** @type {string[]} */ ...words) =>
    assert.rejects(
      model.forward({ ids }, { mask: /** @type {import('qkv').ForwardOptions['mask']} */ (mask) }),
      qkvError('argument', ...words),
    );
  const one = bits(N, [N], () => 1);
  await refuse({}, 'exactly one of allow, ignore, add');
  await refuse({ allow: one, ignore: one }, 'exactly one');
  await refuse({ allow: bits(N - 1, [N - 1], () => 1) }, 'mask.allow: shape', `[${N}]`);
  await refuse({ allow: { data: one.data, shape: [N, 1] } }, 'shape');
  await refuse({ allow: { data: one.data, shape: [N + 1] } }, 'elements of data');
  await refuse({ allow: { data: [1, 2], shape: [2] } }, 'data', 'Uint8Array');
  await refuse({ allow: { data: new Float32Array(N), shape: [N] } }, 'Float32Array', 'Uint8Array');
  await refuse({ add: { data: one.data, shape: [N] } }, 'Float32Array');
  await refuse({ add: { data: new Float32Array(N).fill(Number.NaN), shape: [N] } }, 'NaN', 'finite');
  await refuse({ add: { data: new Float32Array(N).fill(Number.POSITIVE_INFINITY), shape: [N] } }, 'Infinity');
  await refuse({ allow: { data: one.data, shape: 'x' } }, 'shape');
  await refuse({ allow: { data: one.data, shape: [-N, -1] } }, 'shape');
  await refuse({ allow: one, kind: 'decoder' }, 'kind', 'encoder');
  await refuse({ allow: one, layers: 1 }, 'layers');
  await assert.rejects(
    model.forward({ ids }, { mask: { allow: one, layers: [2] } }),
    qkvError('range', 'layers', '0 to 1'),
  );
  const batch = { batch: [{ ids }, { ids: ids.slice(1) }] };
  await assert.rejects(model.forward(batch, { mask: { allow: one } }), qkvError('argument', 'lengths'));
});

test('-Infinity in an added mask closes, and -1e38 nearly does', async () => {
  const add = {
    data: Float32Array.from({ length: N }, (_, j) => (j === 0 ? CLOSED : j === 1 ? -1e38 : 0)),
    shape: [N],
  };
  const run = await model.forward({ ids }, { mask: { add } });
  const { data } = await run.getWeights(0, 0);
  for (let i = 0; i < N; i++) assert.deepEqual([data[i * N], data[i * N + 1]], [0, 0]);
});
