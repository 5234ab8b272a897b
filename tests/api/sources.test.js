/** Loading over HTTP and from damaged folders: one sentence each, and the next load works. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { loadModel } from 'qkv';
import { llamaFile } from '../lib/formats/gguf_file.js';
import { assertSameBits, BUNDLED, qkvError } from './golden.js';
import { TINY_FOLDER, tinyConfig, tinyFiles } from './tiny_model.js';

/** @typedef {import('node:http').ServerResponse} ServerResponse */

const files = tinyFiles();
const weights = files['model.safetensors'];
/** What a slow server sends at once. */
const SLOW_BYTES = 5000;
const gguf = llamaFile();
const MANY = 64;
/** @type {Promise<boolean> | null} of the last answer that was too long */
let wasReadToItsEnd = null;
/** @type {Record<string, (response: ServerResponse) => void>} what a folder answers for model.safetensors */
const FOLDERS = {
  good: (response) => response.end(weights),
  html: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Sign in'),
  gone: (response) => response.writeHead(404).end(),
  private: (response) => response.writeHead(401).end(),
  gated: (response) => response.writeHead(403).end(),
  busy: (response) => response.writeHead(429).end(),
  broken: (response) => response.writeHead(500).end(),
  short: (response) => response.end(weights.subarray(0, weights.length - 2)),
  long: (response) => response.end(Buffer.concat([weights, Buffer.from('PK')])),
  // Says more than it sends, then hangs up.
  cut: (response) => {
    response.writeHead(200, { 'content-length': weights.length });
    response.write(weights.subarray(0, 5000), () => response.destroy());
  },
  lfs: (response) => response.end('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 78224\n'),
  slow: (response) => {
    response.writeHead(200, { 'content-length': weights.length });
    response.write(weights.subarray(0, SLOW_BYTES));
  },
  zipped: (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(weights)),
  endless: (response) => sendTooMuch(response, weights),
  loop: (response) => response.writeHead(302, { location: '/loop/model.safetensors' }).end(),
};

/**
 * The file, then so much more that nobody should wait for its end.
 * @param {ServerResponse} response
 * @param {Uint8Array} file
 */
function sendTooMuch(response, file) {
  const more = Buffer.alloc(1 << 20);
  let count = 0;
  const next = () => (count++ < MANY ? response.write(more, next) : response.end());
  response.write(file, next);
  wasReadToItsEnd = new Promise((resolve) => response.once('close', () => resolve(response.writableFinished)));
}

const server = createServer((request, response) => {
  const [, folder, file] = (request.url ?? '').split('/');
  if (file === 'endless.gguf') return sendTooMuch(response, gguf);
  if (file === 'config.json') return response.end(files['config.json']);
  if (file !== 'model.safetensors' || !FOLDERS[folder]) return response.writeHead(404).end();
  return FOLDERS[folder](response);
});
let base = '';

