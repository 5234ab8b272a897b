/** Files in folders of the folder, as sentence-transformers has them: by path, from every kind of source. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openSource } from '../../../web/lib/sources/source.js';
import { expectError } from '../expect_error.js';
import { directoryHandle } from './directory_handle.js';
import { isThere } from './is_there.js';

/** @typedef {import('../../../web/lib/sources/source.js').SourceInput} SourceInput */

const CONFIG = '{"a": 1}';
const server = createServer((request, response) => {
  const isThere = request.url === '/model/1_Pooling/config.json';
  response.writeHead(isThere ? 200 : 404).end(isThere ? 'pooling' : 'no');
});
let origin = '';
let path = '';

before(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  origin = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  path = await mkdtemp(join(tmpdir(), 'qkv-deep-'));
  await mkdir(join(path, '1_Pooling'));
  await writeFile(join(path, '1_Pooling', 'config.json'), 'pooling');
  await writeFile(join(path, 'config.json'), CONFIG);
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(path, { recursive: true });
});

/** A file as a folder that was chosen gives it. @param {string} text @param {string} path */
function chosen(text, path) {
  const file = new File([text], path.split('/').at(-1) ?? '');
  Object.defineProperty(file, 'webkitRelativePath', { value: path });
  return file;
}

test('files of folders in the folder are read by their path, and by nothing that leads elsewhere', async () => {
  const files = { 'config.json': CONFIG, '1_Pooling/config.json': 'pooling' };
  const bytes = Object.entries(files).map(([name, text]) => [name, new TextEncoder().encode(text)]);
  /** @type {SourceInput[]} */
  const places = [
    path,
    `${origin}/model`,
    Object.entries(files).map(([name, text]) => chosen(text, `minilm/${name}`)),
    Object.fromEntries(bytes),
    directoryHandle(files),
  ];
  for (const place of places) {
    const source = await openSource(place);
    assert.equal(new TextDecoder().decode(await source.bytes('1_Pooling/config.json')), 'pooling');
    assert.deepEqual(
      [await isThere(source, '1_Pooling/config.json'), await isThere(source, '2_Dense/config.json')],
      [true, false],
    );
    assert.ok(!source.names || !(await source.names()).includes('1_Pooling/config.json'), source.name);
    for (const wrong of [
      '../config.json',
      '1_Pooling/../config.json',
      '/config.json',
      '1_Pooling//config.json',
      'a/./b',
    ]) {
      await expectError(() => isThere(source, wrong), 'source', /The name of a file/);
      await expectError(() => source.bytes(wrong), 'source', /The name of a file/);
    }
  }
});

test('of a chosen folder the files at its top are the model', async () => {
  const [deep, top] = [chosen('pooling', 'minilm/1_Pooling/config.json'), chosen(CONFIG, 'minilm/config.json')];
  const source = await openSource([deep, top, chosen('other', 'elsewhere/1_Pooling/deep/config.json')]);
  assert.equal(source.name, 'minilm');
  assert.equal(new TextDecoder().decode(await source.bytes('config.json')), CONFIG);
  assert.equal(await isThere(source, '1_Pooling/deep/config.json'), false);
  const two = [chosen('1', 'a/config.json'), chosen('2', 'b/config.json')];
  await expectError(() => openSource(two), 'source', /config\.json twice.*one model only/);
  await expectError(async () => (await openSource([])).bytes('config.json'), 'missing', /no files/);
});
