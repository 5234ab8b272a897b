/**
 * How the browser tests visit the page: the built files behind a plain static server, in a folder that is not the root,
 * and Chromium with an eye on everything that must not happen (console errors, policy violations, foreign
 * requests). QKV_PAGE names another folder of built files than build/page.
 */
import assert from 'node:assert/strict';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mustBeFresh } from '../fresh_dist.js';
import { launchBrowser } from './launch.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').BrowserContextOptions} ContextOptions */
/** @typedef {{ page: Page, origin: string, url: string, troubles: string[], requests: string[] }} Visit */

/** @param {string} path */
const inTree = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const PAGE_FOLDER = process.env.QKV_PAGE ?? inTree('build/page');
/** Of Playwright, and of soon(): only what hangs takes so long, however busy the machine is. */
const LONGEST = 120_000;
const TRIES = LONGEST / 50;
const SUB_FOLDER = '/some/where/qkv/';
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

/** @returns {Promise<{ origin: string, url: string, close: () => void }>} */
async function servePage() {
  mustBeFresh(join(PAGE_FOLDER, 'index.html'), {
    from: process.env.QKV_PAGE ? [] : [inTree('web/index.html'), inTree('web/page'), inTree('dist/index.js')],
    names: [PAGE_FOLDER, 'web/page or dist/'],
    command: './build.sh wasm',
  });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = normalize(
      join(PAGE_FOLDER, pathname.slice(SUB_FOLDER.length), pathname.endsWith('/') ? 'index.html' : ''),
    );
    if (!pathname.startsWith(SUB_FOLDER) || !file.startsWith(PAGE_FOLDER) || !existsSync(file)) {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<!doctype html><title>not here</title>');
      return;
    }
    const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-length': statSync(file).size });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const origin = `http://127.0.0.1:${address.port}`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin, url: origin + SUB_FOLDER, close };
}

/** A server for a test file, and its pages in the browser. */
export async function startBrowser() {
  const server = await servePage();
  const browser = await launchBrowser();

  /**
   * @param {{ hash?: string, ready?: boolean, prepare?: (page: Page) => Promise<unknown> } & ContextOptions} [options]
   * ready: wait until the first run is drawn
   * @returns {Promise<Visit>}
   */
  async function visit({ hash = '', ready = true, prepare, ...context } = {}) {
    const page = await (await browser.newContext({ locale: 'en-US', ...context })).newPage();
    page.setDefaultTimeout(LONGEST);
    /** @type {string[]} */
    const troubles = [];
    /** @type {string[]} */
    const requests = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) troubles.push(message.text());
    });
    page.on('pageerror', (error) => troubles.push(String(error)));
    page.on('request', (request) => requests.push(request.url()));
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) =>
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
      );
    });
    await prepare?.(page);
    await page.goto(server.url + hash);
    if (ready) await runOf(page);
    return { page, origin: server.origin, url: server.url, troubles, requests };
  }

  return {
    visit,
    async close() {
      await browser.close();
      server.close();
    },
  };
}

/**
 * Waits until a run is drawn, and for the given text if there is one.
 * @param {Page} page
 * @param {string} [lastToken] text of the run's last ordinary token
 */
export async function runOf(page, lastToken) {
  await page.waitForFunction((wanted) => {
    const tokens = globalThis.qkv?.run?.tokens;
    return tokens && (wanted === undefined || tokens.at(-2)?.text === wanted);
  }, lastToken);
}

/**
 * Waits until what is read holds, and fails as it last did: for what a worker or a timer brings. So nothing is read that was
 * not waited for.
 * @param {() => Promise<void>} check throws while it does not hold
 */
export async function soon(check) {
  for (let tries = 1; ; tries++) {
    try {
      return await check();
    } catch (error) {
      if (tries === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** What the status region says. @param {Page} page */
export const statusOf = async (page) => (await page.getByRole('status').textContent())?.trim();

/**
 * The status that the engine's own numbers call for.
 * @param {Page} page
 * @param {{ layer: number, head: number, row: number, col: number }} place
 */
const expectedStatus = (page, place) =>
  page.evaluate(async ({ layer, head, row, col }) => {
    const run = globalThis.qkv?.run;
    if (!run) throw new Error('no run');
    const { cols, data } = await run.getWeights(layer, head);
    return `${run.tokens[row].text} → ${run.tokens[col].text} ${data[row * cols + col].toFixed(4)}`;
  }, place);

/**
 * Waits until the cell is the one that is shown, with the number that the engine has for it.
 * @param {Page} page
 * @param {{ layer: number, head: number, row: number, col: number }} place
 */
export const waitForCell = (page, place) =>
  soon(async () => assert.equal(await statusOf(page), await expectedStatus(page, place)));

/** Waits until the status region says something. @param {Page} page  @param {string} wanted */
export const waitForStatus = (page, wanted) => soon(async () => assert.equal(await statusOf(page), wanted));

/**
 * Puts a hash into the address, as a link on the page would, and waits until the page has heard of it; what the page then
 * computes is yet to come.
 * @param {Page} page
 * @param {string} hash unlike the one that is there
 */
export const goToHash = (page, hash) =>
  page.evaluate((wanted) => {
    // The page's own listener is older, so it was called before.
    const heard = new Promise((resolve) => addEventListener('hashchange', () => resolve(null), { once: true }));
    location.hash = wanted;
    return heard;
  }, hash);

/**
 * By how many pixels the page can be scrolled sideways; above 0 something sticks out.
 * @param {Page} page
 */
export const tooWide = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
