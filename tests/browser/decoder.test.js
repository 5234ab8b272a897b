/** Decoders on the page: what is masked, how rotated and shared heads are told, and that it all is the engine's. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { blockHidden, hidesNothing, maskReason } from '../../web/page/mask.js';
import { openModel, typeText } from './local_model.js';
import { tinyFolder } from './tiny_folder.js';
import { startBrowser, statusOf, waitForStatus } from './visit.js';

/** @typedef {import('playwright-core').Page} Page */

const TEXT = 'the cat sat on the mat';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
/** @type {Map<string, string>} */
const folders = new Map();
before(async () => {
  browser = await startBrowser();
  for (const name of ['llama', 'mistral', 'gemma2', 'qwen3', 'gpt2']) folders.set(name, tinyFolder(name));
  folders.set('mpnet_mlm', tinyFolder('mpnet_mlm', 'wordPiece'));
});
after(async () => {
  await browser.close();
  for (const folder of folders.values()) rmSync(dirname(folder), { recursive: true });
});

/** The page with a model and a text. @param {string} name  @param {string} text  @param {string} [hash] */
async function visitModel(name, text, hash = '') {
  const visit = await browser.visit({ hash });
  await openModel(visit.page, folders.get(name) ?? '');
  await typeText(visit.page, text);
  return visit;
}

/** Chooses a cell by the two lists. @param {Page} page  @param {number} row  @param {number} col */
async function chooseCell(page, row, col) {
  await page.getByLabel('From (query)').selectOption(String(row));
  await page.getByLabel('To (key)').selectOption(String(col));
  await page.waitForFunction(
    ([i, j]) => document.querySelector('.number-pane .dim')?.textContent === `row ${i} · column ${j}`,
    [row, col],
  );
}

/** The text of the chain's steps. @param {Page} page */
const stepsOf = async (page) =>
  (await page.locator('.chain > li').allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());

/** As the chain writes numbers. @param {number} x */
const written = (x) => (Math.abs(x) >= 10 ? x.toFixed(3) : x.toFixed(4)).replace('-', '−');

test('a thumbnail’s cell is hatched when every pair under it is masked', () => {
  for (const [n, s] of [
    [1, 1],
    [5, 5],
    [33, 32],
    [50, 32],
    [500, 32],
    [97, 7],
  ]) {
    for (const mask of [
      { causal: true, reach: n - 1 },
      { causal: true, reach: 9 },
      { causal: false, reach: 4 },
      { causal: false, reach: n - 1 },
    ]) {
      const isHidden = blockHidden(mask, n, s);
      const cellOf = Array.from({ length: n }, (_, i) => {
        let cell = 0;
        while (Math.floor(((cell + 1) * n) / s) <= i) cell++;
        return cell;
      });
      const seen = new Set();
      for (let row = 0; row < n; row++) {
        for (let col = 0; col < n; col++)
          if (maskReason(mask, row, col) === null) seen.add(cellOf[row] * s + cellOf[col]);
      }
      for (let cell = 0; cell < s * s; cell++) {
        assert.equal(
          isHidden(Math.floor(cell / s), cell % s),
          !seen.has(cell),
          `${n} ${s} ${JSON.stringify(mask)} ${cell}`,
        );
      }
      if (hidesNothing(mask, n)) assert.equal(seen.size, s * s);
    }
  }
});

