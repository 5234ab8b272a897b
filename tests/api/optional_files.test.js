/** Files that a model's folder need not have: absent, in the way, or in trouble. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, afterEach, before, test } from 'node:test';
import { loadModel } from 'qkv';
import { qkvError } from './golden.js';
import { tinyFiles } from './tiny_model.js';

/** @typedef {import('node:http').RequestListener} Listener */

const files = tinyFiles();
/** What the server answers for a file, in place of 404 or of the model's own. @type {Record<string, Listener>} */
let answers = {};
/** @type {string[]} */
let asked = [];
const server = createServer((request, response) => {
  const file = new URL(request.url ?? '', 'http://x').pathname.slice(1);
  asked.push(`${request.method} ${file}`);
  const answer = answers[file] ?? answers['*'];
  if (answers[file] || (answer && !files[file])) return answer(request, response);
  return files[file] ? response.end(files[file]) : response.writeHead(404).end();
});
let base = '';

before(async () => {
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  base = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
afterEach(() => {
  answers = {};
  asked = [];
});
after(() => {
  server.close();
  server.closeAllConnections();
});

/** @param {number} status @returns {Listener} */
const status = (status) => (_, response) => response.writeHead(status).end('{}');
/** @type {Listener} */
const html = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
/** @type {Listener} */
const silence = () => {};
/** @type {Listener} */
const half = (_, response) => response.writeHead(200, { 'content-length': 1000 }).write('license: m');
/** @type {Listener} */
const onlyHead = (request, response) => response.writeHead(request.method === 'HEAD' ? 200 : 404).end();
/** @param {string} text @returns {Listener} */
const body = (text) => (_, response) => response.end(text);
const megabyte = 'x'.repeat(999).concat('\n').repeat(1100);

async function licence() {
  const model = await loadModel(base);
  model.dispose();
  return model.info.licence;
}

/** @type {[string, Listener, string | null][]} */
const READMES = [
  ['is in order', body('---\nlicense: mit\n---\n'), 'mit'],
  ['has its licence behind hundreds of kB of results', body(`${megabyte.slice(0, 9e5)}\nlicense: mit\n`), 'mit'],
  ['is longer than what is read of it', body(`license: mit\n${megabyte}`), 'mit'],
  ['states its licence behind what is read of it', body(`${megabyte}license: mit\n`), null],
  ['answers 503', status(503), null],
  ['answers 403', status(403), null],
  ['is there for HEAD and gone for GET', onlyHead, null],
  ['is a page', html, null],
  [
    'breaks off',
    (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('l', () => response.destroy()),
    null,
  ],
  ['is no text', (_, response) => response.end(Buffer.from([0xff, 0xfe, 0, 0x80])), null],
  [
    'claims to be gzip',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('license: mit'),
    null,
  ],
  ['never answers', silence, null],
  ['stops in the middle', half, null],
];
for (const [what, answer, expected] of READMES) {
  test(`a model loads whose README.md ${what}`, async () => {
    answers['README.md'] = answer;
    assert.equal(await licence(), expected);
  });
}

test('each optional file costs one request, a GET', async () => {
  await licence();
  assert.deepEqual(
    asked.filter((request) => !request.startsWith('GET ')),
    [],
  );
  assert.equal(new Set(asked).size, asked.length, String(asked));
});

for (const [what, answer] of /** @type {[string, Listener][]} */ ([
  ['404', status(404)],
  ['410', status(410)],
  ['a page, as servers of single-page applications do', html],
  ['200 to HEAD and 404 to GET', onlyHead],
])) {
  test(`an optional file is not there when the server answers ${what}`, async () => {
    answers['tokenizer.json'] = answer;
    const model = await loadModel(base);
    assert.equal(model.info.family, 'bert');
  });
}

for (const code of [401, 403, 429, 500, 503]) {
  test(`an optional file for which the server answers ${code} is named, not passed over`, async () => {
    answers['tokenizer.json'] = status(code);
    await assert.rejects(loadModel(base), qkvError('network', 'tokenizer.json', String(code)));
  });
}

test('a store that answers 403 for whatever is not there has no optional files', async () => {
  answers['*'] = status(403);
  const model = await loadModel(base);
  assert.equal(model.info.family, 'bert');
});
