/** The state of the page lives in its address, and an address is not trusted. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FIRST_SIGHT, linkName, MAX_LINK_TEXT, readHash, writeHash } from '../../web/page/hash.js';
import { drawnText } from './local_model.js';
import { goToHash, runOf, startBrowser, statusOf, waitForCell } from './visit.js';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

test('a state is the same after it was written and read', () => {
  const texts = ['plain', '', 'a&layer=0#?%20+ é 北京 "<b>', 'x'.repeat(MAX_LINK_TEXT)];
  for (const text of texts) {
    /** @type {import('../../web/page/hash.js').PageState} */
    const state = {
      ...{ place: 'sandbox', text, layer: 4, head: 7, row: 2, col: 5, view: 'lines', scale: 'log' },
      ...{ lang: 'zh', theme: 'dark', sandbox: 'heads*n.5*wq.r7_65_1.5' },
      ...{
        model: '小模型-7B.Q4_1.gguf',
        first: 'hidden',
        tokens: 200,
        temp: 1.25,
        topk: 0,
        topp: 0.9,
        seed: 4294967295,
      },
    };
    assert.deepEqual(readHash(writeHash(state)), state);
  }
  assert.match(
    writeHash({ ...FIRST_SIGHT, text: 'hi', lang: 'zh', theme: 'dark' }),
    /^#text=hi&layer=3&head=1&row=10&col=2&view=matrix&lang=zh&theme=dark$/,
  );
});

test('a name from the disk becomes one that an address can carry', () => {
  const names = [
    'model.gguf',
    'my model (2)/x',
    '<script>',
    '',
    '\u202e',
    'x'.repeat(500),
    '小模型',
    `x${'𠀀'.repeat(60)}`,
  ];
  for (const name of names) assert.equal(readHash(`#model=${linkName(name)}`).model, linkName(name), name);
  assert.equal(linkName('my model (2)'), 'my_model_2_');
});

test('a text that is cut keeps no half of a character', () => {
  const state = readHash(`#text=x${encodeURIComponent('👍'.repeat(MAX_LINK_TEXT / 2))}`);
  assert.equal(state.text, `x${'👍'.repeat(MAX_LINK_TEXT / 2 - 1)}`);
  assert.deepEqual(readHash(writeHash(state)), state);
});

test('what is not valid in a hash is left out, field by field', () => {
  const first = { ...FIRST_SIGHT };
  for (const hash of [
    '',
    '#',
    '#%',
    '#%E0%A4%A',
    '#__proto__=1&constructor=2',
    '#lang=xx',
    '#view=<script>',
    '#theme=javascript:',
    '#model=https://evil.example/model',
    '#model=../../etc/passwd',
    `#model=${'x'.repeat(97)}`,
    '#first=__proto__',
    ...['0', '201', '-1', '1e1', '1.5', 'NaN', '99999999999', ''].map((bad) => `#tokens=${bad}`),
    ...['2.01', '-0.1', '1e-1', '.5', '0x1', 'Infinity'].map((bad) => `#temp=${bad}`),
    ...['1001', '-1', '4.5'].map((bad) => `#topk=${bad}`),
    ...['0', '0.001', '1.01', '1,0'].map((bad) => `#topp=${bad}`),
    ...['4294967296', '-1', '1.5', '00000000001'].map((bad) => `#seed=${bad}`),
  ]) {
    assert.deepEqual(readHash(hash), first, hash);
  }
  for (const bad of ['-1', '1.5', '1e3', 'NaN', '99999', '', ' 1', '0x1'])
    assert.deepEqual(readHash(`#layer=${bad}`), first, bad);
  assert.deepEqual(readHash(`#text=${'a'.repeat(1e6)}`), first);
  assert.equal(readHash(`#text=${'a'.repeat(5000)}`).text.length, MAX_LINK_TEXT);
  assert.equal(readHash('#layer=9999').layer, 9999);
  assert.equal(Object.getPrototypeOf(readHash('#__proto__=x')), Object.prototype);
});

test('a link restores text, head, cell, view, language and theme', async () => {
  const hash = '#text=The+keys+to+the+cabinet+are+here&layer=4&head=7&row=2&col=5&view=lines&lang=zh&theme=dark';
  const { page, troubles } = await browser.visit({ hash });
  assert.equal(await page.getByRole('textbox', { name: '句子' }).inputValue(), 'The keys to the cabinet are here');
  await waitForCell(page, { layer: 4, head: 7, row: 2, col: 5 });
  assert.equal(await page.getByRole('gridcell', { selected: true }).getAttribute('aria-label'), '第 4 层，第 7 头');
  assert.equal(await page.locator('qkv-lines').count(), 1);
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  assert.equal(await page.locator('html').getAttribute('lang'), 'zh-Hans');
  assert.deepEqual(troubles, []);
});