test('later tokens are hatched, in the matrix and in the thumbnails, and are no weight of 0', async () => {
  const { page, troubles } = await visitModel('llama', TEXT, '#theme=light');
  const { n, wrong, clear } = await page.evaluate(async () => {
    const view = /** @type {any} */ (document.querySelector('qkv-matrix'));
    const context = view.querySelector('.matrix-canvas').getContext('2d');
    const g = view.geometry;
    const { data, width } = context.getImageData(0, 0, context.canvas.width, context.canvas.height);
    let wrong = 0;
    for (let row = 0; row < g.n; row++) {
      for (let col = 0; col < g.n; col++) {
        const colours = new Set();
        for (let y = Math.floor(g.top + row * g.cell) + 3; y < g.top + (row + 1) * g.cell - 3; y++) {
          for (let x = Math.floor(g.left + col * g.cell) + 3; x < g.left + (col + 1) * g.cell - 3; x++) {
            const at = 4 * (y * width + x);
            colours.add(`${data[at] >> 3} ${data[at + 1] >> 3} ${data[at + 2] >> 3}`);
          }
        }
        const isHatched = colours.size > 1;
        const isChosen = row === view.place.row || col === view.place.col;
        if (!isChosen && isHatched !== col > row) wrong++;
      }
    }
    const thumbnail = /** @type {HTMLCanvasElement} */ (document.querySelector('[role=gridcell] canvas'));
    const pixels = /** @type {CanvasRenderingContext2D} */ (thumbnail.getContext('2d')).getImageData(
      0,
      0,
      thumbnail.width,
      thumbnail.height,
    ).data;
    let clear = 0;
    for (let row = 0; row < thumbnail.width; row++) {
      for (let col = 0; col < thumbnail.width; col++) {
        clear += Number((pixels[4 * (row * thumbnail.width + col) + 3] === 0) === col > row);
      }
    }
    return { n: g.n, wrong, clear };
  });
  assert.equal(wrong, 0);
  assert.equal(clear, n * n);
  assert.match((await page.locator('.head-notes').textContent()) ?? '', /masked: later tokens/);
  await chooseCell(page, 1, 3);
  await waitForStatus(page, `${await labelOf(page, 1)} → ${await labelOf(page, 3)} masked: a later token`);
  const steps = await stepsOf(page);
  assert.ok(
    steps.some((step) => /\+ \(−∞\) = −∞ ?masked: a later token/.test(step)),
    steps.join('\n'),
  );
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  assert.match(
    (await page.locator('[data-passage=row][data-index="3"]').getAttribute('aria-label')) ?? '',
    /masked: a later token$/,
  );
  await page.getByText('The weights as a table').click();
  assert.equal(await page.locator('qkv-table tbody tr').first().locator('td').nth(2).textContent(), '–');
  assert.deepEqual(troubles, []);
});

/** @param {Page} page  @param {number} i */
const labelOf = (page, i) => page.evaluate((at) => globalThis.qkv?.run?.tokens[at].text.replaceAll(' ', '·') ?? '', i);

test('the chain shows rotated queries and keys, shared heads and the engine’s numbers', async () => {
  const { page, troubles } = await visitModel('llama', TEXT, '#layer=1&head=2');
  await chooseCell(page, 5, 3);
  const truth = await page.evaluate(async () => {
    const run = /** @type {import('qkv').Run} */ (globalThis.qkv?.run);
    const at = { layer: 1, head: 2 };
    const line = async (/** @type {import('qkv').StageName} */ name, /** @type {number} */ row) => {
      const { shape, data } = await run.getStage(name, at);
      return [...data.subarray(row * shape[1], (row + 1) * shape[1])];
    };
    const value = async (/** @type {'scores' | 'scaled' | 'weights'} */ stage) =>
      (await run.getWeights(1, 2, { stage, rows: [5, 6] })).data[3];
    return {
      ...{ q: await line('q', 5), qLinear: await line('qLinear', 5), k: await line('k', 3), v: await line('v', 3) },
      ...{ score: await value('scores'), scaled: await value('scaled'), weight: await value('weights') },
    };
  });
  const strips = await page
    .locator('qkv-bars')
    .evaluateAll((all) => all.map((strip) => [.../** @type {any} */ (strip).values]));
  assert.deepEqual([strips[0], strips[1]], [truth.q, truth.k]);
  assert.notDeepEqual(truth.q, truth.qLinear);
  const d = Number(await page.getByRole('slider').first().getAttribute('aria-valuenow'));
  const steps = await stepsOf(page);
  assert.ok(steps[0].includes(`${written(truth.qLinear[d])} → q[${d}] = ${written(truth.q[d])}`), steps[0]);
  assert.match(steps[0], /Rotary positions: .* here 5\. The length stays/);
  assert.match(steps[1], /Key\/value head 0: query heads 0 to 2 share these keys/);
  assert.ok(steps[2].includes(written(truth.score)), steps[2]);
  assert.ok(steps[3].includes(`√8 = ${written(truth.score)} / 2.8284 = ${written(truth.scaled)}`), steps[3]);
  assert.match(steps[4], /an earlier token, or itself/);
  assert.equal((await page.locator('.result b').textContent()) ?? '', truth.weight.toFixed(4));
  assert.ok(steps[6].includes('values, too, are those of key/value head 0'), steps[6]);
  assert.deepEqual(troubles, []);
});

