import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { portableSource } from '../../../web/lib/sources/portable.js';
import { openSource } from '../../../web/lib/sources/source.js';
import { expectError } from '../expect_error.js';
import { directoryHandle } from './directory_handle.js';
import { isThere } from './is_there.js';

/** @typedef {import('../../../web/lib/sources/source.js').SourceInput} SourceInput */
/** @typedef {import('node:http').RequestListener} Listener */

const CONFIG = '{"a": 1}';
const BIG = new Uint8Array(3_000_000).map((_, i) => i % 251);

/** @type {string} */
let folder;
/** @type {import('node:http').Server} */
let server;
/** @type {string} */
let origin;

/** What the server does for a path; the first part of the path says what kind of trouble. @type {Record<string, Listener>} */
const answers = {
  good: (request, response) => {
    if (request.url === '/good/config.json?key=1') return response.end('with query');
    if (request.url === '/good/some.gguf?key=1') return response.end(BIG);
    const body = request.url === '/good/config.json' ? CONFIG : request.url === '/good/big.bin' ? BIG : null;
    if (body === null) response.statusCode = 404;
    return response.end(body ?? 'no');
  },
  spa: (_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end('<!doctype html>'),
  zipped: (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(BIG)),
  nohead: (request, response) => {
    if (request.method === 'HEAD') response.statusCode = 405;
    response.end(request.method === 'HEAD' ? undefined : CONFIG);
  },
  loop: (request, response) => response.writeHead(302, { location: request.url }).end(),
  short: (_, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('only this', () => response.destroy());
  },
  silent: () => {},
  trickle: (_, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('a');
  },
};

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qkv-source-'));
  await writeFile(join(folder, 'config.json'), CONFIG);
  await writeFile(join(folder, 'big.bin'), BIG);
  await mkdir(join(folder, 'directory.json'));
  await mkdir(join(folder, 'alone'));
  await writeFile(join(folder, 'alone', 'my model (1).gguf'), BIG);
  server = createServer((request, response) => {
    const [, kind] = (request.url ?? '').split('/');
    const answer = answers[kind];
    if (answer) answer(request, response);
    else response.writeHead(Number(kind)).end('<html>sorry</html>');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});

after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

/** @param {AsyncIterable<Uint8Array>} chunks */
async function collect(chunks) {
  /** @type {Uint8Array[]} */
  const parts = [];
  for await (const chunk of chunks) parts.push(chunk.slice());
  return new Uint8Array(Buffer.concat(parts));
}

/** Every way to name the same two files. @returns {[string, SourceInput][]} */
const inputs = () => [
  ['a folder', folder],
  ['a file: URL', pathToFileURL(folder)],
  ['a file: URL as text', pathToFileURL(folder).href],
  ['an http: URL', `${origin}/good`],
  ['an http: URL object with a slash', new URL(`${origin}/good/`)],
  ['files', [new File([CONFIG], 'config.json'), new File([BIG], 'big.bin')]],
  ['bytes', { 'config.json': new TextEncoder().encode(CONFIG), 'big.bin': BIG.slice().buffer }],
  ['a directory handle', directoryHandle({ 'config.json': CONFIG, 'big.bin': BIG })],
];

test('the same files are read from everywhere: whole, streamed and with their size', async () => {
  for (const [what, input] of inputs()) {
    const source = await openSource(input);
    assert.equal(new TextDecoder().decode(await source.bytes('config.json')), CONFIG, what);
    const { size, chunks } = await source.stream('big.bin');
    assert.equal(size, BIG.length, what);
    assert.ok(Buffer.from(await collect(chunks)).equals(BIG), what);
    assert.deepEqual(
      [await isThere(source, 'config.json'), await isThere(source, 'tokenizer.json')],
      [true, false],
      what,
    );
    assert.ok(source.name.length > 0 && source.where('config.json').endsWith('config.json'), what);
  }
});

test('a missing file is named, with the place where it was looked for', async () => {
  for (const [what, input] of inputs()) {
    const source = await openSource(input);
    const { message } = await expectError(() => source.bytes('model.safetensors'), 'missing', /model\.safetensors/);
    assert.ok(!message.includes('undefined'), `${what}: ${message}`);
    await expectError(async () => collect((await source.stream('model.safetensors')).chunks), 'missing');
  }
});

test('a file larger than what it may be is not read to its end', async () => {
  for (const [, input] of inputs()) {
    const source = await openSource(input);
    await expectError(
      () => source.bytes('big.bin', { max: 1000 }),
      'format',
      /big\.bin: bytes: got .*want at most 1000/,
    );
  }
  const zipped = await openSource(`${origin}/zipped`);
  await expectError(() => zipped.bytes('big.bin', { max: 1_000_000 }), 'format', /more than 1000000/);
});

test('names that lead out of the folder are refused everywhere', async () => {
  for (const [, input] of inputs()) {
    const source = await openSource(input);
    for (const file of [
      '../x',
      '/etc/passwd',
      'a/../b',
      'a//b',
      'a/',
      'http://evil/x',
      '',
      '.',
      '..',
      '.hidden',
      'a\\b',
      'x\n',
      'a?b',
      'a%2fb',
    ]) {
      await expectError(() => source.bytes(file), 'source', /name of a file/);
      await expectError(() => isThere(source, file), 'source');
      await expectError(() => source.stream(file), 'source');
    }
  }
});

test('an abort before and during reading is the error aborted', async () => {
  for (const [, input] of inputs()) {
    await expectError(() => openSource(input, { signal: AbortSignal.abort() }), 'aborted');
    const controller = new AbortController();
    const source = await openSource(input);
    const { chunks } = await source.stream('big.bin', { signal: controller.signal });
    await expectError(async () => {
      for await (const _ of chunks) controller.abort();
    }, 'aborted');
  }
  for (const kind of ['silent', 'trickle']) {
    const slow = await openSource(`${origin}/${kind}`);
    await expectError(() => slow.bytes('config.json', { signal: AbortSignal.timeout(50) }), 'aborted');
  }
});

test('the answers of a server become one sentence with the address', async () => {
  /** @type {[string, string, RegExp][]} */
  const cases = [
    ['404', 'missing', /\/404\/config\.json is not there: got "404 Not Found"/],
    ['410', 'missing', /410/],
    ['401', 'network', /\/401\/config\.json: answer of the server: got "401 Unauthorized", want 200\. .*gated/],
    ['403', 'network', /gated/],
    ['429', 'network', /429.*wait a while/],
    ['500', 'network', /500 Internal Server Error/],
    ['loop', 'network', /\/loop\/config\.json cannot be fetched: got "redirect count exceeded"/],
    ['short', 'network', /\/short\/config\.json: the connection broke: got "9 bytes/],
    ['spa', 'format', /\/spa\/config\.json: content of the answer: got "an HTML page"/],
  ];
  for (const [kind, code, message] of cases) {
    const source = await openSource(`${origin}/${kind}`);
    await expectError(() => source.bytes('config.json'), code, message);
  }
  await expectError(
    async () => (await openSource('http://127.0.0.1:9/x')).bytes('config.json'),
    'network',
    /127\.0\.0\.1:9/,
  );
});

test('a file that is not there is told from a server in trouble', async () => {
  /** @param {string} kind */
  const find = async (kind) => isThere(await openSource(`${origin}/${kind}`), 'config.json');
  // The store of 403 says so of every file.
  for (const kind of ['404', '410', 'spa', '403']) assert.equal(await find(kind), false, kind);
  assert.equal(await find('nohead'), true);
  for (const kind of ['401', '500', '503', '429']) await expectError(() => find(kind), 'network', new RegExp(kind));
});

test('the size of a compressed answer is not claimed to be known', async () => {
  const { size, chunks } = await (await openSource(`${origin}/zipped`)).stream('big.bin');
  assert.equal(size, null);
  assert.ok(Buffer.from(await collect(chunks)).equals(BIG));
});

test('the query of a URL goes with every file', async () => {
  const source = await openSource(`${origin}/good?key=1`);
  assert.equal(new TextDecoder().decode(await source.bytes('config.json')), 'with query');
  assert.equal(source.name, 'good');
});

test('a folder that may not be read any more says so', async () => {
  const broken = {
    ...directoryHandle({}),
    getFileHandle: async () => Promise.reject(new DOMException('no', 'NotAllowedError')),
  };
  const source = await openSource(/** @type {FileSystemDirectoryHandle} */ (broken));
  await expectError(() => isThere(source, 'config.json'), 'source', /permission/);
});

/** @type {[unknown, string, RegExp][]} */
const REFUSED = [
  [undefined, 'source', /want a folder, a \.gguf file, a URL/],
  [null, 'source', /got null/],
  [5, 'source', /got 5/],
  ['', 'source', /got ""/],
  [undefined, 'source', /got "nothing"/],
  [{}, 'source', /got "an object without files"/],
  [Promise.resolve('./model'), 'source', /got a Promise, want a folder.*Put await before it\./],
  [new Blob([]), 'source', /got a Blob/],
  [new Uint8Array(8), 'source', /bytes without a name/],
  [new ArrayBuffer(8), 'source', /bytes without a name/],
  [{ 'config.json': 'text' }, 'source', /"config\.json": got "text", want a Uint8Array/],
  [['config.json'], 'source', /got "config\.json", want a list of File objects/],
  ['javascript:alert(1)', 'source', /scheme of the URL: got "javascript:"/],
  ['ftp://example.org/x', 'source', /"ftp:"/],
  ['http://', 'source', /valid URL/],
  ['file:///%E0%A4%A', 'source', /got "file:.*want a path on this machine/],
  ['file:///a%2Fb', 'source', /a path on this machine/],
  ['https://example.org/model.safetensors', 'source', /want a folder or a \.gguf file/],
  ['./no/such/folder', 'missing', /no\/such\/folder is not there: want a folder .*\. Check the path\.$/],
];

for (const [input, code, message] of REFUSED) {
  const what = ArrayBuffer.isView(input) || input instanceof ArrayBuffer ? 'bytes alone' : JSON.stringify(input);
  test(`refused as a source: ${what}`, async () => {
    await expectError(() => openSource(/** @type {SourceInput} */ (input)), code, message);
  });
}

test('a file in place of a folder is refused, and so is a folder in place of a file', async () => {
  await expectError(() => openSource(join(folder, 'config.json')), 'source', /want a folder/);
  const source = await openSource(folder);
  assert.equal(await isThere(source, 'directory.json'), false);
  await expectError(() => source.bytes('directory.json'), 'missing', /no ordinary file/);
});

test('a hub name is a folder of the hub at a revision, unless a folder of that name is here', async () => {
  const source = await openSource('no-such-org/no-such-model', { revision: 'refs/pr/1' });
  assert.equal(source.name, 'no-such-org/no-such-model');
  const address = 'https://huggingface.co/no-such-org/no-such-model/resolve/refs%2Fpr%2F1/config.json';
  assert.equal(source.where('config.json'), address);
  for (const revision of ['../main', 'a b', 'a?b', '', 'x'.repeat(100)]) {
    await expectError(() => openSource('no-such-org/no-such-model', { revision }), 'argument', /revision/);
  }
  await expectError(() => openSource('../..x', { revision: 'main' }), 'missing');
});

test('a GGUF file is a model by itself, wherever it is and whatever its name', async () => {
  const path = join(folder, 'alone', 'my model (1).gguf');
  const file = new File([BIG], 'my model (1).gguf');
  /** @type {[string, SourceInput, string][]} */
  const ways = [
    ['a path', path, 'my model (1).gguf'],
    ['a file: URL', pathToFileURL(path), 'my model (1).gguf'],
    ['an http: URL', `${origin}/good/some.gguf?key=1`, 'some.gguf'],
    ['a file', file, 'my model (1).gguf'],
    ['a file among others', [file, new File(['x'], 'README.md')], 'my model (1).gguf'],
    ['bytes', { 'a b.GGUF': BIG }, 'a b.GGUF'],
  ];
  for (const [what, input, name] of ways) {
    const source = await openSource(input);
    assert.ok(source.gguf, what);
    assert.equal(source.name, name, what);
    const { size, chunks } = await source.stream(source.gguf);
    assert.equal(size, BIG.length, what);
    assert.ok(Buffer.from(await collect(chunks)).equals(BIG), what);
  }
  const missing = await openSource(join(folder, 'none.gguf'));
  await expectError(
    () => missing.stream(missing.gguf ?? ''),
    'missing',
    /none\.gguf is not there: want a \.gguf file\. Check the path\.$/,
  );
});

/** A folder, files, bytes and a directory handle with the same files. @param {Record<string, string>} files */
async function placesOf(files) {
  const path = await mkdtemp(join(folder, 'place-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
  const entries = Object.entries(files);
  /** @type {SourceInput[]} */
  const places = [
    path,
    pathToFileURL(path),
    entries.map(([name, content]) => new File([content], name)),
    Object.fromEntries(entries.map(([name, content]) => [name, new TextEncoder().encode(content)])),
    directoryHandle(files),
  ];
  return places;
}

test('a GGUF file that is the only weights is the model, whatever lies beside it', async () => {
  const beside = { 'config.json': CONFIG, 'README.md': 'x', 'adapter.safetensors': 'x' };
  for (const input of await placesOf({ ...beside, 'my model (1).GGUF': 'weights' })) {
    const source = await openSource(input);
    assert.deepEqual([source.name, source.gguf], ['my model (1).GGUF', 'model.gguf']);
    assert.equal(new TextDecoder().decode(await source.bytes(source.gguf ?? '')), 'weights');
    assert.equal(await isThere(source, 'config.json'), false);
    assert.match(source.where(source.gguf ?? ''), /my model \(1\)\.GGUF$/);
  }
  for (const weights of ['model.safetensors', 'model.safetensors.index.json']) {
    for (const input of await placesOf({ ...beside, 'a.gguf': 'weights', [weights]: 'x' })) {
      const source = await openSource(input);
      assert.equal(source.gguf, undefined);
      assert.ok(await isThere(source, 'config.json'));
    }
  }
  for (const input of await placesOf({ ...beside, 'b.gguf': 'x', 'a.gguf': 'x' })) {
    await expectError(
      () => openSource(input),
      'source',
      /GGUF files: got 2, want one .*Choose one of them: a\.gguf, b\.gguf\.$/,
    );
  }
});

test('where a file is missing, the message names what is there', async () => {
  for (const input of await placesOf({ 'config.json': CONFIG, 'pytorch_model.bin': 'x' })) {
    const source = await openSource(input);
    await expectError(
      () => source.bytes('tokenizer.json'),
      'missing',
      /tokenizer\.json .*got "[^"]*pytorch_model\.bin/,
    );
  }
  const many = Array.from({ length: 9 }, (_, i) => new File([], `${i}${'n'.repeat(1000)}`));
  const crowded = await openSource(many);
  const { message } = await expectError(() => crowded.bytes('config.json'), 'missing', /got "0n/);
  assert.ok(message.length < 300, message);
});

test('a source can be posted to a worker and means the same there', async () => {
  for (const [, input] of inputs().filter(([what]) => what !== 'a directory handle' && what !== 'files')) {
    const source = await openSource(structuredClone(portableSource(input)));
    assert.equal(new TextDecoder().decode(await source.bytes('config.json')), CONFIG);
  }
  assert.throws(() => portableSource(/** @type {SourceInput} */ (/** @type {unknown} */ (5))), { code: 'source' });
});

test('a chunk that cannot be read is told to whoever asks for it, even if that is much later', async (t) => {
  const file = Object.assign(new Uint8Array(4), { at: 0 });
  const handle = {
    read: async () => {
      if (file.at++ > 0) throw new Error('EIO: the disk is broken');
      return { bytesRead: file.length };
    },
    close: async () => {},
  };
  const { promises } = process.getBuiltinModule('node:fs');
  t.mock.method(promises, 'open', async () => handle);
  const source = await openSource(folder);
  const { chunks } = await source.stream('big.bin');
  const iterator = chunks[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value?.length, 4);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await assert.rejects(async () => iterator.next(), /EIO/);
});
