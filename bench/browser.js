/** Runs parts of the suite in headless Chromium: the page of bench/page/, served as it lies in the tree with the headers
 * that let a page have threads and a finer clock. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { launchBrowser } from '../tests/browser/launch.js';
import { inTree } from './runtime.js';

/** @typedef {import('./report.js').Settings} Settings */

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/** @param {Settings} settings */
async function serve({ peers, peerModels }) {
  /** @type {Record<string, string>} */
  const folders = {
    bench: inTree('bench'),
    dist: inTree('dist'),
    web: inTree('web'),
    build: inTree('build'),
    'peer-models': peerModels,
    ...(peers ? { peers } : {}),
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, name, rest] = /^\/([\w-]+)\/(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    const root = folders[name];
    const file = root && normalize(join(root, rest));
    if (!file?.startsWith(root + sep) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404, ISOLATED).end();
      return;
    }
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { ...ISOLATED, 'content-type': type, 'content-length': statSync(file).size });
    if (request.method === 'HEAD') response.end();
    else createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, origin: `http://127.0.0.1:${port}` };
}

/** @param {string[]} parts @param {Settings} settings */
function addressOf(parts, { rounds, threads, full, brief, peers }) {
  const asked = new URLSearchParams({ parts: parts.join(','), rounds: String(rounds), threads: String(threads) });
  for (const [name, isSet] of Object.entries({ full, brief, peers })) if (isSet) asked.set(name, '');
  return `/bench/page/index.html?${asked}`;
}

/** @type {import('./nodes.js').Program} */
export async function* inChromium(parts, settings) {
  const { server, origin } = await serve(settings);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    /** @type {Promise<never>} */
    const failed = new Promise((_, reject) => {
      page.on('pageerror', reject);
      page.on('crash', () => reject(new Error('The page crashed')));
    });
    failed.catch(() => {});
    await page.goto(origin + addressOf(parts, settings));
    for (let i = 0; i < parts.length; i++) {
      const arrived = page.waitForFunction((n) => globalThis.benchResults?.[n], i, { timeout: 0, polling: 500 });
      const result = await (await Promise.race([arrived, failed])).jsonValue();
      if (result) yield result;
    }
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}
