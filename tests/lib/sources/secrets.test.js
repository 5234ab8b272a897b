/** No message, and nothing an error carries, quotes the parts of an address that may hold a secret. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { loadWasm } from '../../../web/lib/engine/loader.js';
import { shownAddress } from '../../../web/lib/sources/address.js';
import { portableSource } from '../../../web/lib/sources/portable.js';
import { openSource } from '../../../web/lib/sources/source.js';

/** @typedef {import('../../../web/lib/checks/errors.js').QkvError} QkvError */
/** @typedef {import('../../../web/lib/sources/source.js').Source} Source */

const SECRET = 'hf_s3cret';
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '', 'http://x');
  const status = Number(pathname.split('/')[1]);
  if (pathname.startsWith('/html')) return response.setHeader('content-type', 'text/html').end('<p>');
  if (pathname.startsWith('/cut')) {
    response.writeHead(200, { 'content-length': 1000 });
    return response.write('x', () => response.destroy());
  }
  if (pathname.startsWith('/silent')) return undefined;
  if (pathname.startsWith('/loop')) return response.writeHead(302, { location: request.url }).end();
  return response.writeHead(status || 200).end('no file');
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

/** @param {() => unknown} action */
async function assertSilent(action) {
  const error = await (async () => action())().then(
    () => assert.fail('no error'),
    (/** @type {QkvError} */ reason) => reason,
  );
  assert.equal(error.name, 'QkvError', String(error));
  const told = [error.message, error.what, JSON.stringify(error.toJSON()), inspect(error, { depth: 9 })].join('\n');
  assert.ok(!told.includes(SECRET), told);
  return error;
}

for (const kind of ['404', '401', '403', '500', '204', 'html', 'cut', 'silent', 'loop']) {
  for (const [part, query] of [
    ['query', `?token=${SECRET}`],
    ['fragment', `#${SECRET}`],
  ]) {
    test(`the ${part} of a URL stands in no error about an answer like ${kind}`, async () => {
      const open = (/** @type {string} */ path) => openSource(`${base}/${kind}/${path}${query}`, { timeout: 100 });
      const whole = await assertSilent(async () => (await open('m')).bytes('config.json'));
      assert.match(whole.message, /config\.json/);
      await assertSilent(async () => (await open('m.gguf')).bytes('m.gguf'));
      await assertSilent(() => loadWasm({ wasm: `${base}/${kind}/x.wasm${query}`, timeout: 100 }));
    });
  }
}

for (const address of [
  `http://user:${SECRET}@127.0.0.1:9/m`,
  `http://${SECRET}@127.0.0.1:9/m`,
  `http://127.0.0.1:9/m?${SECRET}`,
  `https://127.0.0.1:9/m.safetensors?key=${SECRET}`,
  `http://a b/?token=${SECRET}`,
  `http://user:${SECRET}@[x/`,
  `file:///%E0%A4%A?${SECRET}`,
  `data:text/plain,${SECRET}`,
  `blob:http://127.0.0.1:9/${SECRET}`,
]) {
  test(`nothing is quoted of ${address.replace(SECRET, '…')} but what names the place`, async () => {
    await assertSilent(async () => (await openSource(address)).bytes('config.json'));
    // What a data: URL holds is the file, of which a message quotes the beginning.
    if (!address.startsWith('data:')) await assertSilent(() => loadWasm({ wasm: address }));
  });
}

test('a URL object with a scheme that is not read says the scheme only', async () => {
  await assertSilent(() => portableSource(new URL(`ftp://user:${SECRET}@host/?${SECRET}`)));
});

test('what names the place of a file is the address without its secrets', async () => {
  const source = await openSource(`${base}/m?token=${SECRET}`);
  assert.equal(source.where('config.json'), `${base}/m/config.json`);
  assert.equal(shownAddress('https://a:b@host:1/x/y.gguf?q#h'), 'https://host:1/x/y.gguf');
  assert.equal(shownAddress(new URL('file:///x/y?q')), 'file:///x/y');
});
