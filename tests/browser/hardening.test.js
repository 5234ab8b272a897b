/** Strict policy, no foreign host, small download, assistive technology, and a page that survives what goes wrong. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { accessibilityFaults } from './accessibility.js';
import { PAGE_FOLDER, runOf, startBrowser, statusOf } from './visit.js';

const LARGEST_DOWNLOAD = 300 * 1024;

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

test('a first visit fetches at most 300 KB of gzip without the model, and nothing it has no use for', async () => {
  const { page, requests, url } = await browser.visit();
  const folder = new URL('.', url).href;
  const paths = requests
    .filter((request) => request.startsWith(folder))
    .map((request) => new URL(request).pathname.slice(new URL(folder).pathname.length) || 'index.html')
    .filter((path) => !path.startsWith('models/'));
  await page.close();
  const sizeOf = (/** @type {string} */ path) => gzipSync(readFileSync(join(PAGE_FOLDER, path)), { level: 9 }).length;
  const sum = [...new Set(paths)].reduce((total, path) => total + sizeOf(path), 0);
  const modules = paths.filter((path) => path.endsWith('.wasm'));
  assert.equal(modules.length, 1, 'one of the four modules');
  assert.ok(
    paths.some((path) => path.includes('worker-')),
    'the worker',
  );
  assert.ok(!paths.some((path) => path.includes('in_thread-')), 'what loads without a worker stays where it is');
  assert.ok(sum <= LARGEST_DOWNLOAD, `${sum} bytes: ${paths}`);
});

test('the policy is strict, and nothing on the page runs into it or leaves the host', async () => {
  const { page, troubles, requests, origin } = await browser.visit();
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content');
  for (const part of [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "require-trusted-types-for 'script'",
  ]) {
    assert.ok(policy?.includes(part), part);
  }
  assert.doesNotMatch(policy ?? '', /unsafe-inline|'unsafe-eval'|\*(?!\.hf\.co)/);
  for (const view of ['Lines', 'Text', 'Matrix']) await page.getByRole('button', { name: view, exact: true }).click();
  await page.getByText('All 32 numbers').click();
  await page.getByText('The weights as a table').click();
  await page.getByRole('button', { name: /^中文/ }).click();
  assert.deepEqual(troubles, []);
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(origin) && !url.startsWith('blob:')),
    [],
  );
});

/** @type {[string, string, (route: import('playwright-core').Route) => Promise<void>, RegExp][]} */
const FAILURES = [
  [
    'an HTML page where config.json should be',
    '**/config.json',
    (route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<!doctype html><title>hi</title>' }),
    /^A web page came where config\.json should be\.$/,
  ],
  [
    'a 404 for the weights',
    '**/model.safetensors',
    (route) => route.fulfill({ status: 404, body: 'no' }),
    /^model\.safetensors is missing/,
  ],
  [
    'an HTML page where the weights should be',
    '**/model.safetensors',
    (route) => route.fulfill({ status: 200, contentType: 'text/html', body: `<!doctype html>${' '.repeat(4000)}` }),
    /^A web page came where model\.safetensors should be\.$/,
  ],
  [
    'a server that hangs up',
    '**/tokenizer.json',
    (route) => route.abort('connectionreset'),
    /^tokenizer\.json could not be fetched/,
  ],
];

for (const [what, files, answer, said] of FAILURES) {
  test(`${what}: one clear sentence, and trying again works`, async () => {
    const { page } = await browser.visit({ ready: false, prepare: (page) => page.route(files, answer) });
    const alert = page.getByRole('alert');
    await alert.waitFor();
    const sentence = (await alert.textContent()) ?? '';
    assert.match(sentence, said);
    assert.ok(sentence.length < 400, sentence);
    await page.getByRole('textbox', { name: 'Sentence' }).fill('still alive');
    await page.unroute(files);
    await page.getByRole('button', { name: 'Try again' }).click();
    await runOf(page, 'alive');
    assert.equal(await page.getByRole('alert').count(), 0);
  });
}

test('weights that end too early: one clear sentence, page alive', async () => {
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/model.safetensors', async (route) => {
      const whole = readFileSync(join(PAGE_FOLDER, 'models/minilm/model.safetensors'));
      await route.fulfill({ status: 200, contentType: 'application/octet-stream', body: whole.subarray(0, 2_000_000) });
    });
  const { page } = await browser.visit({ ready: false, prepare });
  await page.getByRole('alert').waitFor();
  assert.match((await page.getByRole('alert').textContent()) ?? '', /^model\.safetensors is cut short/);
  await page.unroute('**/model.safetensors');
  await page.getByRole('button', { name: 'Try again' }).click();
  await runOf(page);
});

