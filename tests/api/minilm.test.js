/** all-MiniLM-L6-v2 against PyTorch: the bundled 10-bit file within its bounds, the float32 original closely. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { assertClose, BOUNDS, BUNDLED, float32Minilm, inTree, qkvError, readSafetensors, tensorOf } from './golden.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').Run} Run */
/** @typedef {ReturnType<typeof readSafetensors>} Golden */

const LONGEST_BOUNDED = 150;
/** Of the goldens; sentence-transformers cuts texts at 256 tokens, which embedding.test.js compares. */
const LONGEST = 512;

/** @param {number} k */
function readGolden(k) {
  const path = inTree(`tests/golden/minilm/golden-${k}`);
  /** @type {{ text: string, n: number, tokens: string[] }} */
  const about = JSON.parse(readFileSync(`${path}.json`, 'utf8'));
  return { k, ...about, golden: readSafetensors(`${path}.safetensors`) };
}

const GOLDENS = [0, 1, 2, 3, 4, 5].map(readGolden);

/**
 * The rows of an attention matrix or hidden state that the golden has, ours and its.
 * @param {Golden} golden
 * @param {string} name
 * @param {number} head
 * @param {{ cols: number, data: Float32Array }} ours all rows
 */
function sameRows(golden, name, head, { cols, data }) {
  const { shape, data: all } = tensorOf(golden, name);
  const chosen = golden.get(`${name}.rows`);
  const count = shape[shape.length - 2];
  const rows = chosen
    ? Array.from(chosen.data).slice(head * count, (head + 1) * count)
    : Array.from({ length: count }, (_, i) => i);
  const theirs = Float32Array.from(all.subarray(head * count * cols, (head + 1) * count * cols));
  const picked = new Float32Array(count * cols);
  for (const [index, row] of rows.entries()) picked.set(data.subarray(row * cols, (row + 1) * cols), index * cols);
  return { ours: picked, theirs };
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
function cosine(a, b) {
  let [dot, left, right] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    left += a[i] * a[i];
    right += b[i] * b[i];
  }
  return dot / Math.sqrt(left * right);
}

/**
 * @param {{ difference: number, weight: number }[]} differences
 * @param {number} share
 */
function quantile(differences, share) {
  differences.sort((a, b) => a.difference - b.difference);
  let left = share * differences.reduce((sum, { weight }) => sum + weight, 0);
  for (const { difference, weight } of differences) {
    left -= weight;
    if (left <= 0) return difference;
  }
  return differences[differences.length - 1].difference;
}

/**
 * @param {Run} run
 * @param {string[]} tokens
 * @param {Golden} golden
 */
function assertTokens(run, tokens, golden) {
  assert.deepEqual(
    run.tokens.map(({ text }) => text),
    tokens,
  );
  assert.deepEqual(
    run.tokens.map(({ id }) => id),
    Array.from(tensorOf(golden, 'input_ids').data),
  );
}

test('float32: attentions, hidden states and embeddings of six texts equal those of PyTorch', async (t) => {
  const model = await loadModel(float32Minilm(), { maxTokens: LONGEST });
  const { layers, heads, precision, parameters } = model.info;
  assert.deepEqual([layers, heads, precision, parameters], [6, 12, 'f32', 22_565_376]);
  for (const { k, text, tokens, golden } of GOLDENS) {
    await t.test(`golden-${k}, ${tokens.length} tokens`, async () => {
      const run = await model.forward(text);
      assertTokens(run, tokens, golden);
      let compared = 0;
      for (let layer = 0; layer < layers; layer++) {
        if (!golden.has(`attentions.${layer}`)) continue;
        compared++;
        for (let head = 0; head < heads; head++) {
          const { ours, theirs } = sameRows(golden, `attentions.${layer}`, head, await run.getWeights(layer, head));
          const bound = k === 5 ? BOUNDS.float16 : BOUNDS.golden;
          assertClose(ours, theirs, `attention ${layer}.${head}`, bound);
        }
      }
      for (let i = 0; i <= layers; i++) {
        if (!golden.has(`hidden_states.${i}`)) continue;
        compared++;
        const { shape, data } = await run.hidden(i);
        const { ours, theirs } = sameRows(golden, `hidden_states.${i}`, 0, { cols: shape[1], data });
        assertClose(ours, theirs, `hidden ${i}`);
      }
      assert.equal(compared, k === 5 ? 3 : 13, 'attentions and hidden states that the golden has');
      const pooled = /** @type {Float32Array} */ (await run.embedding({ normalize: false }));
      assertClose(pooled, tensorOf(golden, 'mean_pooled').data, 'mean pooled');
      const embedding = /** @type {Float32Array} */ (await run.embedding());
      assertClose(embedding, tensorOf(golden, 'sentence_embedding').data, 'sentence embedding');
      run.dispose();
    });
  }
  model.dispose();
});