test('hostile addresses show a picture, ask no other server and bring no error', async () => {
  const hostile = [
    `#text=${'x'.repeat(1_000_000)}`,
    '#%',
    '#text=%E0%A4%A&layer=%',
    '#layer=9999&head=9999&row=9999&col=9999',
    '#layer=-1&head=1e9&lang=xx&view=__proto__&theme=none',
    '#__proto__=1&constructor=2&text=hello',
    '#model=https://evil.example/model&model=javascript:alert(1)&text=hello',
    '#model=constructor&first=hidden&tokens=1e9&temp=-1&topk=99999&topp=2&seed=-1&row=9999&col=0',
    `#text=${encodeURIComponent('<img src=x onerror=alert(1)>')}`,
  ];
  const { page, troubles, requests, origin } = await browser.visit({ hash: hostile[0] });
  const box = page.getByRole('textbox', { name: 'Sentence' });
  for (const hash of hostile) {
    // As a link is opened, and as one is put into the address bar of the open page.
    if (hash.length < 100) {
      await goToHash(page, hash);
      await drawnText(page, await box.inputValue());
    }
    assert.match((await statusOf(page)) ?? '', / → .* \d\.\d{4}$/, hash.slice(0, 60));
    assert.equal(await page.getByRole('gridcell').count(), 72);
  }
  for (const hash of hostile.slice(1, 4)) {
    const fresh = await browser.visit({ hash });
    assert.match((await statusOf(fresh.page)) ?? '', / → .* \d\.\d{4}$/, hash);
    assert.deepEqual(fresh.troubles, [], hash);
    await fresh.page.context().close();
  }
  assert.deepEqual(troubles, []);
  assert.deepEqual(
    requests.filter((address) => !address.startsWith(origin)),
    [],
  );
});

test('the address follows, and the back button leads back', async () => {
  const { page } = await browser.visit();
  await page.getByRole('gridcell', { name: 'Layer 0, head 2', exact: true }).click();
  await page.getByRole('heading', { name: 'Layer 0, head 2' }).waitFor();
  await page.waitForURL(/layer=0&head=2&row=10&col=2&view=matrix/);
  await page.getByRole('button', { name: 'who is “he”?' }).click();
  await page.waitForFunction(() => globalThis.qkv?.run?.tokens[1].text === 'she');
  await page.goBack();
  await page.waitForFunction(() => globalThis.qkv?.run?.tokens[2].text === 'animal');
  await waitForCell(page, { layer: 0, head: 2, row: 10, col: 2 });
  await page.goBack();
  await waitForCell(page, { layer: 3, head: 1, row: 10, col: 2 });
  assert.equal(await page.getByRole('textbox', { name: 'Sentence' }).inputValue(), FIRST_SIGHT.text);
});

test('typing and moving are in the address soon after', async () => {
  const { page } = await browser.visit();
  await page.getByRole('textbox', { name: 'Sentence' }).fill('hello brave new world');
  await runOf(page, 'world');
  await page.waitForURL(/text=hello\+brave\+new\+world/);
});

test('the address names the cell that is shown, and the wanted one comes back with the text', async () => {
  const { page } = await browser.visit();
  const box = page.getByRole('textbox', { name: 'Sentence' });
  await box.fill('The animal slept well');
  await page.waitForURL(/text=The\+animal\+slept\+well&layer=3&head=1&row=5&col=2/);
  await waitForCell(page, { layer: 3, head: 1, row: 5, col: 2 });
  await page.getByRole('button', { name: 'Lines', exact: true }).click();
  await page.waitForURL(/row=5&col=2&view=lines/);
  await box.fill(FIRST_SIGHT.text);
  await page.waitForURL(/row=10&col=2&view=lines/);
  await waitForCell(page, { layer: 3, head: 1, row: 10, col: 2 });
});

test('the copied link is the whole state', async () => {
  const { page, url } = await browser.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Copied').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(link.startsWith(`${url}#text=The+animal`), link);
  assert.deepEqual(readHash(new URL(link).hash), FIRST_SIGHT);
});
