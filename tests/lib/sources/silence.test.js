/** Each way of falling silent, without a model around it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { loadWasm } from '../../../web/lib/engine/loader.js';
import { openSource } from '../../../web/lib/sources/source.js';
import { expectError } from '../expect_error.js';
import { LIMIT, LONG, serveSilently, WAYS } from './silent_server.js';

const BYTES = new Uint8Array(100_000).map((_, i) => i % 251);
const MISSING = 'missing.json';
/** @type {Awaited<ReturnType<typeof serveSilently>>} */
let server;
before(async () => {
  server = await serveSilently((file) => (file === MISSING ? undefined : BYTES));
});
after(() => server.close());

/** @param {string} way @param {number} [timeout] @param {string} [name] */
const open = (way, timeout = LIMIT, name = '') => openSource(`${server.base}/${way}/x/${name}`, { timeout });

// Side by side, since all they do is wait.
describe('a silent server', { concurrency: true }, () => {
  for (const way of Object.keys(WAYS)) {
    test(`that sends ${way} is given up`, async () => {
      const message = /x\.bin: (no answer|silent after \d+ bytes): got "nothing for 0\.4 s"\. .*option timeout/;
      await expectError(async () => (await open(way)).bytes('x.bin'), 'timeout', message);
      await expectError(async () => (await open(way)).bytes('x.bin', { max: 200_000 }), 'timeout');
      await expectError(
        () => loadWasm({ wasm: `${server.base}/${way}/x/x.wasm`, timeout: LIMIT }),
        'timeout',
        /x\.wasm/,
      );
    });
    test(`that sends ${way} hears of an abort`, async () => {
      const source = await open(way, Infinity);
      await expectError(() => source.bytes('x.bin', { signal: AbortSignal.timeout(LIMIT) }), 'aborted');
      const signal = AbortSignal.timeout(LIMIT);
      await expectError(() => loadWasm({ wasm: `${server.base}/${way}/x/x_of_its_own.wasm`, signal }), 'aborted');
    });
    test(`that sends ${way} is given up by whoever looks for a file that need not be there`, async () => {
      const source = await open(way);
      const look = async () => {
        const stream = await source.find('x.bin');
        for await (const _ of stream?.chunks ?? []);
      };
      await expectError(look, 'timeout');
    });
  }

  test('says no answer before the headers, and how much came after them', async () => {
    const bytes = async (/** @type {string} */ way) => (await open(way)).bytes('x.bin');
    await expectError(() => bytes('nothing'), 'timeout', /x\.bin: no answer:/);
    await expectError(() => bytes('headers_only'), 'timeout', /silent after 0 bytes/);
    await expectError(() => bytes('half_a_body'), 'timeout', /silent after 50000 bytes/);
  });

  test('is alive if a piece comes now and then, however long all takes', async () => {
    const bytes = await (await open('alive', LONG)).bytes('x.bin');
    assert.deepEqual(Buffer.from(bytes), Buffer.from(BYTES));
  });

  test('is not given up while what came is being used', async () => {
    const { chunks } = await (await open('alive', LONG)).stream('x.bin');
    let count = 0;
    for await (const chunk of chunks) {
      if (count === 0) await new Promise((resolve) => setTimeout(resolve, LONG * 1.5));
      count += chunk.length;
    }
    assert.equal(count, BYTES.length);
  });

  test('is let go of by whoever wants no more of it', async () => {
    const { chunks } = await (await open('half_a_body', Infinity)).stream('x.bin');
    const iterator = chunks[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    await expectError(async () => iterator.next(), 'aborted');
  });

  test('a Response that falls silent is given up, and one that was read is refused', async () => {
    const response = await fetch(`${server.base}/half_a_body/x/x.wasm`);
    await expectError(() => loadWasm({ wasm: response, timeout: LIMIT }), 'timeout', /x\.wasm: silent after/);
    const read = new Response(BYTES);
    await read.arrayBuffer();
    await expectError(() => loadWasm({ wasm: read }), 'argument', /init: wasm: got "a Response that was read already"/);
  });

  test('that sent no wasm file is asked again', async () => {
    const load = () => loadWasm({ wasm: `${server.base}/nothing/x/x.wasm`, timeout: LIMIT });
    await expectError(load, 'timeout');
    await expectError(load, 'timeout');
  });
});
