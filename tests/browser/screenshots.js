/** Saves the README's pictures of the page: node tests/browser/screenshots.js FOLDER */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openModel, typeText } from './local_model.js';
import { startBrowser } from './visit.js';

/** The build fetches it. */
const SMOLLM2 = fileURLToPath(new URL('../../build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url));

const PICTURES = [
  { name: 'light', viewport: { width: 1440, height: 960 }, hash: '#theme=light' },
  { name: 'dark', viewport: { width: 1440, height: 960 }, hash: '#theme=dark' },
  { name: 'lines-zh', viewport: { width: 1440, height: 960 }, hash: '#view=lines&lang=zh&theme=light' },
  { name: 'narrow', viewport: { width: 390, height: 844 }, hash: '#theme=light', hasTouch: true, isMobile: true },
];

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error('usage: node tests/browser/screenshots.js FOLDER');
  process.exit(2);
}
const browser = await startBrowser();
for (const { name, ...options } of PICTURES) {
  const { page } = await browser.visit({ ...options, deviceScaleFactor: 1.5 });
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.context().close();
}

/* A decoder that goes on from a text, at the strongest link between two of its words. */
const { page } = await browser.visit({
  viewport: { width: 1440, height: 1180 },
  hash: '#theme=light&tokens=8&temp=0',
  deviceScaleFactor: 1.5,
});
await openModel(page, SMOLLM2, 'q8');
await typeText(page, 'The grey fox met Lena Brandt. Later the grey fox met Lena');
await page.getByRole('button', { name: 'Generate' }).click();
await page.getByText('8 new tokens.').waitFor();
await page.locator('.finding').filter({ hasText: 'looks at' }).first().click();
await page.mouse.move(0, 0);
await page.evaluate(() => window.scrollTo(0, 0));
await page.waitForTimeout(1000);
await page.screenshot({ path: join(folder, 'decoder.png') });
await browser.close();