test('norm of heads, soft-cap, own scale, window and bias are told where a family has them, and only there', async () => {
  const { page } = await visitModel('qwen3', TEXT);
  await chooseCell(page, 4, 2);
  assert.match((await stepsOf(page))[0], /first normalised for its head .* then turned by its position, 4/);

  await openModel(page, folders.get('gemma2') ?? '');
  await typeText(page, TEXT);
  await chooseCell(page, 4, 2);
  const capped = await page.evaluate(async () => {
    const run = /** @type {import('qkv').Run} */ (globalThis.qkv?.run);
    const { layer, head } = /** @type {any} */ (document.querySelector('qkv-matrix')).place;
    return (await run.getWeights(layer, head, { stage: 'capped', rows: [4, 5] })).data[2];
  });
  const gemma = await stepsOf(page);
  assert.match(gemma[3], /the model’s own scale/);
  assert.ok(gemma[4].includes('soft-cap') && gemma[4].includes(written(capped)), gemma[4]);

  await openModel(page, folders.get('gpt2') ?? '');
  await typeText(page, TEXT);
  const gpt2 = (await stepsOf(page)).join('\n');
  assert.doesNotMatch(gpt2, /Rotary|soft-cap|bias for this distance|share these keys/);

  await openModel(page, folders.get('mpnet_mlm') ?? '');
  await typeText(page, 'the cat sat');
  const mpnet = (await stepsOf(page)).join('\n');
  assert.match(mpnet, /add the bias for this distance/);
  assert.doesNotMatch(mpnet, /later token/);
  assert.equal(await page.locator('.head-notes li').count(), 0);
});

test('a sliding window is told as such, and what lies outside is hatched', async () => {
  const { page } = await visitModel('mistral', 'the cat sat on the mat, the cat sat on the mat');
  const masked = await page.evaluate(async () => {
    const run = /** @type {import('qkv').Run} */ (globalThis.qkv?.run);
    const { layer } = /** @type {any} */ (document.querySelector('qkv-matrix')).place;
    const { data, cols } = await run.getWeights(layer, 0, { stage: 'masked' });
    return {
      cols,
      rows: Array.from({ length: cols }, (_, row) =>
        [...data.subarray(row * cols, (row + 1) * cols)].map((s) => s === -Infinity),
      ),
    };
  });
  const reason = await page.locator('qkv-matrix').evaluate((view) => {
    const { reasonOf, labels } = /** @type {any} */ (view);
    return labels.map((/** @type {string} */ _, /** @type {number} */ row) =>
      labels.map((/** @type {string} */ _, /** @type {number} */ col) => reasonOf(row, col)),
    );
  });
  assert.deepEqual(
    reason.map((/** @type {(string | null)[]} */ row) => row.map((one) => one !== null)),
    masked.rows,
  );
  assert.ok(reason.flat().includes('window') && reason.flat().includes('later'));
  assert.match(
    (await page.locator('.head-notes').textContent()) ?? '',
    /outside this layer’s window of \d+ tokens back/,
  );
  await chooseCell(page, masked.cols - 1, 0);
  assert.match((await statusOf(page)) ?? '', /masked: too far back$/);
});

test('the first column can be left out: the picture is renormalised and says so, the number stays', async () => {
  const { page, troubles } = await visitModel('llama', TEXT);
  await chooseCell(page, 5, 3);
  const before = await page.locator('.result b').textContent();
  await page.getByLabel(/Leave out the first token/).check();
  await page.waitForURL(/first=hidden/);
  assert.match(
    (await page.locator('.head-notes').textContent()) ?? '',
    /left out: the first token’s column; each row is divided/,
  );
  const sums = await page.locator('qkv-matrix').evaluate((view) => {
    const { weights, labels } = /** @type {any} */ (view);
    const n = labels.length;
    return labels.map((/** @type {string} */ _, /** @type {number} */ row) => {
      const line = weights.subarray(row * n, (row + 1) * n);
      return [line[0], line.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0)];
    });
  });
  sums.forEach((/** @type {number[]} */ [first, sum], /** @type {number} */ row) => {
    assert.equal(first, 0);
    assert.ok(Math.abs(sum - (row === 0 ? 0 : 1)) < 1e-5, `row ${row}: ${sum}`);
  });
  assert.equal(await page.locator('.result b').textContent(), before);
  await page.getByLabel(/Leave out the first token/).uncheck();
  assert.deepEqual(troubles, []);
});

test('tokens are readable: spaces visible, parts of a character with their bytes', async () => {
  const { page } = await visitModel('llama', 'the 京 cat');
  const labels = await page.getByLabel('From (query)').locator('option').allTextContents();
  const bare = labels.map((label) => label.replace(/[\u2068\u2069]/g, ''));
  assert.ok(bare.includes('6 ·cat'), bare.join('|'));
  assert.ok(bare.includes('3 京 ‹E4›') && bare.includes('5 京 ‹AC›'), bare.join('|'));
});
