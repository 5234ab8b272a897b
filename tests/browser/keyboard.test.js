/** The page without a mouse. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { drawnText } from './local_model.js';
import { startBrowser, waitForCell } from './visit.js';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** @param {import('playwright-core').Page} page */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute('aria-label') ?? element?.textContent?.trim() ?? '';
  });

/** Tabs until the focus is on something named so. @param {import('playwright-core').Page} page  @param {RegExp} name */
async function tabTo(page, name) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    if (name.test(await focused(page))) return;
  }
  assert.fail(`Tab never reaches ${name}`);
}

test('from typing a sentence to one of its numbers by keys alone', async () => {
  const { page, troubles } = await browser.visit();
  await tabTo(page, /^Sentence$/);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('The keys to the cabinet are on the table.');
  await drawnText(page, 'The keys to the cabinet are on the table.');
  await tabTo(page, /^Layer 3, head 1$/);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await focused(page), 'Layer 3, head 1');
  await page.keyboard.press('Control+End');
  assert.equal(await focused(page), 'Layer 5, head 11');
  await page.keyboard.press('Home');
  await page.keyboard.press('PageUp');
  assert.equal(await focused(page), 'Layer 4, head 0');
  await page.getByRole('heading', { name: 'Layer 4, head 0' }).waitFor();
  await tabTo(page, /^Attention weights of layer 4, head 0/);
  await page.keyboard.press('Control+Home');
  for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowDown');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('PageUp');
  await page.keyboard.press(']');
  await waitForCell(page, { layer: 3, head: 1, row: 6, col: 2 });
  await page.keyboard.press('End');
  await waitForCell(page, { layer: 3, head: 1, row: 6, col: 11 });
  await page.keyboard.press('[');
  await page.keyboard.press('[');
  await waitForCell(page, { layer: 2, head: 11, row: 6, col: 11 });
  assert.deepEqual(troubles, []);
});

test('the focus goes along when [ ] or the back button choose another head', async () => {
  const { page } = await browser.visit();
  await page.getByRole('gridcell', { name: 'Layer 3, head 1', exact: true }).focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press(']');
  assert.equal(await focused(page), 'Layer 3, head 4');
  await page.keyboard.press('ArrowRight');
  assert.equal(await focused(page), 'Layer 3, head 5');
  await page.getByRole('heading', { name: 'Layer 3, head 5' }).waitFor();
  await page.keyboard.press('[');
  await page.goBack();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Layer 3, head 5');
});

test('the grid of heads is one tab stop, and so is the matrix', async () => {
  const { page } = await browser.visit();
  assert.equal(await page.locator('[role=gridcell][tabindex="0"]').count(), 1);
  await page.getByRole('gridcell', { name: 'Layer 3, head 1', exact: true }).focus();
  await page.keyboard.press('Tab');
  assert.doesNotMatch(await focused(page), /^Layer \d/);
});

test('the skip link leads to the heads and leaves the address alone', async () => {
  const { page, url } = await browser.visit();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'Layer 3, head 1');
  assert.equal(page.url(), url);
});

test('help opens by ?, holds the focus, closes by Escape; ? in the sentence is just a question mark', async () => {
  const { page } = await browser.visit();
  const help = page.getByRole('dialog', { name: 'Help' });
  await page.getByRole('textbox', { name: 'Sentence' }).focus();
  await page.keyboard.press('?');
  assert.equal(await help.isVisible(), false);
  await page.getByRole('gridcell', { name: 'Layer 3, head 1', exact: true }).focus();
  await page.keyboard.press('?');
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
});

test('the matrix zooms by keys and follows the chosen cell', async () => {
  const { page } = await browser.visit();
  await page.locator('.matrix-stage').focus();
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  await page.keyboard.press('Control+End');
  await waitForCell(page, { layer: 3, head: 1, row: 15, col: 15 });
  const inSight = await page.locator('qkv-matrix').evaluate((view) => {
    const g = /** @type {any} */ (view).geometry;
    return g.cell * g.n > g.size + 1 && 15 * g.cell - g.panX >= -1 && 16 * g.cell - g.panX <= g.size + 1;
  });
  assert.equal(inSight, true);
});
