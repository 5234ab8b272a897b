/** Embeddings as the files beside a model say, against sentence-transformers, and what overrides them. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { inspectModel, loadModel } from 'qkv';
import { llamaFile, U32 } from '../lib/formats/gguf_file.js';
import { caseFiles, GOLDEN, VECTORS } from './embedding_folder.js';
import {
  assertClose,
  assertSameBits,
  BUNDLED,
  float32Minilm,
  inTree,
  qkvError,
  readSafetensors,
  tensorOf,
} from './golden.js';

/** @typedef {import('qkv').EmbedOptions} EmbedOptions */
/** @typedef {import('qkv').Pooling} Pooling */

const vectors = readSafetensors(VECTORS);

/** @param {string} name @param {number} row */
function golden(name, row) {
  const { shape, data } = tensorOf(vectors, name);
  return /** @type {Float32Array} */ (data.slice(row * shape[1], (row + 1) * shape[1]));
}

/** @param {Float32Array} a @param {Float32Array} b */
function cosine(a, b) {
  const dot = (/** @type {Float32Array} */ x, /** @type {Float32Array} */ y) =>
    x.reduce((sum, v, i) => sum + v * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

for (const [name, { maxTokens, calls }] of Object.entries(GOLDEN.cases)) {
  test(`${name}: embed is what sentence-transformers computes`, async () => {
    const model = await loadModel(caseFiles(name));
    const { embedding } = model.info;
    assert.equal(embedding.from, 'modules.json');
    // The library says 20 there, though it cuts at the 13 of processing_kwargs.
    assert.equal(embedding.maxTokens, name === 'processing_length' ? 13 : maxTokens);
    assert.equal(embedding.maxTokens, model.info.maxTokens);
    for (const [index, { prompt_name: promptName, ...call }] of calls.entries()) {
      const options = promptName === undefined ? call : { ...call, prompt: promptName };
      const found = await model.embed(GOLDEN.texts, options);
      for (const [row, vector] of found.entries()) {
        assert.equal(vector.length, embedding.dimension);
        assertClose(vector, golden(`${name}.${index}`, row), `${name}, call ${index}, text ${row}`);
        const single = await model.embed([GOLDEN.texts[row]], options);
        assertSameBits(single[0], vector, 'alone and in a batch');
      }
    }
    model.dispose();
  });
}

test('MiniLM: embeddings are those of sentence-transformers, of a text of 2,400 characters too', async (t) => {
  assert.ok(GOLDEN.minilm.some((text) => text.length >= 2400));
  for (const [what, source, least, mean] of /** @type {[string, string, number, number][]} */ ([
    ['float32', float32Minilm(), 0.99999, 0.99999],
    ['bundled, 10 bits', BUNDLED, 0.9997, 0.9999],
  ])) {
    const model = await loadModel(source);
    assert.equal(model.info.maxTokens, 256);
    const cosines = (await model.embed(GOLDEN.minilm)).map((vector, row) => cosine(vector, golden('minilm', row)));
    t.diagnostic(`${what}: cosine at least ${Math.min(...cosines).toFixed(8)}`);
    assert.ok(Math.min(...cosines) >= least, `${what}: ${cosines}`);
    assert.ok(cosines.reduce((sum, value) => sum + value, 0) / cosines.length >= mean, `${what}: ${cosines}`);
    model.dispose();
  }
});

test('run.embedding() follows the same files, without a prompt', async () => {
  for (const name of ['cls', 'side_by_side', 'two_dense', 'truncated']) {
    const model = await loadModel(caseFiles(name));
    const run = await model.forward({ batch: GOLDEN.texts });
    for (const [row, vector] of (await run.embedding()).entries()) {
      assertClose(vector, golden(`${name}.0`, row), `${name}, text ${row}`);
    }
    model.dispose();
  }
  const prompted = await loadModel(caseFiles('prompts'));
  assert.equal(prompted.info.embedding.defaultPrompt, 'passage');
  const run = await prompted.forward(GOLDEN.texts[1]);
  assertClose(await run.embedding(), golden('prompts.3', 1), 'no prompt');
  prompted.dispose();
});

test('in a worker the embeddings and what is said of them are the same', async () => {
  const [near, far] = await Promise.all([false, true].map((worker) => loadModel(caseFiles('two_dense'), { worker })));
  assert.deepEqual(far.info.embedding, near.info.embedding);
  assert.equal(far.info.embedding.dimension, 13);
  const [here, there] = [await near.embed(GOLDEN.texts), await far.embed(GOLDEN.texts)];
  for (const [row, vector] of here.entries()) assertSameBits(there[row], vector, 'worker');
  near.dispose();
  far.dispose();
});

test('over HTTP the files in folders are read, and those that are not there are none', async (t) => {
  const files = caseFiles('cls');
  /** @type {string[]} */
  const missing = [];
  const server = createServer((request, response) => {
    const file = (request.url ?? '').replace('/model/', '');
    if (!files[file]) missing.push(file);
    response.writeHead(files[file] ? 200 : 404).end(files[file]);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  t.after(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const model = await loadModel(`http://127.0.0.1:${port}/model`);
  const found = await model.embed(GOLDEN.texts);
  for (const [row, vector] of found.entries()) assertClose(vector, golden('cls.0', row), `text ${row}`);
  assert.ok(!missing.some((file) => file.includes('Normalize')), `${missing}`);
  model.dispose();
});

test('options override pooling and normalisation, and dense layers stay', async () => {
  const model = await loadModel(caseFiles('cls'));
  const mean = await model.embed(GOLDEN.texts, { pooling: 'mean', normalize: false });
  for (const [row, vector] of mean.entries()) assertClose(vector, golden('mean_plain.0', row), `text ${row}`);
  const three = await model.embed(GOLDEN.texts, { pooling: ['cls', 'max', 'mean'] });
  for (const [row, vector] of three.entries()) assertClose(vector, golden('side_by_side.0', row), `text ${row}`);
  const [last] = await model.embed(GOLDEN.texts, { pooling: /** @type {Pooling} */ ('lasttoken') });
  assertSameBits((await model.embed(GOLDEN.texts, { pooling: 'last' }))[0], last, 'lasttoken');
  for (const pooling of ['median', [], ['mean', 'median'], 5, null]) {
    const wrong = /** @type {EmbedOptions} */ ({ pooling });
    await assert.rejects(model.embed(GOLDEN.texts, wrong), qkvError('argument', 'pooling'));
  }
  model.dispose();
  const dense = await loadModel(caseFiles('dense'));
  const [plain] = await dense.embed(GOLDEN.texts, { normalize: false });
  assert.ok(Math.abs(Math.hypot(...plain) - 1) > 0.01);
  assert.ok(cosine(plain, golden('dense.0', 0)) > 0.999999);
  await assert.rejects(
    dense.embed([], { pooling: ['cls', 'mean'] }),
    qkvError('argument', 'the 25 numbers', '2_Dense'),
  );
  dense.dispose();
});

test('a prompt is a name that the model knows, or the words themselves', async () => {
  const model = await loadModel(caseFiles('prompts'));
  const { prompts } = model.info.embedding;
  assert.deepEqual(prompts, { query: 'the cat, ', passage: 'on it ' });
  const [[named], [words], [joined]] = await Promise.all([
    model.embed(['sat'], { prompt: 'query' }),
    model.embed(['sat'], { prompt: 'the cat, ' }),
    model.embed(['the cat, sat'], { prompt: '' }),
  ]);
  assertSameBits(named, words, 'name and words');
  assertSameBits(named, joined, 'in front of the text');
  for (const prompt of [5, null, ['query']]) {
    const wrong = /** @type {EmbedOptions} */ (/** @type {unknown} */ ({ prompt }));
    await assert.rejects(model.embed([], wrong), qkvError('argument', 'embed: prompt'));
  }
  model.dispose();
});

test('a text of which nothing is left to pool behind the prompt is an error', async () => {
  const { 'tokenizer.json': bytes } = caseFiles('decoder_prompt_left_out');
  const tokenizer = { ...JSON.parse(new TextDecoder().decode(bytes)), post_processor: null };
  const model = await loadModel(caseFiles('decoder_prompt_left_out', { 'tokenizer.json': tokenizer }));
  assert.equal((await model.embed(['cat'], { prompt: 'it goes ' })).length, 1);
  const wanted = qkvError('text', 'texts[1]: tokens', 'got 2', 'more than the 2 of the prompt');
  await assert.rejects(model.embed(['cat', ''], { prompt: 'it goes ' }), wanted);
  model.dispose();
});

test('without modules.json the mean is taken and normalised, whatever lies beside', async () => {
  const model = await loadModel(caseFiles('cls', { 'modules.json': undefined }));
  const limits = { maxTokens: 83, prompts: {} };
  assert.deepEqual(model.info.embedding, {
    pooling: 'mean',
    normalize: true,
    dimension: 25,
    from: 'default',
    ...limits,
  });
  const [vector] = await model.embed(GOLDEN.texts);
  assertClose(vector, golden('mean.0', 0), 'mean');
  model.dispose();
});

test('maxTokens overrides max_seq_length up to what the model takes, and inspectModel says the default', async () => {
  assert.equal((await inspectModel(caseFiles('mean'))).maxTokens, 24);
  const model = await loadModel(caseFiles('mean'), { maxTokens: 83 });
  assert.deepEqual([model.info.maxTokens, model.info.embedding.maxTokens], [83, 83]);
  assert.equal((await model.forward(GOLDEN.texts[3])).truncated?.to, 83);
  model.dispose();
  await assert.rejects(loadModel(caseFiles('mean'), { maxTokens: 84 }), qkvError('range', '84', '1 to 83'));
});

for (const [type, pooling] of /** @type {[number, Pooling | null][]} */ ([
  [0, null],
  [1, 'mean'],
  [2, 'cls'],
  [3, 'last'],
])) {
  test(`GGUF: pooling_type ${type} is ${pooling ?? 'the default'}`, async () => {
    const model = await loadModel({ 'tiny.gguf': llamaFile([['llama.pooling_type', U32, type]]) });
    const { embedding, width, maxTokens } = model.info;
    const how = { pooling: pooling ?? 'mean', normalize: true, from: pooling ? 'gguf' : 'default' };
    assert.deepEqual(embedding, { ...how, dimension: width, maxTokens, prompts: {} });
    const run = await model.forward({ ids: [1, 2, 3, 4] });
    assertSameBits(await run.embedding(), await run.embedding({ pooling: pooling ?? 'mean' }), 'pooling');
    model.dispose();
  });
}

test('GGUF: a model that ranks is refused when it is to embed, and loads', async () => {
  const model = await loadModel({ 'tiny.gguf': llamaFile([['llama.pooling_type', U32, 4]]) });
  assert.deepEqual([model.info.embedding.from, model.info.embedding.pooling], ['gguf', null]);
  assert.match(model.info.embedding.unsupported ?? '', /pooling_type.*rank/);
  const run = await model.forward({ ids: [1, 2, 3] });
  await assert.rejects(run.embedding(), qkvError('unsupported', 'pooling_type', 'rank'));
  assert.equal((await run.embedding({ pooling: 'last' })).length, model.info.width);
  model.dispose();
});

test('a folder without a tokenizer says what it does, too', async () => {
  const model = await loadModel(inTree('tests/golden/tiny/bert'));
  assert.equal(model.info.embedding.from, 'default');
  model.dispose();
});