test('loading shows bytes, can be cancelled and taken up again', async () => {
  /** @type {() => void} */
  let go = () => {};
  const held = new Promise((resolve) => {
    go = () => resolve(null);
  });
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/model.safetensors', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
  const { page, troubles } = await browser.visit({ ready: false, prepare });
  const bar = page.getByRole('progressbar');
  await bar.waitFor();
  assert.deepEqual(await bar.evaluate((e) => [e.hasAttribute('value'), e.hasAttribute('aria-valuenow')]), [
    false,
    false,
  ]);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Loading was cancelled').waitFor();
  go();
  await page.getByRole('button', { name: 'Try again' }).click();
  await runOf(page);
  assert.equal(await page.getByRole('progressbar').count(), 0);
  assert.deepEqual(troubles, []);
});

test('a model folder from the disk is loaded without any request', async () => {
  const { page, requests } = await browser.visit();
  const before = requests.length;
  await page.getByRole('button', { name: /MiniLM/ }).click();
  await page.locator('#model-dialog input[type=file]').first().setInputFiles(join(PAGE_FOLDER, 'models/minilm'));
  await page.getByRole('button', { name: 'Load', exact: true }).click();
  await page.getByRole('button', { name: /^minilm/ }).waitFor();
  await runOf(page);
  assert.match((await statusOf(page)) ?? '', /^it → animal/);
  const asked = requests.slice(before).filter((url) => url.includes('/models/'));
  assert.deepEqual(asked, []);
});

test('a folder without tokenizer.json is refused, and the model in use stays with its numbers', async () => {
  const { page, troubles } = await browser.visit();
  const before = await statusOf(page);
  const folder = join(mkdtempSync(join(tmpdir(), 'qkv-')), 'other');
  try {
    cpSync(join(PAGE_FOLDER, 'models/minilm'), folder, { recursive: true, dereference: true });
    rmSync(join(folder, 'tokenizer.json'));
    await page.getByRole('button', { name: /MiniLM/ }).click();
    await page.locator('#model-dialog input[type=file]').first().setInputFiles(folder);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match((await alert.textContent()) ?? '', /no tokenizer\.json.*add the one/);
    assert.doesNotMatch((await page.locator('.load').textContent()) ?? '', /\{ids\}/);
    await page.getByText('The model you had stays in use.').waitFor();
    assert.equal(await page.getByRole('button', { name: /^all-MiniLM/ }).count(), 1);
    assert.equal(await statusOf(page), before);
    await page.locator('.load').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('textbox', { name: 'Sentence' }).fill('still alive');
    await runOf(page, 'alive');
    assert.deepEqual(troubles, []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a failure is told in the language of the page; the words of the library are a detail', async () => {
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/model.safetensors', (route) => route.fulfill({ status: 503, body: 'no' }));
  const { page } = await browser.visit({ ready: false, locale: 'zh-CN', prepare });
  const alert = page.getByRole('alert');
  await alert.waitFor();
  assert.equal(await alert.textContent(), '服务器没有送来 model.safetensors，而是回答 503。');
  const detail = page.locator('.load [lang=en]');
  assert.equal(await detail.isVisible(), false);
  await page.getByText('详情').click();
  assert.match((await detail.textContent()) ?? '', /model\.safetensors.*503/);
  await page.getByRole('button', { name: /^English/ }).click();
  assert.equal(await alert.textContent(), 'The server answered 503 instead of sending model.safetensors.');
});

test('until the first picture there is a sign of what is to come', async () => {
  /** @type {(value: null) => void} */
  let go = () => {};
  const held = new Promise((resolve) => {
    go = resolve;
  });
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/model.safetensors', async (route) => {
      await held;
      await route.continue();
    });
  const { page } = await browser.visit({ ready: false, prepare });
  await page.locator('.waiting').waitFor();
  go(null);
  await runOf(page);
  assert.equal(await page.locator('.waiting').count(), 0);
});

test('assistive technology finds no serious fault, in both themes and all views', async () => {
  for (const hash of ['#view=matrix&theme=light', '#view=lines&theme=dark&lang=zh', '#view=text&theme=light']) {
    const { page } = await browser.visit({ hash });
    await page
      .getByRole('group')
      .locator('summary')
      .first()
      .click()
      .catch(() => {});
    const faults = await accessibilityFaults(page);
    assert.deepEqual(faults, [], hash);
    await page.context().close();
  }
});
