/** Saves the README's pictures of the page: node tests/browser/screenshots.js FOLDER */
import { join } from 'node:path';
import { startBrowser } from './visit.js';

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
await browser.close();
