/** The sandbox: what it shows is what the formulas give, however the numbers came in. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cellOf, check, near, readSheets, sandboxOf, sheetOf } from './sandbox_reading.js';
import { startBrowser, statusOf } from './visit.js';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

const PRESETS = ['lookup', 'width', 'mask', 'heads', 'cross', 'equal'];
/** @param {string} sandbox  @param {Parameters<typeof browser.visit>[0]} [options]  @param {string} [more] */
async function open(sandbox, options = {}, more = '') {
  const visit = await browser.visit({ ready: false, hash: `#place=sandbox&sandbox=${sandbox}${more}`, ...options });
  await sandboxOf(visit.page);
  return visit;
}

/** What the page says is wrong. @param {import('playwright-core').Page} page */
const complaint = async (page) => (await page.locator('#sandbox-problem').textContent())?.trim() ?? '';

/** @param {import('playwright-core').Locator} cell  @param {string} text */
async function pasteInto(cell, text) {
  await cell.focus();
  await cell.evaluate((element, block) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text', block);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

test('opens by its button; the back button and the button lead back to the model as it was left', async () => {
  const { page, troubles } = await browser.visit({ hash: '#layer=0&head=2&row=5&col=4' });
  const before = await statusOf(page);
  const button = page.getByRole('button', { name: 'Sandbox' });
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  await button.click();
  await sandboxOf(page);
  await page.waitForURL(/place=sandbox/);
  assert.equal(await page.locator('qkv-matrix').count(), 0);
  await page.goBack();
  await page.locator('qkv-matrix').waitFor();
  assert.equal(await statusOf(page), before);
  await page.goForward();
  await sandboxOf(page);
  await button.click();
  await page.locator('qkv-matrix').waitFor();
  assert.equal(await statusOf(page), before);
  assert.deepEqual(troubles, []);
});

for (const preset of PRESETS) {
  test(`${preset}: every matrix on the screen is what the formulas give in float64`, async () => {
    const { page, troubles } = await open(preset);
    const options = { heads: preset === 'heads' ? 8 : 1, scaled: preset !== 'width' };
    await check(page, options);
    if (preset === 'heads') {
      await page.getByRole('button', { name: 'head 5', exact: true }).click();
      await check(page, options, 5);
      await page.keyboard.press(']');
      await check(page, options, 6);
    }
    assert.deepEqual(troubles, []);
  });
}

test('numbers can be typed, dragged, nudged and pasted one by one, and all follows at once', async () => {
  const { page, troubles } = await open('mask');
  await cellOf(page, 'X', 1, 2).dblclick();
  await page.keyboard.type('-2.5');
  await page.keyboard.press('Enter');
  let { seen } = await check(page);
  assert.equal(seen.X.values[1 * 4 + 2], -2.5);
  await cellOf(page, 'W_Q', 0, 0).focus();
  await page.keyboard.type('3');
  await page.keyboard.press('Enter');
  await page.keyboard.press('PageUp');
  ({ seen } = await check(page));
  near('W_Q', [seen.W_Q.values[0]], [3.1]);
  const before = seen.W_K.values[5];
  const box = await cellOf(page, 'W_K', 1, 1).boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 10, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + 10, box.y - 40, { steps: 5 });
  await page.mouse.up();
  ({ seen } = await check(page));
  near('dragged by 50 pixels', [seen.W_K.values[5]], [before + 1]);
  await pasteInto(cellOf(page, 'W_V', 3, 3), ' 0.125 ');
  ({ seen } = await check(page));
  assert.equal(seen.W_V.values[15], 0.125);
  await cellOf(page, 'W_O', 0, 0).focus();
  await page.keyboard.press('Delete');
  ({ seen } = await check(page));
  assert.equal(seen.W_O.values[0], 0);
  assert.deepEqual(troubles, []);
});

test('what is no number changes nothing and says so; Escape leaves the number alone', async () => {
  const { page } = await open('mask');
  const before = (await readSheets(page)).X.values;
  await cellOf(page, 'X', 0, 0).dblclick();
  await page.keyboard.type('two');
  await page.keyboard.press('Enter');
  assert.match(await complaint(page), /X: got “two”, wanted a number/);
  await cellOf(page, 'X', 0, 0).dblclick();
  await page.keyboard.type('9');
  await page.keyboard.press('Escape');
  assert.deepEqual((await readSheets(page)).X.values, before);
});

test('a number beyond the limits is limited, and that is said', async () => {
  const { page } = await open('mask');
  await cellOf(page, 'X', 0, 0).dblclick();
  await page.keyboard.type('1e30');
  await page.keyboard.press('Enter');
  assert.match(await complaint(page), /X: got 1e\+30, wanted a number between −1000000 and 1000000.* to 1000000\./);
  assert.equal((await readSheets(page)).X.values[0], 1e6);
  await cellOf(page, 'X', 0, 0).dblclick();
  await page.keyboard.type('1000000');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#sandbox-problem').count(), 0);
  await pasteInto(cellOf(page, 'W_Q', 0, 0), Array(4).fill('1 2 3 -2e6').join('\n'));
  assert.match(await complaint(page), /W_Q: got −2000000, .* to −1000000\./);
  assert.equal((await readSheets(page)).W_Q.values[3], -1e6);
});

test('switching mask cells makes weights 0, rows still sum to 1, and an empty row is 0', async () => {
  const { page, troubles } = await open('equal');
  await cellOf(page, 'Mask', 0, 2).click();
  let { seen } = await check(page);
  assert.equal(seen.A.values[2], 0);
  near('row 0', seen.A.values.slice(0, 4), [1 / 3, 1 / 3, 0, 1 / 3]);
  assert.deepEqual(await page.locator('td.sum').allTextContents(), ['1.000', '1.000', '1.000', '1.000']);
  await cellOf(page, 'Mask', 0, 2).focus();
  await page.keyboard.press(' ');
  ({ seen } = await check(page));
  near('all allowed', seen.A.values.slice(0, 4), [0.25, 0.25, 0.25, 0.25]);
  for (let col = 0; col < 4; col++) await cellOf(page, 'Mask', 1, col).click();
  ({ seen } = await check(page));
  near('empty row', seen.output.values.slice(4, 8), [0, 0, 0, 0]);
  await page.getByText('a row in which nothing is allowed').waitFor();
  await page.getByRole('button', { name: 'Mask: Causal' }).click();
  ({ seen } = await check(page));
  near('causal', seen.A.values.slice(0, 8), [1, 0, 0, 0, 0.5, 0.5, 0, 0]);
  assert.deepEqual(troubles, []);
});

test('a pasted block is taken, or explained with got and wanted', async () => {
  const { page, troubles } = await open('mask');
  const before = (await readSheets(page)).W_Q.values;
  await pasteInto(cellOf(page, 'W_Q', 0, 0), '1\t2\t3\n4\t5\t6');
  assert.match(await complaint(page), /W_Q: got 2 × 3 numbers, wanted 4 × 4/);
  assert.deepEqual((await readSheets(page)).W_Q.values, before);
  await pasteInto(cellOf(page, 'W_Q', 0, 0), '1 2 3 4\n5 6 7\n1 1 1 1\n1 1 1 1');
  assert.match(await complaint(page), /line 2 has 3 numbers, the lines before it 4/);
  await pasteInto(cellOf(page, 'W_Q', 0, 0), '[[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]');
  const { seen } = await check(page);
  assert.deepEqual(seen.W_Q.values, [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4]);
  assert.equal(await page.locator('#sandbox-problem').count(), 0);
  await page.getByRole('button', { name: 'X: Paste…' }).click();
  const area = page.getByRole('textbox', { name: /^X: 5 lines of 4 numbers/ });
  await area.fill('1,2\n3,4');
  await page.getByRole('button', { name: 'Use these numbers' }).click();
  assert.match(await complaint(page), /X: got 2 × 2 numbers, wanted 5 × 4/);
  await area.fill(Array(5).fill('1,0,-1,0.5').join('\n'));
  await page.getByRole('button', { name: 'Use these numbers' }).click();
  assert.deepEqual((await check(page)).seen.X.values.slice(4, 8), [1, 0, -1, 0.5]);
  assert.deepEqual(troubles, []);
});

test('fills: random is another matrix each time, 0, the identity, and back', async () => {
  const { page } = await open('mask');
  const press = (/** @type {string} */ name) => page.getByRole('button', { name: `W_Q: ${name}`, exact: true }).click();
  const values = async () => (await check(page)).seen.W_Q.values;
  const first = await values();
  await press('Random');
  const second = await values();
  await press('Random');
  const third = await values();
  assert.notDeepEqual(second, first);
  assert.notDeepEqual(third, second);
  await press('0');
  assert.deepEqual(await values(), Array(16).fill(0));
  await press('1 on the diagonal');
  assert.deepEqual(await values(), [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
  await press('Reset');
  assert.deepEqual(await values(), first);
});

test('the presets show what they say', async () => {
  const lookup = (await check((await open('lookup')).page)).seen;
  near('the value under a one-hot key', lookup.output.values.slice(0, 4), [3, 1, 4, 1]);
  near('the mean of two values', lookup.output.values.slice(4, 8), [4, 2, 4.5, 4.5]);
  const equal = (await check((await open('equal')).page)).seen;
  for (let row = 0; row < 4; row++) near('the mean', equal.output.values.slice(4 * row, 4 * row + 4), [2, 1, 2, 1]);
  const { weights } = (await check((await open('cross')).page)).want.perHead[0];
  for (const [row, col] of [
    [0, 1],
    [1, 2],
    [2, 3],
  ])
    assert.ok(weights[row * 4 + col] > 0.9);
  const { page } = await open('width');
  const undivided = (await check(page, { scaled: false })).want.perHead[0].weights;
  await page.getByRole('checkbox', { name: 'Divide by √dk' }).click();
  const divided = (await check(page)).want.perHead[0].weights;
  const sharpness = (/** @type {number[]} */ all) =>
    [0, 1, 2, 3, 4, 5].reduce((sum, row) => sum + Math.max(...all.slice(6 * row, 6 * row + 6)), 0) / 6;
  assert.ok(sharpness(undivided) > 0.85 && sharpness(divided) < 0.6, `${sharpness(undivided)} ${sharpness(divided)}`);
  const rows = await page
    .locator('.widths tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll('th, td:not(.bar-cell)')].map((cell) => Number(cell.textContent))),
    );
  assert.deepEqual(
    rows.map(([dk]) => dk),
    [4, 8, 16, 32, 64, 128, 256, 512],
  );
  rows.forEach(([, raw, rawBits, even, evenBits], i) => {
    assert.ok(Math.abs(even - 0.355) < 0.03 && Math.abs(evenBits - 2.5) < 0.1, `${even} ${evenBits}`);
    if (i) assert.ok(raw > rows[i - 1][1] && rawBits < rows[i - 1][2]);
  });
  assert.ok(rows[0][1] < 0.6 && rows[7][1] > 0.93 && rows[7][2] < 0.25);
});

test('sizes, heads, source and temperature: the chain follows and stays right', async () => {
  const { page, troubles } = await open('mask');
  await page.getByLabel('Words N').selectOption('7');
  await check(page);
  await page.getByLabel('Heads h').selectOption('3');
  assert.equal(await page.getByLabel('Width D').inputValue(), '6');
  await check(page, { heads: 3 });
  await page.getByLabel('Keys and values from').selectOption('cross');
  await page.getByLabel('Words M').selectOption('2');
  const { seen } = await check(page, { heads: 3 });
  assert.deepEqual([seen['A^0'].rows, seen['A^0'].cols, seen.Y.rows], [7, 2, 2]);
  await page.getByLabel('Temperature').focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
  await check(page, { heads: 3, temperature: 0.631 });
  await page.getByLabel('Divide by √dk').click();
  await check(page, { heads: 3, temperature: 0.631, scaled: false });
  await page.getByLabel('Words N').selectOption('1');
  await page.getByLabel('Words M').selectOption('1');
  await check(page, { heads: 3, temperature: 0.631, scaled: false });
  await page.getByLabel('Words that look, word 1').fill('solo');
  await page.getByRole('rowheader', { name: 'solo' }).first().waitFor();
  assert.deepEqual(troubles, []);
});

/** What the selects read. @param {import('playwright-core').Page} page */
const choices = (page) =>
  page
    .locator('.settings select')
    .evaluateAll((all) => all.map((select) => /** @type {HTMLSelectElement} */ (select).value));

test('every select reads what the matrices have, however the sizes were changed', async () => {
  const { page, troubles } = await open('heads*cross.1');
  const pick = async (/** @type {string} */ label, /** @type {string} */ value) => {
    await page.getByLabel(label).selectOption(value);
    const { X, Y } = await readSheets(page);
    const heads = Math.max(1, await page.locator('.strip-head').count());
    const shapes = [X.rows, ...(Y ? [Y.rows] : []), heads, X.cols, Y ? 'cross' : 'self'];
    assert.deepEqual(await choices(page), shapes.map(String), `${label} ${value}`);
    return { n: X.rows, m: Y?.rows, h: heads, d: X.cols };
  };
  assert.deepEqual(await choices(page), ['4', '4', '8', '16', 'cross']);
  for (const heads of ['1', '3', '7']) await pick('Heads h', heads);
  await pick('Words N', '12');
  await pick('Words M', '9');
  await pick('Words N', '1');
  assert.deepEqual(await pick('Heads h', '8'), { n: 1, m: 9, h: 8, d: 24 });
  await pick('Width D', '64');
  for (const heads of ['7', '1', '5', '8', '2', '6']) await pick('Heads h', heads);
  await pick('Keys and values from', 'self');
  await pick('Heads h', '4');
  await pick('Keys and values from', 'cross');
  const before = await choices(page);
  await page.getByRole('button', { name: 'mask', exact: true }).click();
  await pick('Heads h', '2');
  await page.goBack();
  await page.getByRole('button', { name: 'head 3', exact: true }).waitFor();
  assert.deepEqual(await choices(page), before);
  assert.deepEqual(troubles, []);
});

test('up to 16 columns are numbers that can be read; where there are more, column numbers keep apart', async () => {
  for (const [sandbox, touch] of [
    ['heads', false],
    ['mask*n.12', false],
    ['heads', true],
  ]) {
    const size = touch ? { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } } : {};
    const { page } = await open(String(sandbox), size);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('td[role=gridcell]')]
        .filter(
          (cell) => Number.parseFloat(getComputedStyle(cell).fontSize) < 11 || cell.scrollWidth > cell.clientWidth,
        )
        .map((cell) => `${cell.closest('table')?.getAttribute('aria-label')}: ${cell.textContent}`),
    );
    assert.deepEqual(cut, []);
    await page.context().close();
  }
  const { page } = await open('width');
  const headers = await sheetOf(page, 'X')
    .getByRole('columnheader')
    .evaluateAll((all) =>
      all
        .filter((header) => getComputedStyle(header).fontSize !== '0px')
        .map((header) => {
          const range = document.createRange();
          range.selectNodeContents(header);
          const { left, right } = range.getBoundingClientRect();
          return { text: header.textContent, left, right };
        }),
    );
  assert.deepEqual(
    headers.map(({ text }) => text),
    Array.from({ length: 16 }, (_, i) => String(4 * i)),
  );
  headers.slice(1).forEach(({ text, left }, i) => {
    assert.ok(left - headers[i].right >= 8, `${text}`);
  });
  assert.equal(await sheetOf(page, 'X').getByRole('columnheader').count(), 64);
});