before(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

test('a folder, its URL, files and bytes give the same model', async () => {
  const dropped = Object.entries(files).map(([name, bytes]) => new File([new Uint8Array(bytes)], name));
  const sources = [
    TINY_FOLDER,
    new URL(`file://${TINY_FOLDER}`),
    `${base}/good`,
    new URL(`${base}/good/`),
    dropped,
    files,
  ];
  /** @type {Float32Array | undefined} */
  let expected;
  for (const source of sources) {
    const model = await loadModel(source);
    const { data } = await (await model.forward({ ids: [1, 2, 3] })).hidden(2);
    expected ??= data;
    assertSameBits(data, expected, String(source));
    model.dispose();
  }
});

test('where the server says no size, progress has a total as soon as the header is read', async () => {
  /** @type {{ phase: string, loaded: number, total: number | null }[]} */
  const seen = [];
  const model = await loadModel(`${base}/zipped`, { onProgress: (progress) => seen.push(progress) });
  model.dispose();
  const [start, ...download] = seen.filter(({ phase }) => phase === 'download');
  assert.deepEqual([start.loaded, start.total], [0, null]);
  assert.ok(download.length > 0 && download.every(({ total }) => total === weights.length));
  assert.equal(download.at(-1)?.loaded, weights.length);
});

for (const [folder, code, ...words] of /** @type {[string, string, ...string[]][]} */ ([
  ['html', 'format', 'HTML'],
  ['gone', 'missing', 'model.safetensors'],
  ['private', 'network', '401'],
  ['gated', 'network', '403'],
  ['busy', 'network', '429'],
  ['broken', 'network', '500'],
  ['short', 'format', 'cut short'],
  ['long', 'format', 'after the last tensor'],
  ['lfs', 'format', 'LFS'],
  ['loop', 'network'],
])) {
  test(`a server that answers like "${folder}" is named with what it did`, () =>
    assert.rejects(loadModel(`${base}/${folder}`), qkvError(code, ...words)));
}

for (const [path, size] of /** @type {const} */ ([
  ['endless', weights.length],
  ['files/endless.gguf', gguf.length],
])) {
  test(`${path}: a download that goes on behind the last tensor is refused there, not read to its end`, async () => {
    /** @type {import('qkv').Progress[]} */
    const seen = [];
    const onProgress = (/** @type {import('qkv').Progress} */ progress) => seen.push(progress);
    await assert.rejects(loadModel(`${base}/${path}`, { onProgress }), qkvError('format', 'after the last tensor'));
    assert.equal(await wasReadToItsEnd, false);
    assert.ok(seen.every(({ loaded, total }) => loaded <= (total ?? size)));
  });
}

test('a download that breaks off is a network or format error, and the next one works', async () => {
  await assert.rejects(
    loadModel(`${base}/cut`),
    ({ name, code }) => name === 'QkvError' && ['network', 'format'].includes(code),
  );
  await loadModel(`${base}/good`);
});

test('a download can be cancelled while it waits for more', async () => {
  const controller = new AbortController();
  /** @type {number[]} */
  const seen = [];
  const onProgress = (/** @type {import('qkv').Progress} */ { loaded }) => {
    seen.push(loaded);
    // All that comes has come: from here on it waits.
    if (loaded === SLOW_BYTES) setTimeout(() => controller.abort());
  };
  const waiting = loadModel(`${base}/slow`, { signal: controller.signal, onProgress });
  await assert.rejects(waiting, qkvError('aborted'));
  assert.equal(seen.at(-1), SLOW_BYTES);
});

test('weights that do not belong to config.json are refused by shape, by name and by number', async () => {
  const load = (/** @type {Record<string, unknown>} */ changes) =>
    loadModel({ ...files, 'config.json': tinyConfig(changes) });
  await assert.rejects(
    load({ vocab_size: 74 }),
    qkvError('weight', 'embeddings.word_embeddings.weight', '[73,25]', '[74,25]', 'config.json'),
  );
  await assert.rejects(load({ intermediate_size: 80 }), qkvError('weight', 'shape'));
  await assert.rejects(load({ num_hidden_layers: 3 }), qkvError('weight', 'layer 2'));
  await assert.rejects(
    load({ num_attention_heads: 7 }),
    qkvError('config', 'hidden_size', '25', 'num_attention_heads', '7'),
  );
  const one = await load({ num_hidden_layers: 1 });
  assert.equal(one.info.layers, 1);
});

test('a file that is renamed, missing or empty is named', async () => {
  const only = (/** @type {Record<string, Uint8Array>} */ some) => loadModel(some);
  await assert.rejects(only({}), qkvError('source', 'an object without files'));
  await assert.rejects(only({ 'config.json': files['config.json'] }), qkvError('missing', 'model.safetensors'));
  await assert.rejects(
    only({ 'config.json': files['config.json'], 'pytorch_model.bin': new Uint8Array(9) }),
    qkvError('missing', 'model.safetensors', 'pytorch_model.bin', '.gguf'),
  );
  await assert.rejects(only({ 'model.safetensors': weights }), qkvError('missing', 'config.json'));
  await assert.rejects(
    only({ ...files, 'model.safetensors': new Uint8Array() }),
    qkvError('format', 'model.safetensors'),
  );
  const zip = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(100)]);
  await assert.rejects(
    only({ ...files, 'model.safetensors': zip }),
    qkvError('format', 'model.safetensors', /zip|PyTorch/i),
  );
  await assert.rejects(
    only({ ...files, 'tokenizer.json': Buffer.from('{}') }),
    qkvError('tokenizer', 'tokenizer.json'),
  );
  await assert.rejects(only({ ...files, 'tokenizer.json': Buffer.from('<html>') }), ({ name }) => name === 'QkvError');
});

test('NaN and infinity in weights are loaded and shown as they are', async () => {
  const bytes = Buffer.from(weights);
  bytes.writeFloatLE(Number.NaN, bytes.length - 4);
  const model = await loadModel({ ...files, 'model.safetensors': bytes });
  const run = await model.forward({ ids: [1, 2] });
  assert.equal((await run.getWeights(0, 0)).rows, 2);
});

test('a tokenizer with ids that the model does not have is refused', async () => {
  const tokenizer = readFileSync(`${BUNDLED}/tokenizer.json`);
  await assert.rejects(loadModel({ ...files, 'tokenizer.json': tokenizer }), qkvError('tokenizer'));
});
