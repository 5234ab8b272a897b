/** How the browser tests open a model from the disk. */
import { basename } from 'node:path';

/** @typedef {import('playwright-core').Page} Page */

/**
 * Chooses files by the pickers of the model's dialog; what comes then is the page's to show.
 * @param {Page} page
 * @param {string | string[] | { name: string, mimeType: string, buffer: Buffer }[]} files a folder, or files
 */
export async function chooseFiles(page, files) {
  const isFolder = typeof files === 'string' && !/\.\w+$/.test(basename(files));
  await page.locator('.model').click();
  await page
    .locator('#model-dialog input[type=file]')
    .nth(isFolder ? 0 : 1)
    .setInputFiles(files);
}

/**
 * Opens a model and waits for the first run with it.
 * @param {Page} page
 * @param {string} path of a folder or a file
 * @param {'auto' | 'f32' | 'q10' | 'q8'} [precision]
 */
export async function openModel(page, path, precision = 'auto') {
  await chooseFiles(page, path);
  const dialog = page.locator('#open-dialog');
  await dialog.locator(`input[value=${precision}]`).check();
  const before = await page.evaluate(() => globalThis.qkv?.model.info.name ?? null);
  await dialog.getByRole('button', { name: 'Load', exact: true }).click();
  await page.waitForFunction(
    (name) => globalThis.qkv && globalThis.qkv.run !== null && globalThis.qkv.model.info.name !== name,
    before,
  );
}

/**
 * Types a text and waits until its run is drawn.
 * @param {Page} page
 * @param {string} text
 */
export async function typeText(page, text) {
  await page.getByRole('textbox', { name: 'Sentence' }).fill(text);
  await drawnText(page, text);
}

/**
 * Waits until a run of the text is drawn.
 * @param {Page} page
 * @param {string} text
 */
export async function drawnText(page, text) {
  const ids = await page.evaluate(async (wanted) => {
    const tokens = await globalThis.qkv?.model.tokenize(wanted);
    return tokens?.map(({ id }) => id).join();
  }, text);
  await page.waitForFunction((wanted) => globalThis.qkv?.run?.tokens.map(({ id }) => id).join() === wanted, ids);
}
