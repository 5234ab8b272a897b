/** Where the wasm file comes from, and what is said when it is not one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { init, loadModel } from 'qkv';
import { inTree, qkvError } from './golden.js';
import { TINY_FOLDER, tinyFiles } from './tiny_model.js';

const address = new URL(import.meta.resolve('qkv/qkv.wasm'));
const bytes = new Uint8Array(readFileSync(address));

/** @type {Record<string, { status?: number, type: string, body: string | Uint8Array }>} */
const ANSWERS = {
  '/good.wasm': { type: 'application/wasm', body: bytes },
  '/plain.wasm': { type: 'text/plain', body: bytes },
  '/html.wasm': { type: 'text/html', body: '<!doctype html><title>Not found</title>' },
  '/missing.wasm': { status: 404, type: 'text/html', body: 'no' },
  '/short.wasm': { type: 'application/wasm', body: bytes.slice(0, bytes.length >> 1) },
  '/empty.wasm': { type: 'application/wasm', body: '' },
};
let requests = 0;
const server = createServer((request, response) => {
  requests++;
  const { status = 200, type, body } = ANSWERS[request.url ?? ''] ?? ANSWERS['/missing.wasm'];
  response.writeHead(status, { 'content-type': type }).end(body);
});
let base = '';

before(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => server.close());

test('init says what it started', async () => {
  const { info } = await init({ variant: 'simd' });
  assert.deepEqual(info, { version: info.version, variant: 'simd', threads: 1, wasmBytes: bytes.length });
  assert.equal((await init({ wasm: bytes })).info.variant, 'custom');
  assert.equal((await init({ wasm: bytes, variant: 'simd' })).info.variant, 'simd');
  assert.match(info.version, /^\d+\.\d+\.\d+$/);
});

test('the module may be a URL, a path, bytes, a response or compiled', async () => {
  const sources = [
    address,
    address.href,
    fileURLToPath(address),
    bytes,
    bytes.buffer,
    new DataView(bytes.buffer),
    new Response(bytes),
    await WebAssembly.compile(bytes),
    `${base}/good.wasm`,
    `${base}/plain.wasm`,
  ];
  for (const wasm of sources) {
    const engine = await init({ wasm });
    const model = await loadModel(tinyFiles(), { engine });
    assert.equal((await model.forward({ ids: [1, 2] })).tokens.length, 2);
    engine.dispose();
    await assert.rejects(model.forward({ ids: [1] }), qkvError('disposed', 'engine'));
    await assert.rejects(loadModel(tinyFiles(), { engine }), qkvError('disposed', 'engine'));
  }
});

test('a module is fetched and compiled once, a failure is tried again', async () => {
  const wasm = `${base}/late.wasm`;
  ANSWERS['/late.wasm'] = { status: 503, type: 'text/plain', body: 'later' };
  await assert.rejects(init({ wasm }), qkvError('network', '503', wasm));
  ANSWERS['/late.wasm'] = ANSWERS['/good.wasm'];
  requests = 0;
  await Promise.all([init({ wasm }), init({ wasm }), init({ wasm })]);
  await init({ wasm });
  assert.equal(requests, 1);
});

test('what is not a wasm file is named with what it is instead', async () => {
  await assert.rejects(init({ wasm: `${base}/missing.wasm` }), qkvError('network', `${base}/missing.wasm`, '404'));
  await assert.rejects(init({ wasm: `${base}/html.wasm` }), qkvError('wasm', '/html.wasm', 'text/html', '<!doctype'));
  await assert.rejects(
    init({ wasm: `${base}/short.wasm` }),
    qkvError('wasm', '/short.wasm', `${bytes.length >> 1} bytes`, 'does not compile'),
  );
  await assert.rejects(init({ wasm: `${base}/empty.wasm` }), qkvError('wasm', '/empty.wasm'));
  await assert.rejects(init({ wasm: 'http://127.0.0.1:1/x.wasm' }), qkvError('network', 'http://127.0.0.1:1/x.wasm'));
  await assert.rejects(init({ wasm: './no/such.wasm' }), qkvError('wasm', 'no/such.wasm'));
  await assert.rejects(init({ wasm: new Uint8Array() }), qkvError('wasm', 'the given bytes'));
  await assert.rejects(
    init({ wasm: /** @type {string} */ (/** @type {unknown} */ (7)) }),
    qkvError('argument', 'init: wasm'),
  );
});

test('another module, or one of another version, is told apart by its ABI number', async () => {
  const none = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  await assert.rejects(init({ wasm: none }), qkvError('wasm', 'ABI number', '"none"', 'same version'));
  // (module (func (export "qkv_abi") (result i32) (i32.const 99)))
  const name = [...Buffer.from('qkv_abi')];
  const other = Uint8Array.of(
    ...none,
    1,
    5,
    1,
    96,
    0,
    1,
    127,
    3,
    2,
    1,
    0,
    7,
    11,
    1,
    7,
    ...name,
    0,
    0,
    10,
    7,
    1,
    5,
    0,
    65,
    227,
    0,
    11,
  );
  await assert.rejects(init({ wasm: other }), qkvError('wasm', 'ABI number', '99'));
  // (module (import "env" "f" (func)))
  const needy = Uint8Array.of(...none, 1, 4, 1, 96, 0, 0, 2, 9, 1, 3, 101, 110, 118, 1, 102, 0, 0);
  await assert.rejects(init({ wasm: needy }), qkvError('wasm', 'cannot be started'));
});

test('where SIMD is missing it says which programs have it', async () => {
  const { validate } = WebAssembly;
  WebAssembly.validate = () => false;
  try {
    await assert.rejects(init(), qkvError('wasm', 'WebAssembly SIMD', 'Safari 16.4'));
    await assert.rejects(init({ variant: 'simd' }), qkvError('wasm', 'WebAssembly SIMD'));
  } finally {
    WebAssembly.validate = validate;
  }
});

test('relaxed SIMD is taken where the program has it, and agrees with the other build', () => {
  const script = `
    const { init, loadModel } = await import('qkv');
    const rows = [];
    for (const variant of ['auto', 'simd']) {
      const engine = await init({ variant });
      const model = await loadModel(${JSON.stringify(TINY_FOLDER)}, { engine });
      const run = await model.forward({ ids: [1, 2, 3, 4, 5, 6, 7] });
      rows.push({ variant: engine.info.variant, data: (await run.hidden(2)).data });
    }
    const [relaxed, simd] = rows;
    const most = relaxed.data.reduce((top, value, i) => Math.max(top, Math.abs(value - simd.data[i])), 0);
    console.log(relaxed.variant, simd.variant, most < 1e-5);`;
  const asks = Number(process.versions.node.split('.')[0]) < 21; // from Node 21 on it is there, and the flag may not be
  const flags = [...(asks ? ['--experimental-wasm-relaxed-simd'] : []), '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, flags, {
    encoding: 'utf8',
    timeout: 300_000,
    cwd: inTree('.'),
  });
  assert.deepEqual([stdout, stderr], ['relaxed simd true\n', '']);
});
