/** Text in, tokens and embeddings out, on the bundled model. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadModel } from 'qkv';
import { assertSameBits, BUNDLED, qkvError, seeded } from './golden.js';

/** @type {import('qkv').Model} */
let model;
before(async () => {
  model = await loadModel(BUNDLED);
});
after(() => model.dispose());

const WORDS = 'the animal did not cross street because it was too tired 注意 café unbelievably'.split(' ');

/** @param {number} count @param {number} seed */
function randomText(count, seed) {
  const random = seeded(seed);
  return Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
}

test('tokens carry id, text, word, place in the text, segment and sequence', async () => {
  const text = 'The animal, unbelievably: café!';
  const run = await model.forward(text);
  const [cls, the] = run.tokens;
  const place = { sequence: 0, side: 'source', segment: 0 };
  assert.deepEqual(cls, { id: 101, text: '[CLS]', word: null, start: 0, end: 0, special: true, ...place });
  assert.deepEqual(the, { id: 1996, text: 'the', word: 0, start: 0, end: 3, special: false, ...place });
  for (const { text: piece, start, end, special } of run.tokens) {
    if (special) continue;
    const shown = text.slice(start, end).toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
    assert.equal(shown, piece.replace(/^##/, ''));
  }
  assert.equal(run.truncated, null);
  assert.deepEqual(await model.tokenize(text), run.tokens);
});

test('a pair has two segments and a separator after each', async () => {
  const run = await model.forward(['Who was tired?', 'The animal.']);
  assert.deepEqual(
    run.tokens.filter(({ special }) => special).map(({ text, segment }) => `${text} ${segment}`),
    ['[CLS] 0', '[SEP] 0', '[SEP] 1'],
  );
  assert.deepEqual(
    run.tokens.filter(({ segment }) => segment === 1).map(({ text }) => text),
    ['the', 'animal', '.', '[SEP]'],
  );
  assert.deepEqual(await model.tokenize('Who was tired?', 'The animal.'), run.tokens);
  const swapped = await model.forward(['The animal.', 'Who was tired?']);
  assert.notDeepEqual(await run.embedding(), await swapped.embedding());
});

test('separator mass is the weight on [SEP], and the other statistics are what they say', async () => {
  const run = await model.forward("The animal didn't cross the street because it was too tired.");
  const { stats, s, thumbnails } = await run.overview();
  const n = run.tokens.length;
  assert.deepEqual([s, thumbnails.length, stats.length], [n, 72 * n * n, 72]);
  for (const { layer, head, separator, first, self, previous, next, distance, entropy } of stats) {
    const { data } = await run.getWeights(layer, head);
    const mean = (/** @type {(i: number, j: number) => number} */ part, rows = n) => {
      let sum = 0;
      for (let at = 0; at < n * n; at++) sum += part(Math.floor(at / n), at % n) * data[at];
      return sum / rows;
    };
    const near = (/** @type {number} */ a, /** @type {number} */ b) =>
      assert.ok(Math.abs(a - b) < 1e-5, `${layer}.${head}: ${a}, ${b}`);
    near(
      separator,
      mean((_, j) => (j === n - 1 ? 1 : 0)),
    );
    near(
      first,
      mean((_, j) => (j === 0 ? 1 : 0)),
    );
    near(
      self,
      mean((i, j) => (i === j ? 1 : 0)),
    );
    near(
      previous,
      mean((i, j) => (j === i - 1 ? 1 : 0), n - 1),
    );
    near(
      next,
      mean((i, j) => (j === i + 1 ? 1 : 0), n - 1),
    );
    near(
      distance,
      mean((i, j) => Math.abs(i - j)),
    );
    near(entropy, data.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0) / n);
    assertSameBits(
      thumbnails.subarray((layer * 12 + head) * n * n, (layer * 12 + head + 1) * n * n),
      data,
      'a small thumbnail',
    );
  }
});

test('a thumbnail of a long text is the largest weight of each cell', async () => {
  const run = await model.forward(randomText(80, 8));
  const n = run.tokens.length;
  const { s, thumbnails } = await run.overview({ size: 32 });
  const { data } = await run.getWeights(2, 5);
  const expected = new Float32Array(s * s);
  const bucket = (/** @type {number} */ cell) => Math.floor((cell * n) / s);
  for (let a = 0; a < s; a++) {
    for (let b = 0; b < s; b++) {
      for (let i = bucket(a); i < bucket(a + 1); i++) {
        for (let j = bucket(b); j < bucket(b + 1); j++)
          expected[a * s + b] = Math.max(expected[a * s + b], data[i * n + j]);
      }
    }
  }
  assertSameBits(thumbnails.slice((2 * 12 + 5) * s * s, (2 * 12 + 6) * s * s), expected, 'pooled');
});

test('a window of rows has the bits of the same rows of the whole matrix, in every stage', async () => {
  const run = await model.forward(randomText(60, 9));
  const random = seeded(10);
  for (let i = 0; i < 60; i++) {
    const [layer, head] = [Math.floor(random() * 6), Math.floor(random() * 12)];
    const stage = /** @type {const} */ (['scores', 'scaled', 'masked', 'weights'])[i % 4];
    const from = Math.floor(random() * run.tokens.length);
    const to = from + 1 + Math.floor(random() * (run.tokens.length - from));
    const whole = await run.getWeights(layer, head, { stage });
    const { rows, cols, data } = await run.getWeights(layer, head, { stage, rows: [from, to] });
    assert.deepEqual([rows, cols], [to - from, whole.cols]);
    assertSameBits(data, whole.data.slice(from * cols, to * cols), `${stage} [${from}, ${to})`);
  }
});

test('a batch of lengths from 3 to 120 has the bits of its texts alone', async () => {
  const texts = [5, 1, 118, 33, 8, 64].map((count, index) => randomText(count, 20 + index));
  const batch = await model.forward({ batch: [...texts, ['a pair', 'of texts']] });
  const embeddings = /** @type {Float32Array[]} */ (await batch.embedding());
  assert.equal(embeddings.length, 7);
  for (let sequence = 0; sequence < texts.length; sequence++) {
    const alone = await model.forward(texts[sequence]);
    assert.equal(batch.lengths[sequence], alone.tokens.length);
    assert.deepEqual(
      batch.tokens.filter((token) => token.sequence === sequence),
      alone.tokens.map((token) => ({ ...token, sequence })),
    );
    for (let layer = 0; layer < 6; layer++) {
      const [a, b] = [await batch.getWeights(layer, layer * 2, { sequence }), await alone.getWeights(layer, layer * 2)];
      assertSameBits(a.data, b.data, `weights of text ${sequence}, layer ${layer}`);
    }
    assertSameBits((await batch.hidden(6, { sequence })).data, (await alone.hidden(6)).data, 'hidden');
    assertSameBits(embeddings[sequence], /** @type {Float32Array} */ (await alone.embedding()), 'embedding');
    alone.dispose();
  }
  assert.deepEqual(batch.truncated, new Array(7).fill(null));
  batch.dispose();
});

test('embed has the bits of one forward each, in order, and reports progress', async () => {
  const texts = Array.from({ length: 90 }, (_, index) => randomText(1 + ((index * 7) % 50), 100 + index));
  /** @type {number[]} */
  const loaded = [];
  const vectors = await model.embed(texts, { onProgress: (progress) => loaded.push(progress.loaded) });
  assert.equal(vectors.length, 90);
  assert.ok(loaded.length > 1 && loaded.at(-1) === 90, `${loaded}`);
  for (const index of [0, 1, 44, 89]) {
    const run = await model.forward(texts[index]);
    assertSameBits(vectors[index], /** @type {Float32Array} */ (await run.embedding()), `text ${index}`);
    assert.ok(Math.abs(vectors[index].reduce((sum, value) => sum + value * value, 0) - 1) < 1e-6);
  }
});

test('every pooling is what its name says of the last hidden state', async () => {
  const run = await model.forward('kinds of pooling, all of them');
  const { data, shape } = await run.hidden(6);
  const [n, width] = shape;
  const column = (/** @type {number} */ d) => Array.from({ length: n }, (_, i) => data[i * width + d]);
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);
  const weights = sum(Array.from({ length: n }, (_, i) => i + 1));
  /** @type {Record<import('qkv').Pooling, (values: number[]) => number>} */
  const wanted = {
    mean: (values) => sum(values) / n,
    cls: (values) => values[0],
    last: (values) => values[n - 1],
    max: (values) => Math.max(...values),
    weightedmean: (values) => sum(values.map((value, i) => value * (i + 1))) / weights,
    mean_sqrt_len_tokens: (values) => sum(values) / Math.sqrt(n),
  };
  for (const [pooling, of] of Object.entries(wanted)) {
    const got = await run.embedding({ pooling: /** @type {import('qkv').Pooling} */ (pooling), normalize: false });
    for (let d = 0; d < width; d++) assert.ok(Math.abs(got[d] - of(column(d))) < 2e-6, `${pooling} ${d}`);
  }
});

