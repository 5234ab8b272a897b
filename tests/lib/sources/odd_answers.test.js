/** Connections that do not come about and answers that are not the file: one clear sentence each. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { loadWasm } from '../../../web/lib/engine/loader.js';
import { openSource } from '../../../web/lib/sources/source.js';
import { expectError } from '../expect_error.js';

/** What is sent for the first part of the path, as it goes over the wire. @type {Record<string, (string | Uint8Array)[]>} */
const ANSWERS = {
  empty: ['HTTP/1.1 204 No Content\r\n\r\n'],
  partial: ['HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 0-1/9\r\ncontent-length: 2\r\n\r\nab'],
  reset: ['HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
  unchanged: ['HTTP/1.1 304 Not Modified\r\n\r\n'],
  nowhere: ['HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n'],
  elsewhere: ['HTTP/1.1 302 Found\r\nlocation: ftp://127.0.0.1/\r\ncontent-length: 0\r\n\r\n'],
  too_short: ['HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nonly'],
  too_long: ['HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nonly and more'],
  no_gzip: ['HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nonly'],
  bad_chunk: ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
  no_http: ['SSH-2.0-OpenSSH_9.2\r\n'],
  nothing: [],
};
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (data) => {
    const kind = /^GET \/(\w+)\//.exec(String(data))?.[1] ?? 'nothing';
    for (const part of ANSWERS[kind]) socket.write(part);
    if (['too_short', 'too_long', 'no_http', 'nothing'].includes(kind)) socket.end();
  });
});
let host = '';
before(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  host = `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => server.close());

/** @param {string} address */
const bytes = async (address) => (await openSource(address)).bytes('config.json');

for (const [kind, message] of /** @type {[string, RegExp][]} */ ([
  ['empty', /answer of the server: got "204 No Content", want 200/],
  ['partial', /answer of the server: got "206 Partial Content", want 200/],
  ['reset', /answer of the server: got "205 Reset Content", want 200/],
  ['unchanged', /answer of the server: got "304 Not Modified", want 200/],
  ['nowhere', /answer of the server: got "302 Found", want 200/],
  ['elsewhere', /cannot be fetched: got ".+"/],
  ['too_short', /the connection broke: got "\d+ bytes, then: .+". Try again\./],
  ['no_gzip', /the connection broke: got "0 bytes, then: .*header.*"/],
  ['bad_chunk', /: got ".+"/],
  ['no_http', /cannot be fetched: got ".+"\. Check the address and the connection\./],
  ['nothing', /cannot be fetched: got ".+"\. Check the address and the connection\./],
])) {
  test(`an answer like ${kind} is named with the file`, async () => {
    const { message: said } = await expectError(() => bytes(`http://${host}/${kind}`), 'network', message);
    assert.match(said, /^http:\/\/127\.0\.0\.1:\d+\/\w+\/config\.json/);
    const wasm = `http://${host}/${kind}/x.wasm`;
    await expectError(() => loadWasm({ wasm }), 'network', /x\.wasm/);
  });
}

test('more bytes than Content-Length says are not part of the file', async () => {
  assert.equal(new TextDecoder().decode(await bytes(`http://${host}/too_long`)), 'only');
});

for (const [what, address] of /** @type {[string, () => string][]} */ ([
  ['a host that nobody knows', () => 'http://no-such-host.invalid/m'],
  ['a port where nobody listens', () => 'http://127.0.0.1:9/m'],
  ['a server that speaks no TLS', () => `https://${host}/empty`],
])) {
  test(`${what} is a sentence with the address, the reason and what to do`, async () => {
    const message = /^https?:\/\/[\w.:-]+\/\w+\/config\.json cannot be fetched: got ".+"\. Check the address/;
    await expectError(() => bytes(address()), 'network', message);
  });
}
