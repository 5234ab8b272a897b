/** A model from the reader's disk: what is said before it is loaded, and about files that are none. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspectModel } from '../../web/lib/index.js';
import { chooseFiles, openModel } from './local_model.js';
import { tinyFolder } from './tiny_folder.js';
import { runOf, soon, startBrowser, statusOf } from './visit.js';

/** @typedef {import('playwright-core').Page} Page */

/** The build fetches it. */
const SMOLLM2 = fileURLToPath(new URL('../../build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url));

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
/** @type {string} */
let llama;
before(async () => {
  browser = await startBrowser();
  llama = tinyFolder('llama');
});
after(async () => {
  await browser.close();
  rmSync(dirname(llama), { recursive: true });
});

/** @param {string} name  @param {string | Buffer} content */
const file = (name, content) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });

/** What the page says of files, and that it goes on with the model it had. @param {Page} page */
async function refusalOf(page) {
  const alert = page.locator('.load').getByRole('alert');
  await alert.waitFor();
  const said = (await alert.textContent()) ?? '';
  assert.equal(await page.locator('#open-dialog[open]').count(), 0);
  await page.getByText('The model you had stays in use.').waitFor();
  await page.locator('.load').getByRole('button', { name: 'Close' }).click();
  return said;
}

test('before loading, the page says what a model is and what each precision would take', async () => {
  const { page, requests, troubles } = await browser.visit();
  const asked = requests.length;
  await chooseFiles(page, llama);
  const dialog = page.getByRole('dialog', { name: 'Open tiny llama' });
  await dialog.waitFor();
  const { bytes, layers, heads, kvHeads } = await inspectModel(llama);
  const text = (await dialog.textContent()) ?? '';
  assert.ok(text.includes(`${layers} layers × ${heads} heads`) && text.includes(`${kvHeads} key/value heads`), text);
  const sizes = await dialog.locator('.precision .size').allTextContents();
  const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
  const wanted = [bytes.f32, bytes.f32, bytes.q10, bytes.q8].map((count) => `${number.format((count ?? 0) / 1e6)} MB`);
  assert.deepEqual(sizes, wanted);
  assert.equal(await page.getByRole('button', { name: /^all-MiniLM/ }).count(), 1);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  assert.match((await statusOf(page)) ?? '', /^it → animal/);
  // Its files go nowhere; what reads them is a chunk of the page.
  const fetched = requests.slice(asked);
  assert.ok(fetched.length === 1 && fetched[0].includes('/in_thread-'), `${fetched}`);
  assert.deepEqual(troubles, []);
});

test('the precision that was chosen is the one that is loaded, and the address names the model', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, llama, 'q8');
  assert.equal(await page.evaluate(() => globalThis.qkv?.model.info.precision), 'q8');
  assert.match((await page.locator('.model').textContent()) ?? '', /tiny llama\s+2 layers × 3 heads · dk 8 · 8-bit/);
  await page.waitForURL(/model=tiny_llama/);
  await page.locator('.model').click();
  const facts = await page.locator('#model-dialog .facts').textContent();
  assert.match(facts ?? '', /decoder[\s\S]*Key\/value heads\s*1[\s\S]*Weights in memory/);
  await page.getByRole('button', { name: 'Back to all-MiniLM-L6-v2' }).click();
  await page.waitForFunction(() => globalThis.qkv?.model.info.family === 'bert' && globalThis.qkv.run);
  await page.waitForFunction(() => !location.hash.includes('model='));
  assert.deepEqual(troubles, []);
});

/** What the script of a worker begins with where files are to be read in part only: the rest of them never comes. */
const STALLING = `{
  const { stream } = Blob.prototype;
  Blob.prototype.stream = function () {
    let left = 64;
    const some = new TransformStream({
      transform: (chunk, controller) => (left-- > 0 ? controller.enqueue(chunk) : new Promise(() => {})),
    });
    return stream.call(this).pipeThrough(some);
  };
}
`;

/** From now on, models that are loaded from the disk come to a standstill. @param {Page} page */
const stallLoading = (page) =>
  page.route('**/worker-*.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: STALLING + (await response.text()) });
  });

test('a single .gguf file is a model; loading it can be cancelled, and the model in use stays', async () => {
  const { page, troubles } = await browser.visit();
  await stallLoading(page);
  await chooseFiles(page, SMOLLM2);
  const dialog = page.getByRole('dialog', { name: `Open ${basename(SMOLLM2)}` });
  await dialog.waitFor();
  assert.match(
    (await dialog.textContent()) ?? '',
    /llama · decoder: .* 30 layers × 9 heads · dk 64 · .*3 key\/value heads/s,
  );
  await dialog.getByRole('button', { name: 'Load', exact: true }).click();
  await page.locator('[role=progressbar][aria-valuenow]').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Loading was cancelled').waitFor();
  await page.locator('.load').getByRole('button', { name: 'Close' }).click();
  assert.equal(await page.getByRole('button', { name: /^all-MiniLM/ }).count(), 1);
  await page.getByRole('textbox', { name: 'Sentence' }).fill('still alive');
  await runOf(page, 'alive');
  assert.deepEqual(troubles, []);
});

