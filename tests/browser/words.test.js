/** English and Chinese, both complete; light and dark; from the phone to the desk. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { en } from '../../web/page/words/en.js';
import { browserLanguage } from '../../web/page/words/translate.js';
import { zhHans } from '../../web/page/words/zh-Hans.js';
import { drawnText } from './local_model.js';
import { goToHash, startBrowser, statusOf, tooWide } from './visit.js';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** @param {string} sentence */
const placeholders = (sentence) => [...sentence.matchAll(/\{\w+\}/g)].map(String).sort();

test('both dictionaries have the same keys and placeholders, and no empty sentence', () => {
  assert.deepEqual(Object.keys(zhHans).sort(), Object.keys(en).sort());
  for (const key of /** @type {(keyof typeof en)[]} */ (Object.keys(en))) {
    assert.deepEqual(placeholders(zhHans[key]), placeholders(en[key]), key);
    assert.ok(en[key].trim() && zhHans[key].trim(), key);
  }
});

test('the language is the first of the browser that the page speaks, else English', () => {
  assert.equal(browserLanguage(['zh-CN', 'en']), 'zh');
  assert.equal(browserLanguage(['de-DE', 'zh-TW', 'en']), 'zh');
  assert.equal(browserLanguage(['de', 'en-GB', 'zh']), 'en');
  assert.equal(browserLanguage(['fr']), 'en');
  assert.equal(browserLanguage([]), 'en');
});

test('a Chinese browser sees a page that is Chinese everywhere', async () => {
  const { page, troubles } = await browser.visit({ locale: 'zh-CN' });
  await page.getByRole('textbox', { name: '句子' }).waitFor();
  assert.equal(await page.getByRole('gridcell', { name: '第 4 层，第 7 头', exact: true }).count(), 1);
  assert.match((await statusOf(page)) ?? '', /^it → animal 0\.\d{4}$/);
  for (const view of [zhHans.view_lines, zhHans.view_text, zhHans.view_matrix]) {
    await page.getByRole('button', { name: view, exact: true }).click();
    const all = await page.evaluate(() => {
      const named = [...document.querySelectorAll('[aria-label], [title], [placeholder]')];
      const names = named.flatMap((e) => ['aria-label', 'title', 'placeholder'].map((name) => e.getAttribute(name)));
      return `${document.body.textContent} ${names.join(' ')}`;
    });
    for (const sentence of Object.values(en)) {
      const start = sentence.split('{')[0].trim();
      const known = Object.values(zhHans).some((other) => other.includes(start));
      if (start.length > 4 && !known) assert.ok(!all.includes(start), start);
    }
  }
  assert.deepEqual(troubles, []);
});

test('the language switch takes the whole page along and is remembered in the address', async () => {
  const { page } = await browser.visit();
  await page.getByRole('button', { name: /^中文/ }).click();
  await page.getByRole('textbox', { name: '句子' }).waitFor();
  await page.waitForURL(/lang=zh/);
  await page.getByRole('button', { name: /^English/ }).click();
  await page.getByRole('textbox', { name: 'Sentence' }).waitFor();
});

test("the theme is the system's until it is chosen", async () => {
  const { page } = await browser.visit({ colorScheme: 'dark' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), 'rgb(20, 22, 26)');
  await page.getByRole('button', { name: 'Light theme' }).click();
  assert.equal(await ground(), 'rgb(251, 250, 247)');
  await page.waitForURL(/theme=light/);
});

test('nothing scrolls sideways while the width changes, before a picture is drawn anew', async () => {
  const neverDrawnAgain = () => {
    window.ResizeObserver = class {
      observe() {}
      unobserve() {}
      disconnect() {}
    };
  };
  const { page } = await browser.visit({ prepare: (page) => page.addInitScript(neverDrawnAgain) });
  for (const view of ['matrix', 'lines', 'text']) {
    await page.setViewportSize({ width: 1440, height: 844 });
    await page.goto(`${page.url().split('#')[0]}#view=${view}`);
    await page.locator(`qkv-${view}`).waitFor();
    await page.setViewportSize({ width: 320, height: 844 });
    assert.ok((await tooWide(page)) <= 0, `${view}: ${await tooWide(page)} pixels too wide`);
  }
});

test('nothing scrolls sideways from 320 to 1440 pixels, in any view and language', async () => {
  const { page } = await browser.visit();
  for (const lang of ['en', 'zh']) {
    for (const view of ['matrix', 'lines', 'text']) {
      await goToHash(page, `#lang=${lang}&view=${view}&text=Antidisestablishmentarianism+${'w'.repeat(80)}+it`);
      await page.locator(`qkv-${view}`).waitFor();
      await drawnText(page, `Antidisestablishmentarianism ${'w'.repeat(80)} it`);
      for (const width of [320, 390, 560, 820, 1024, 1240, 1440]) {
        await page.setViewportSize({ width, height: 844 });
        const over = await tooWide(page);
        assert.ok(over <= 0, `${lang} ${view} ${width}: ${over} pixels too wide`);
      }
    }
  }
});

test('on a phone every control is large enough for a finger, and a tap chooses', async () => {
  const { page } = await browser.visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const small = await page.evaluate(() => {
    const controls = [...document.querySelectorAll('button, select, summary, textarea')];
    return controls
      .map((control) => ({
        name: control.getAttribute('aria-label') ?? control.textContent?.trim(),
        box: control.getBoundingClientRect(),
      }))
      .filter(({ box }) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
      .map(({ name, box }) => `${name} ${box.width}x${box.height}`);
  });
  assert.deepEqual(small, []);
  await page.getByRole('gridcell', { name: 'Layer 0, head 2', exact: true }).tap();
  await page.getByRole('heading', { name: 'Layer 0, head 2' }).waitFor();
  await page.getByLabel('From (query)').selectOption('2');
  await page.getByLabel('To (key)').selectOption('1');
  await page.waitForFunction(() => document.querySelector('[role=status]')?.textContent?.startsWith('animal → the '));
});
