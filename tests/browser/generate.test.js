/** Next tokens, gaps, and a text that goes on by itself. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { percentOf } from '../../web/page/views/token-bars.js';
import { drawnText, openModel, typeText } from './local_model.js';
import { tinyFolder } from './tiny_folder.js';
import { accessibilityFaults } from './accessibility.js';
import { startBrowser, tooWide } from './visit.js';

/** @typedef {import('playwright-core').Page} Page */

/** The build fetches it. */
const SMOLLM2 = fileURLToPath(new URL('../../build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url));

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
/** @type {string} */
let llama;
/** @type {string} */
let mpnet;
before(async () => {
  browser = await startBrowser();
  llama = tinyFolder('llama');
  mpnet = tinyFolder('mpnet_mlm', 'wordPiece');
});
after(async () => {
  await browser.close();
  for (const folder of [llama, mpnet]) rmSync(dirname(folder), { recursive: true });
});

/** What the bars show. @param {Page} page */
const barsOf = (page) =>
  page.locator('.next-token').evaluateAll((buttons) =>
    buttons.map((button) => ({
      id: Number(/** @type {HTMLElement} */ (button).dataset.id),
      percent: button.querySelector('.next-percent')?.textContent,
      share: Number(getComputedStyle(button).getPropertyValue('--share')),
      canAdd: button.getAttribute('aria-disabled') === 'false',
    })),
  );

/** What the engine says. @param {Page} page  @param {number} position */
const truthOf = (page, position) =>
  page.evaluate(async (at) => (await globalThis.qkv?.run?.nextTokens(10, { position: at })) ?? [], position);

/** @param {Page} page  @param {number} position */
async function assertBars(page, position) {
  const truth = await truthOf(page, position);
  const bars = await barsOf(page);
  assert.deepEqual(
    bars.map(({ id }) => id),
    truth.map(({ id }) => id),
  );
  bars.forEach(({ percent, share }, i) => {
    assert.equal(percent, `${percentOf(truth[i].probability)} %`);
    assert.ok(Math.abs(share - truth[i].probability) < 1e-6);
  });
}

/** @param {Page} page  @param {string} name  @param {string} value */
async function set(page, name, value) {
  await page.locator('.generate').getByLabel(name, { exact: true }).fill(value);
  await page.keyboard.press('Tab');
}

/** Generates to the end. @param {Page} page @returns {Promise<string>} the new text */
async function generate(page) {
  await page.evaluate(() => Object.assign(globalThis, { runBefore: globalThis.qkv?.run }));
  await page.getByRole('button', { name: 'Generate' }).click();
  await page
    .getByText(/new tokens/)
    .first()
    .waitFor();
  // The text is complete before the picture is.
  await page.waitForFunction(() => {
    const { qkv, runBefore } = /** @type {any} */ (globalThis);
    return qkv.run !== runBefore && qkv.run.tokens.length > qkv.run.promptTokens;
  });
  return (await page.locator('.stream-text b').textContent()) ?? '';
}

test('no percentage looks exact where it is not', () => {
  const shares = [0, 0.0005, 0.001, 0.0949, 0.5, 0.994, 0.9967, 0.9995, 1];
  assert.deepEqual(shares.map(percentOf), ['0', '<0.1', '0.1', '9.5', '50', '99.4', '99.7', '>99.9', '100']);
});

test('the bars are the engine’s probabilities, and follow the chosen row', async () => {
  const { page, troubles } = await browser.visit();
  assert.equal(await page.locator('.continue').count(), 0);
  await openModel(page, llama);
  await typeText(page, 'the cat sat');
  const last = await page.evaluate(() => (globalThis.qkv?.run?.tokens.length ?? 0) - 1);
  await assertBars(page, last);
  await page.getByLabel('From (query)').selectOption('1');
  await page.getByRole('heading', { name: 'What comes after e' }).waitFor();
  await assertBars(page, 1);
  assert.deepEqual(troubles, []);
});

test('a click on a bar goes on with its token; keys move along the bars', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, llama);
  await typeText(page, 'the cat');
  const bars = await barsOf(page);
  const at = bars.findIndex(({ canAdd }) => canAdd);
  const truth = await truthOf(page, (await page.evaluate(() => globalThis.qkv?.run?.tokens.length ?? 0)) - 1);
  await page.locator('.next-token').first().focus();
  for (let i = 0; i < at; i++) await page.keyboard.press('ArrowRight');
  assert.equal(await page.evaluate(() => Number(document.activeElement?.getAttribute('data-id'))), bars[at].id);
  await page.keyboard.press('Enter');
  const text = `the cat${truth[at].text}`;
  await page.waitForFunction((wanted) => document.querySelector('textarea')?.value === wanted, text);
  await drawnText(page, text);
  await assertBars(page, (await page.evaluate(() => globalThis.qkv?.run?.tokens.length ?? 0)) - 1);
  /* An earlier row: what came after it makes room. */
  await page.getByLabel('From (query)').selectOption('0');
  await page.getByRole('heading', { name: 'What comes after th' }).waitFor();
  const early = await truthOf(page, 0);
  const open = (await barsOf(page)).findIndex(({ canAdd }) => canAdd);
  await page.locator('.next-token').nth(open).click();
  await page.waitForFunction((wanted) => document.querySelector('textarea')?.value === wanted, `th${early[open].text}`);
  await page.goBack();
  await page.waitForFunction((wanted) => document.querySelector('textarea')?.value === wanted, text);
  assert.deepEqual(troubles, []);
});