test('a large matrix is a picture until it is opened', async () => {
  const { page } = await open('width');
  await page.getByRole('img', { name: /^W_Q, 64 by 64/ }).waitFor();
  await page
    .locator('[data-sheet=wq]')
    .getByRole('button', { name: /4096 numbers/ })
    .click();
  await cellOf(page, 'W_Q', 63, 63).waitFor();
  assert.equal(await sheetOf(page, 'W_Q').getByRole('gridcell').count(), 64 * 64);
  await page.getByLabel('All numbers in their cells').click();
  const size = await cellOf(page, 'X', 0, 0).evaluate((cell) => getComputedStyle(cell).fontSize);
  assert.ok(Number.parseFloat(size) >= 11, size);
});

/** @param {import('playwright-core').Page} page  @param {RegExp} name */
async function tabTo(page, name) {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => {
      const element = document.activeElement;
      const own = element?.getAttribute('aria-label') ?? element?.closest('label, button')?.textContent?.trim() ?? '';
      return element?.matches('td') ? (element.closest('table')?.getAttribute('aria-label') ?? '') : own;
    });
    if (name.test(label)) return;
  }
  assert.fail(`Tab never reaches ${name}`);
}

test('by keys alone: into the sandbox, a preset, a number, the mask', async () => {
  const { page, troubles } = await browser.visit();
  await tabTo(page, /^Sandbox$/);
  await page.keyboard.press('Enter');
  await sandboxOf(page);
  await tabTo(page, /^identical keys$/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/sandbox=equal/);
  await tabTo(page, /^X, 4 by 4/);
  for (const key of ['Control+End', 'ArrowUp', 'ArrowLeft', 'Home', 'ArrowRight']) await page.keyboard.press(key);
  await page.keyboard.type('7');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  let { seen } = await check(page);
  assert.equal(seen.X.values[2 * 4 + 1], 7);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-row')), '1');
  await tabTo(page, /^Mask, 4 by 4/);
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  ({ seen } = await check(page));
  assert.equal(seen.A.values[3], 0);
  assert.deepEqual(troubles, []);
});
