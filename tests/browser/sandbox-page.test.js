/** The sandbox as a part of the page: its address, its languages and sizes, and what may go wrong. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cellOf, check, sandboxOf } from './sandbox_reading.js';
import { accessibilityFaults } from './accessibility.js';
import { goToHash, runOf, startBrowser, tooWide } from './visit.js';

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

test('a link restores everything; the address follows, and the back button leads back', async () => {
  const sandbox =
    'heads*n.5*d.24*h.4*i.2*cross.1*scaled.0*t.0.5*wordsx.0_%25E5%258C%2597*x.p_65_1.5*wq.r9_0_-3*wo.e*mask.c_2_1';
  const { page, troubles } = await open(sandbox, {}, '&lang=en&theme=dark');
  const options = { heads: 4, scaled: false, temperature: 0.5 };
  const { seen } = await check(page, options, 2);
  assert.deepEqual([seen.X.rows, seen.X.cols, seen.X.values[25], seen.W_Q.values[0]], [5, 24, 1.5, -3]);
  assert.equal(await page.getByLabel('Words that look, word 1').inputValue(), '北');
  await page.getByRole('button', { name: 'mask', exact: true }).click();
  await cellOf(page, 'X', 0, 0).dblclick();
  await page.keyboard.type('0.5');
  await page.keyboard.press('Enter');
  await page.waitForURL(/sandbox=mask\*x\.p_0_0\.5/);
  await page.reload();
  await sandboxOf(page);
  assert.equal((await check(page)).seen.X.values[0], 0.5);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll('.strip-head').length === 4);
  assert.deepEqual((await check(page, options, 2)).seen, seen);
  assert.deepEqual(troubles, []);
});

test('hostile addresses show a sandbox and bring no error', async () => {
  const { page, troubles, requests, origin } = await open('__proto__*n.1');
  const hostile = [
    'heads*n.99*d.9999*h.9*i.99*t.1e9',
    'mask*x.r99999_9999_1e999*mask.r_0_5*wordsx.0_%25*wordsy.0_%253Cimg%2520src%253Dx%2520onerror%253Dalert(1)%253E',
    'cross*cross.0*cross.1*x.*y._*.*..**',
    'x'.repeat(40_000),
  ];
  for (const sandbox of hostile) {
    await goToHash(page, `#place=sandbox&sandbox=${sandbox}`);
    await sandboxOf(page);
    assert.equal(await page.locator('.note.bad').count(), 0);
  }
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(troubles, []);
  assert.deepEqual(
    requests.filter((address) => !address.startsWith(origin)),
    [],
  );
});

test('Chinese everywhere, nothing wider than the screen, every control large enough for a finger', async () => {
  const { en } = await import('../../web/page/words/en.js');
  const { zhHans } = await import('../../web/page/words/zh-Hans.js');
  const { page, troubles } = await open('lookup', {
    locale: 'zh-CN',
    hasTouch: true,
    isMobile: true,
    viewport: { width: 390, height: 844 },
  });
  for (const preset of PRESETS) {
    await goToHash(page, `#place=sandbox&sandbox=${preset}*wordsx.0_${'w'.repeat(16)}`);
    await page.getByRole('rowheader', { name: 'wwww' }).first().waitFor();
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
    for (const width of [320, 390, 820, 1024, 1440]) {
      await page.setViewportSize({ width, height: 844 });
      const over = await tooWide(page);
      assert.ok(over <= 0, `${preset} ${width}: ${over} pixels too wide`);
    }
    await page.setViewportSize({ width: 390, height: 844 });
  }
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('button, select, textarea, .word, .switch')]
      .map((control) => ({
        name: control.getAttribute('aria-label') ?? control.textContent,
        box: control.getBoundingClientRect(),
      }))
      .filter(({ box }) => box.width > 0 && (box.height < 43.5 || box.width < 43.5))
      .map(({ name, box }) => `${name} ${box.width}x${box.height}`),
  );
  assert.deepEqual(small, []);
  assert.deepEqual(troubles, []);
});

test('a second tap on a number opens it, a tap on the mask switches it', async () => {
  const { page, troubles } = await open('mask', {
    hasTouch: true,
    isMobile: true,
    viewport: { width: 390, height: 844 },
  });
  const editor = page.locator('[data-sheet=x] .sheet-editor');
  await cellOf(page, 'X', 1, 2).tap();
  assert.equal(await editor.isVisible(), false);
  await cellOf(page, 'X', 1, 2).tap();
  await editor.fill('4');
  await page.keyboard.press('Enter');
  await cellOf(page, 'Mask', 0, 2).tap();
  const { seen } = await check(page);
  assert.equal(seen.X.values[6], 4);
  assert.equal(seen.Mask.values[2], 1);
  assert.deepEqual(troubles, []);
});

test('assistive technology finds no serious fault in the sandbox', async () => {
  for (const [sandbox, theme] of [
    ['heads', 'light'],
    ['mask', 'dark'],
    ['width', 'light'],
    ['cross', 'dark'],
  ]) {
    const { page } = await open(sandbox, {}, `&theme=${theme}`);
    const faults = await accessibilityFaults(page);
    assert.deepEqual(faults, [], `${sandbox} ${theme}`);
    await page.context().close();
  }
});

test('the engine that cannot start says why, and trying again works, for the model too', async () => {
  const prepare = (/** @type {import('playwright-core').Page} */ page) =>
    page.route('**/*.wasm', (route) => route.abort());
  const { page } = await browser.visit({ ready: false, hash: '#place=sandbox', prepare });
  await page.getByRole('alert').waitFor();
  assert.match((await page.getByRole('alert').textContent()) ?? '', /qkv.*\.wasm/);
  await page.unroute('**/*.wasm');
  await page.getByRole('button', { name: 'Try again' }).click();
  await sandboxOf(page);
  await check(page);
  await page.getByRole('button', { name: 'Sandbox' }).click();
  await page.getByRole('button', { name: 'Try again' }).click();
  await runOf(page);
});