test('ids without a piece and parts of a character cannot be added', async () => {
  const { page } = await browser.visit();
  await openModel(page, llama);
  await typeText(page, 'the cat sat on the 京 mat');
  const all = await truthOf(page, (await page.evaluate(() => globalThis.qkv?.run?.tokens.length ?? 0)) - 1);
  const bars = await barsOf(page);
  const refused = all.findIndex(({ id, text }) => text === `#${id}` || text.startsWith('<0x'));
  assert.ok(refused >= 0);
  all.forEach(({ id, text }, i) => {
    assert.equal(bars[i].canAdd, text !== `#${id}` && !text.startsWith('<0x'), text);
  });
  await page.locator('.next-token').nth(refused).click({ force: true });
  assert.equal(await page.getByRole('textbox', { name: 'Sentence' }).inputValue(), 'the cat sat on the 京 mat');
});

test('a masked language model says what fits in the gap, and a click fills it', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, mpnet);
  await typeText(page, 'the <mask> sat');
  await page.getByRole('heading', { name: 'What fits in place of <mask>' }).waitFor();
  await assertBars(page, 2);
  assert.equal(await page.getByRole('button', { name: 'Generate' }).count(), 0);
  const truth = await truthOf(page, 2);
  const at = (await barsOf(page)).findIndex(({ canAdd }, i) => canAdd && /^[a-z]+$/.test(truth[i].text));
  await page.locator('.next-token').nth(at).click();
  await page.waitForFunction(
    (wanted) => document.querySelector('textarea')?.value === wanted,
    `the ${truth[at].text} sat`,
  );
  await drawnText(page, `the ${truth[at].text} sat`);
  await page.getByLabel('From (query)').selectOption('1');
  await page.getByRole('heading', { name: 'What fits in place of the' }).waitFor();
  await assertBars(page, 1);
  assert.deepEqual(troubles, []);
});

test('generated tokens are part of every head, marked as new, the same for the same seed', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, llama);
  await typeText(page, 'the cat');
  await set(page, 'Tokens', '9');
  await set(page, 'Temperature', '1.2');
  await set(page, 'Top k', '30');
  await set(page, 'Top p', '0.9');
  await set(page, 'Seed', '7');
  const first = await generate(page);
  const wanted = await page.evaluate(async () => {
    const options = { maxNewTokens: 9, temperature: 1.2, topK: 30, topP: 0.9, seed: 7 };
    const run = await globalThis.qkv?.model.generate('the cat', options);
    if (!run) throw new Error('no model');
    const { data } = await run.getWeights(1, 1);
    return { text: run.text, ids: run.tokens.map(({ id }) => id), prompt: run.promptTokens, weights: [...data] };
  });
  assert.equal(first, wanted.text);
  await page.getByRole('gridcell', { name: 'Layer 1, head 1', exact: true }).click();
  await page.getByRole('heading', { name: 'Layer 1, head 1' }).waitFor();
  const shown = await page.locator('qkv-matrix').evaluate((view) => {
    const { weights, prompt, labels, place } = /** @type {any} */ (view);
    return { weights: [...weights], prompt, count: labels.length, row: place.row };
  });
  assert.deepEqual(shown, {
    weights: wanted.weights,
    prompt: wanted.prompt,
    count: wanted.ids.length,
    row: wanted.ids.length - 1,
  });
  assert.match(
    (await page.locator('.head-notes').textContent()) ?? '',
    new RegExp(`new: the ${wanted.ids.length - wanted.prompt} tokens`),
  );
  assert.match(
    (await page.locator('#run-facts').textContent()) ?? '',
    new RegExp(`${wanted.ids.length} tokens, ${wanted.ids.length - wanted.prompt} of them new`),
  );
  await page.getByRole('button', { name: 'Lines', exact: true }).click();
  assert.equal(await page.locator('[data-side=row] .lines-token[data-new]').count(), wanted.ids.length - wanted.prompt);
  await page.waitForURL(/tokens=9&temp=1\.2&topk=30&topp=0\.9&seed=7/);
  assert.doesNotMatch(decodeURIComponent(page.url()), new RegExp(`text=the\\+cat${first}`));
  assert.equal(await generate(page), first);
  await set(page, 'Seed', '8');
  assert.notEqual(await generate(page), first);
  assert.deepEqual(troubles, []);
});