/** @type {[string, ReturnType<typeof file>[], RegExp][]} */
const WRONG = [
  ['an empty file', [file('model.gguf', '')], /model\.gguf is empty: it has 0 bytes/],
  ['another kind of file', [file('photo.jpg', 'x')], /There is no model in photo\.jpg.*config\.json.*\.gguf/],
  [
    'a pickle',
    [file('config.json', '{}'), file('tokenizer.json', '{}'), file('pytorch_model.bin', 'x')],
    /pytorch_model\.bin is not opened.*\.safetensors/,
  ],
  ['an archive', [file('model.zip', 'PK\u0003\u0004')], /model\.zip is an archive: unpack it/],
  ['two models', [file('a.gguf', 'GGUF'), file('b.gguf', 'GGUF')], /several models: a\.gguf, b\.gguf/],
  [
    'a GGUF file beside safetensors',
    [file('a.gguf', 'GGUF'), file('model.safetensors', 'x'), file('config.json', '{}')],
    /several models/,
  ],
  ['weights alone', [file('model.safetensors', 'x')], /config\.json is missing beside model\.safetensors/],
  ['no tokenizer', [file('config.json', '{}'), file('model.safetensors', 'x')], /no tokenizer\.json/],
  [
    'weights of 0 bytes',
    [file('config.json', '{}'), file('tokenizer.json', '{}'), file('model.safetensors', '')],
    /model\.safetensors is empty/,
  ],
  [
    'a pickle under the name of another',
    [file('model.gguf', Buffer.from('\x80\x02}q\x00', 'latin1'))],
    /model\.gguf is damaged, or not what its name says/,
  ],
  [
    'a model of another kind',
    [file('config.json', '{"model_type":"resnet"}'), file('tokenizer.json', '{}'), file('model.safetensors', 'x')],
    /of a kind that cannot be run here/,
  ],
];

test('wrong files: one sentence each, and the model in use stays', async () => {
  const { page, troubles } = await browser.visit();
  const before = await statusOf(page);
  for (const [what, files, said] of WRONG) {
    await chooseFiles(page, files);
    assert.match(await refusalOf(page), said, what);
  }
  assert.equal(await statusOf(page), before);
  await page.getByRole('textbox', { name: 'Sentence' }).fill('still alive');
  await runOf(page, 'alive');
  assert.deepEqual(troubles, []);
});

test('weights that turn out wrong while loading leave the model in use', async () => {
  const { page } = await browser.visit();
  const whole = readdirSync(llama).map((name) => file(name, readFileSync(join(llama, name))));
  const cut = whole.map((one) =>
    one.name.endsWith('.safetensors') ? file(one.name, one.buffer.subarray(0, 30_000)) : one,
  );
  await chooseFiles(page, cut);
  await page.locator('#open-dialog').getByRole('button', { name: 'Load', exact: true }).click();
  assert.match(await refusalOf(page), /model\.safetensors is cut short/);
  assert.equal(await page.getByRole('button', { name: /^all-MiniLM/ }).count(), 1);
});

/**
 * Drops files or folders of the disk as a reader does.
 * @param {Page} page
 * @param {string[]} files
 */
async function drop(page, files) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of /** @type {const} */ (['dragEnter', 'dragOver', 'drop'])) {
    await session.send('Input.dispatchDragEvent', { type, x: 400, y: 300, data });
  }
}

test('a folder or a file can be dropped on the page; two folders are two models', async () => {
  const { page, troubles } = await browser.visit();
  await drop(page, [llama]);
  await page.getByRole('dialog', { name: 'Open tiny llama' }).waitFor();
  await page.keyboard.press('Escape');
  const other = tinyFolder('gpt2');
  try {
    await drop(page, [llama, other]);
    assert.match(await refusalOf(page), /is there twice: these are the files of two models/);
    await drop(
      page,
      readdirSync(other).map((name) => join(other, name)),
    );
    await page.locator('#open-dialog[open]').waitFor();
    await page.getByRole('button', { name: 'Load', exact: true }).click();
    await page.waitForFunction(() => globalThis.qkv?.model.info.family === 'gpt2' && globalThis.qkv.run);
  } finally {
    rmSync(dirname(other), { recursive: true });
  }
  assert.deepEqual(troubles, []);
});

test('a link names a model of the disk and loads nothing; opening the file again brings the picture back', async () => {
  const { page, troubles, requests, origin } = await browser.visit({
    hash: '#text=the+cat+sat&model=tiny_llama&layer=1&head=2&row=1&col=0',
  });
  const note = page.locator('.missing-model');
  assert.match(
    (await note.textContent()) ?? '',
    /made with tiny_llama, a model on somebody’s disk. Open that file again/,
  );
  await page.waitForURL(/model=tiny_llama/);
  await note.locator('input[type=file]').first().setInputFiles(llama);
  await page.locator('#open-dialog').getByRole('button', { name: 'Load', exact: true }).click();
  await page.waitForFunction(() => globalThis.qkv?.model.info.family === 'llama' && globalThis.qkv.run);
  assert.equal(await note.count(), 0);
  await page.getByRole('heading', { name: 'Layer 1, head 2' }).waitFor();
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(origin)),
    [],
  );
  const models = requests.flatMap((url) => /\/models\/([^/]+)\//.exec(url)?.[1] ?? []);
  assert.deepEqual([...new Set(models)], ['minilm']);
  assert.deepEqual(troubles, []);
});

test('who stays with the model of the page is not told again', async () => {
  const { page } = await browser.visit({ hash: '#model=somewhere.gguf' });
  await page.getByRole('button', { name: 'Stay with all-MiniLM-L6-v2' }).click();
  assert.equal(await page.locator('.missing-model').count(), 0);
  await soon(async () => assert.doesNotMatch(page.url(), /model=/));
});