test('256 tokens are the limit of the bundled model, and maxTokens raises it to what the model can take', async () => {
  const long = new Array(10_000).fill('the').join(' ');
  assert.deepEqual((await model.forward(long)).truncated, { from: 10_002, to: 256 });
  assert.equal((await model.forward({ ids: new Int32Array(512).fill(1996) })).tokens.length, 512);
  await assert.rejects(loadModel(BUNDLED, { maxTokens: 513 }), qkvError('range', '513', '1 to 512'));
});

test('512 tokens are computed, and 10,000 words are cut to 512 with both counts', async () => {
  const model = await loadModel(BUNDLED, { maxTokens: 512 });
  const fits = await model.forward(new Array(510).fill('the').join(' '));
  assert.deepEqual([fits.tokens.length, fits.truncated], [512, null]);
  const run = await model.forward(new Array(10_000).fill('the').join(' '));
  assert.deepEqual(run.truncated, { from: 10_002, to: 512 });
  assert.equal(run.tokens.length, 512);
  assert.equal(run.tokens[511].text, '[SEP]');
  const { data } = await run.getWeights(5, 11, { rows: [511, 512] });
  assert.ok(Math.abs(data.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-6);
  const batch = await model.forward({ batch: ['short', new Array(600).fill('long').join(' ')] });
  assert.deepEqual(batch.truncated, [null, { from: 602, to: 512 }]);
  model.dispose();
});

test('maxTokens cuts earlier, and bare ids are never cut', async () => {
  const small = await loadModel(BUNDLED, { maxTokens: 8 });
  const run = await small.forward('one two three four five six seven eight nine');
  assert.deepEqual([run.tokens.length, run.truncated], [8, { from: 11, to: 8 }]);
  const bare = await small.forward({ ids: new Int32Array(20).fill(1996) });
  assert.equal(bare.tokens.length, 20);
  await assert.rejects(small.forward({ ids: new Int32Array(513) }), qkvError('range', '513', '1 to 512'));
  small.dispose();
});

test('bare ids give tokens with the pieces of the vocabulary and the run of the same text', async () => {
  const text = await model.forward('the animal');
  const bare = await model.forward({ ids: text.tokens.map(({ id }) => id) });
  assert.deepEqual(
    bare.tokens.map(({ text: piece, special }) => [piece, special]),
    text.tokens.map(({ text: piece, special }) => [piece, special]),
  );
  assertSameBits((await bare.hidden(6)).data, (await text.hidden(6)).data, 'hidden');
});

test('strange texts give a defined result: finite numbers and rows that sum to 1', async () => {
  const texts = [
    '',
    '   ',
    '[CLS] [SEP] [MASK]',
    '\u0000',
    '\ud800',
    '\ufffd',
    '👩‍👩‍👧‍👦',
    'e\u0301',
    'שלום עולם',
    '\u202eabc',
    '\u2028',
    '𠀀',
    '한국어',
    'a'.repeat(100_000),
    '\n'.repeat(10_000),
  ];
  for (const text of texts) {
    const run = await model.forward(text);
    assert.ok(run.tokens.length >= 2);
    const { data, rows, cols } = await run.getWeights(3, 3);
    for (let i = 0; i < rows; i++) {
      const sum = data.subarray(i * cols, (i + 1) * cols).reduce((total, weight) => total + weight, 0);
      assert.ok(Math.abs(sum - 1) < 1e-6, JSON.stringify(text.slice(0, 20)));
    }
    run.dispose();
  }
  await assert.rejects(model.forward('x'.repeat(2 ** 21 + 1)), qkvError('text'));
});

test('run.time is the milliseconds of the forward pass', async () => {
  const start = performance.now();
  const run = await model.forward('how long does it take');
  const passed = performance.now() - start;
  assert.ok(run.time > 0 && run.time <= passed, `${run.time} of ${passed}`);
});