test('the new text can be kept, and typing leaves it behind', async () => {
  const { page } = await browser.visit({ hash: '#tokens=6&temp=0' });
  await openModel(page, llama);
  await typeText(page, 'the cat');
  const text = await generate(page);
  await page.getByRole('button', { name: 'Keep as text' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Sentence' }).inputValue(), `the cat${text}`);
  assert.equal(await page.locator('.stream').count(), 0);
  await drawnText(page, `the cat${text}`);
  assert.equal(await page.locator('.head-notes .fresh').count(), 0);
  await generate(page);
  await typeText(page, 'the mat');
  assert.equal(await page.locator('.stream').count(), 0);
  assert.equal(
    await page.evaluate(() => globalThis.qkv?.run?.promptTokens === globalThis.qkv?.run?.tokens.length),
    true,
  );
});

test('settings outside their limits are set right, and an empty sentence is told', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, llama);
  for (const [name, given, kept] of [
    ['Tokens', '100000', '200'],
    ['Temperature', '-3', '0'],
    ['Top p', '7', '1'],
    ['Seed', '1.6', '2'],
    ['Top k', '', '40'],
  ]) {
    await set(page, name, given);
    assert.equal(await page.locator('.generate').getByLabel(name, { exact: true }).inputValue(), kept, name);
  }
  await page.getByRole('textbox', { name: 'Sentence' }).fill('');
  await page.getByText('The sentence is empty, and this model has no token to begin with').waitFor();
  await typeText(page, 'the');
  assert.equal(await page.locator('.notes .bad').count(), 0);
  assert.deepEqual(troubles, []);
});

test('a real model: tokens stream in, stopping keeps what has come, and every head shows it', async () => {
  const { page, troubles } = await browser.visit();
  await openModel(page, SMOLLM2, 'q8');
  await typeText(page, 'The capital of France is');
  assert.match((await page.locator('.next-token').first().textContent()) ?? '', /·Paris/);
  assert.match(
    (await page.locator('#model-dialog .facts').textContent()) ?? '',
    /512 tokens on this page; the model itself takes more/,
  );
  assert.equal(await page.getByRole('gridcell').count(), 270);
  await set(page, 'Tokens', '200');
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.waitForFunction(() => (document.querySelector('.stream-text b')?.textContent ?? '').length > 12);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/^Stopped after \d+ new tokens\.$/).waitFor();
  const added = Number(/\d+/.exec((await page.getByText(/^Stopped after/).textContent()) ?? '')?.[0]);
  const text = await page.locator('.stream-text b').textContent();
  assert.ok(added > 1 && added < 200);
  await page.waitForFunction((count) => globalThis.qkv?.run?.tokens.length === count, 5 + added);
  const labels = await page.locator('qkv-matrix').evaluate((view) => /** @type {any} */ (view).labels);
  assert.equal(labels.slice(5).join('').replaceAll('·', ' ').replaceAll('↵', '\n'), text);
  await page.getByRole('button', { name: 'Generate' }).click();
  await page.getByRole('textbox', { name: 'Sentence' }).fill('Two and two is');
  await drawnText(page, 'Two and two is');
  assert.equal(await page.locator('.stream').count(), 0);
  assert.deepEqual(troubles, []);
});

test('assistive technology finds no serious fault with a decoder, in both themes and languages', async () => {
  for (const hash of [
    '#view=matrix&theme=light&first=hidden',
    '#view=lines&theme=dark',
    '#view=text&theme=light&lang=zh',
  ]) {
    const { page } = await browser.visit({ hash: `${hash.replace('lang=zh', '')}&tokens=5` });
    await openModel(page, llama);
    await typeText(page, 'the cat sat');
    await generate(page);
    if (hash.includes('zh')) await page.getByRole('button', { name: /^中文/ }).click();
    const faults = await accessibilityFaults(page);
    assert.deepEqual(faults, [], hash);
    await page.context().close();
  }
});

test('nothing of a decoder’s page scrolls sideways, and fingers can hit it', async () => {
  const { page } = await browser.visit({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await openModel(page, llama);
  await typeText(page, 'the cat sat');
  await generate(page);
  for (const width of [320, 390, 560, 820, 1024, 1240, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    /* The matrix is drawn anew a moment after its pane has become narrower. */
    await page.waitForFunction((wide) => (document.querySelector('.matrix-canvas')?.clientWidth ?? 0) <= wide, width);
    const over = await tooWide(page);
    assert.ok(over <= 0, `${width}: ${over} pixels too wide`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('.continue button, .continue input')]
      .map((control) => ({ name: control.textContent?.trim(), box: control.getBoundingClientRect() }))
      .filter(({ box }) => box.height < 43.5 || box.width < 43.5)
      .map(({ name, box }) => `${name} ${box.width}x${box.height}`),
  );
  assert.deepEqual(small, []);
});
