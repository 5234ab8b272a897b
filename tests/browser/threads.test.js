/** The library in a page that is isolated from other origins, and in one that is not: threads in the one, the same bits from
 * one thread in the other. The page is blank; what npm gets is loaded as it is. */
import assert from 'node:assert/strict';
import { createReadStream, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './launch.js';
import { runOf } from './visit.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};
const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
const STRICT = {
  'content-security-policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; " +
    "require-trusted-types-for 'script'; trusted-types qkv-worker",
};

/**
 * Serves the library in dist/, the bundled models, a blank page and, in page/, the built one.
 * @param {Record<string, string>} headers of every answer
 */
async function serve(headers) {
  /** @type {string[]} */
  const asked = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    asked.push(pathname);
    const path = pathname.replace(/^\/models\//, '/web/models/').replace(/^\/page\//, '/build/page/');
    const file = join(ROOT, path);
    if (pathname === '/') {
      response.writeHead(200, { ...headers, 'content-type': 'text/html' }).end('<!doctype html><title>blank</title>');
    } else if (/^\/(dist|models|page)\/[\w./-]+$/.test(pathname) && !pathname.includes('..') && existsSync(file)) {
      response.writeHead(200, { ...headers, 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
      createReadStream(file).pipe(response);
    } else {
      response.writeHead(pathname === '/favicon.ico' ? 204 : 404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, asked, close };
}

/** @type {import('playwright-core').Browser} */
let browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser.close());

/**
 * What a page says that computes with one thread and then with as many as it gets of three.
 * @param {Record<string, string>} headers
 */
async function visit(headers) {
  const { url, asked, close } = await serve(headers);
  const page = await (await browser.newContext()).newPage();
  /** @type {string[]} */
  const troubles = [];
  page.on('console', (message) => troubles.push(message.text()));
  page.on('pageerror', (error) => troubles.push(String(error)));
  try {
    await page.goto(url);
    const said = await page.evaluate(async () => {
      /** @type {typeof import('qkv')} */
      const { init, loadModel, scaledDotProductAttention } = await import(/** @type {any} */ ('/dist/index.js'));
      const ids = Int32Array.from({ length: 128 }, (_, i) => (i * 7919) % 30_000);
      const query = { data: Float32Array.from({ length: 8 * 64 * 32 }, (_, i) => Math.sin(i)), shape: [1, 8, 64, 32] };
      const results = [];
      for (const threads of [1, 3]) {
        const engine = await init({ threads });
        // In the thread of the page itself, which may not wait for others.
        const { output } = scaledDotProductAttention(engine, { query, key: query, value: query });
        const model = await loadModel('/models/minilm', { engine });
        const run = await model.forward({ ids });
        results.push({
          threads: engine.info.threads,
          hidden: Array.from((await run.hidden(6)).data),
          output: Array.from(output.data),
        });
        model.dispose();
        engine.dispose();
      }
      return results;
    });
    return { said, troubles, started: asked.filter((path) => path === '/dist/thread.js').length };
  } finally {
    await page.context().close();
    close();
  }
}

for (const [what, headers, threads, started] of /** @type {const} */ ([
  ['a page with the headers of isolation has threads', ISOLATED, 3, 2],
  ['so has one with a strict policy on all that it loads', { ...ISOLATED, ...STRICT }, 3, 2],
  ['a page without them has one thread', {}, 1, 0],
])) {
  test(`${what}, and the numbers are the same`, async () => {
    const { said, troubles, started: actual } = await visit(headers);
    assert.deepEqual(troubles, []);
    const [one, more] = said;
    assert.deepEqual([one.threads, more.threads, actual], [1, threads, started]);
    assert.ok(one.hidden.some((value) => value !== 0));
    assert.deepEqual(more.hidden, one.hidden);
    assert.deepEqual(more.output, one.output);
  });
}

test('the page itself takes as many threads as there are cores, at most four, where it is isolated', async () => {
  const { url, asked, close } = await serve(ISOLATED);
  const page = await (await browser.newContext()).newPage();
  try {
    await page.goto(`${url}page/index.html`);
    await runOf(page);
    const cores = await page.evaluate(() => navigator.hardwareConcurrency);
    const started = asked.filter((path) => /^\/page\/assets\/thread-.*\.js$/.test(path)).length;
    assert.equal(started, Math.min(cores, 4) - 1);
  } finally {
    await page.context().close();
    close();
  }
});