for (const { name, folder } of [
  { name: 'the bundled file', folder: () => BUNDLED },
  { name: 'float32 quantised while loading', folder: float32Minilm },
]) {
  test(`10 bits, ${name}: attention and embeddings within the bounds of the format`, async (t) => {
    const model = await loadModel(folder(), { precision: 'q10', maxTokens: LONGEST });
    assert.equal(model.info.precision, 'q10');
    /** @type {{ difference: number, weight: number }[]} a row that stands for others counts for them */
    const differences = [];
    const cosines = [];
    for (const { text, tokens, golden } of GOLDENS) {
      const run = await model.forward(text);
      assertTokens(run, tokens, golden);
      cosines.push(
        cosine(/** @type {Float32Array} */ (await run.embedding()), tensorOf(golden, 'sentence_embedding').data),
      );
      for (let layer = 0; layer < model.info.layers && tokens.length <= LONGEST_BOUNDED; layer++) {
        for (let head = 0; head < model.info.heads; head++) {
          const { ours, theirs } = sameRows(golden, `attentions.${layer}`, head, await run.getWeights(layer, head));
          const weight = tokens.length ** 2 / ours.length;
          ours.forEach((value, i) => {
            differences.push({ difference: Math.abs(value - theirs[i]), weight });
          });
        }
      }
      run.dispose();
    }
    const p999 = quantile(differences, 0.999);
    const largest = quantile(differences, 1);
    const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length;
    t.diagnostic(
      `attention p99.9 ${p999.toFixed(5)}, max ${largest.toFixed(4)}; cosine mean ${mean.toFixed(6)}, min ${Math.min(...cosines).toFixed(6)}`,
    );
    assert.ok(p999 <= BOUNDS.q10.attentionP999 && largest <= BOUNDS.q10.attentionMax);
    assert.ok(Math.min(...cosines) >= BOUNDS.q10.cosineEach && mean >= BOUNDS.q10.cosineMean);
    model.dispose();
  });
}

test('a run of 512 tokens adds at most 20 MB', async (t) => {
  const model = await loadModel(float32Minilm());
  const run = await model.forward({ ids: new Int32Array(512).fill(2000) });
  t.diagnostic(`${run.bytes} bytes`);
  assert.ok(run.bytes <= 20e6, `${run.bytes} bytes`);
  model.dispose();
});

test('the bundled model says what it is: sizes, precision, measured error, licence', async () => {
  const model = await loadModel(BUNDLED);
  const { bytes, measured, byKind, ...info } = model.info;
  assert.deepEqual(info, {
    name: 'minilm',
    family: 'bert',
    kinds: ['encoder'],
    layers: 6,
    heads: 12,
    kvHeads: 12,
    headDim: 32,
    width: 384,
    vocab: 30522,
    precision: 'q10',
    maxTokens: 256,
    embedding: {
      pooling: 'mean',
      normalize: true,
      maxTokens: 256,
      prompts: {},
      dimension: 384,
      from: 'modules.json',
    },
    parameters: 22_565_376,
    headRows: 0,
    ignored: [],
    notes: [],
    licence: 'Apache-2.0',
  });
  assert.deepEqual(byKind.encoder, { layers: 6, heads: 12, kvHeads: 12, headDim: 32, width: 384 });
  assert.ok(measured !== null && measured.attention_max > 0 && measured.cosine_min > 0.999);
  assert.ok(bytes > 30e6 && bytes < 45e6, `${bytes} bytes in memory`);
  model.dispose();
  await assert.rejects(loadModel(BUNDLED, { precision: 'q8' }), qkvError('unsupported', "'auto', 'f32' or 'q10'"));
});

test('10-bit weights load as float32 too: only the rounding of activations is then gone', async () => {
  const [integers, floats] = [await loadModel(BUNDLED), await loadModel(BUNDLED, { precision: 'f32' })];
  assert.equal(floats.info.precision, 'f32');
  const text = 'Rounded activations are all that is left between them.';
  const [one, other] = [await integers.forward(text), await floats.forward(text)];
  const [a, b] = [await one.embedding(), await other.embedding()];
  assert.ok(cosine(/** @type {Float32Array} */ (a), /** @type {Float32Array} */ (b)) > 0.99999);
  integers.dispose();
  floats.dispose();
});
