/** What the page shows is what the engine computed. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { shortWeight } from '../../web/page/words/short-weight.js';
import { runOf, soon, startBrowser, statusOf, waitForCell } from './visit.js';

/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/**
 * Relative luminance of canvas pixels beside the weights they stand for: how many pairs are in the wrong order.
 * @param {import('playwright-core').Page} page
 * @param {'thumbnail' | 'matrix'} which
 */
function misordered(page, which) {
  return page.evaluate(async (kind) => {
    const run = globalThis.qkv?.run;
    const view = /** @type {any} */ (document.querySelector('qkv-matrix'));
    const canvas = /** @type {HTMLCanvasElement} */ (
      kind === 'matrix' ? view.querySelector('canvas') : document.querySelector('[aria-label="Layer 3, head 1"] canvas')
    );
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const { cols: n, data } = /** @type {import('qkv').Matrix} */ (
      await /** @type {import('qkv').Run} */ (run).getWeights(3, 1)
    );
    const g = kind === 'matrix' ? view.geometry : { left: 0, top: 0, cell: 1 };
    const cells = Array.from(data, (weight, i) => {
      const x = Math.floor(g.left + ((i % n) + 0.5) * g.cell);
      const y = Math.floor(g.top + (Math.floor(i / n) + 0.5) * g.cell);
      const [red, green, blue] = context.getImageData(x, y, 1, 1).data;
      return { weight, light: 0.2126 * red + 0.7152 * green + 0.0722 * blue };
    }).sort((a, b) => a.weight - b.weight);
    const wrong = cells.filter((cell, i) => i > 0 && cell.light > cells[i - 1].light + 1.5).length;
    return { wrong, range: cells[0].light - cells[cells.length - 1].light };
  }, which);
}

test('the first sight is the head that takes "it" for the animal', async () => {
  const { page, troubles } = await browser.visit();
  await waitForCell(page, { layer: 3, head: 1, row: 10, col: 2 });
  assert.match((await statusOf(page)) ?? '', /^it → animal 0\.6[5-9]\d\d$/);
  assert.equal(await page.getByRole('gridcell').count(), 72);
  assert.equal(await page.getByRole('gridcell', { selected: true }).getAttribute('aria-label'), 'Layer 3, head 1');
  assert.deepEqual(troubles, []);
});

test('darker pixels are larger weights, in the thumbnail and in the matrix', async () => {
  const { page } = await browser.visit();
  for (const which of /** @type {const} */ (['thumbnail', 'matrix'])) {
    const { wrong, range } = await misordered(page, which);
    assert.equal(wrong, 0, which);
    assert.ok(range > 150, `${which} uses ${range} of 255 levels`);
  }
});

test('typing runs the model again, and the newest text wins', async () => {
  const { page, troubles } = await browser.visit();
  const box = page.getByRole('textbox', { name: 'Sentence' });
  await box.fill('');
  await box.pressSequentially('The lazy dog sleeps under the old tree', { delay: 5 });
  await runOf(page, 'tree');
  await page.getByRole('gridcell', { name: 'Layer 4, head 7', exact: true }).click();
  await waitForCell(page, { layer: 4, head: 7, row: 9, col: 2 });
  assert.match((await page.locator('#run-facts').textContent()) ?? '', /\d ms\s+10 tokens/);
  assert.deepEqual(troubles, []);
});

test('a composition in progress is not run, its result is', async () => {
  const { page } = await browser.visit();
  await page.getByRole('textbox', { name: 'Sentence' }).fill('');
  await page.waitForFunction(() => globalThis.qkv?.run?.tokens.length === 2);
  const input = await page.context().newCDPSession(page);
  await input.send('Input.imeSetComposition', { text: 'beijing', selectionStart: 7, selectionEnd: 7 });
  await page.waitForTimeout(400);
  assert.equal(await page.evaluate(() => globalThis.qkv?.run?.tokens.length), 2);
  await input.send('Input.insertText', { text: '北京' });
  await runOf(page, '京');
});

test('every number of the chain follows from the run', async () => {
  const { page } = await browser.visit();
  const truth = await page.evaluate(async () => {
    const run = /** @type {import('qkv').Run} */ (globalThis.qkv?.run);
    const at = { layer: 3, head: 1 };
    const line = async (/** @type {'q' | 'k' | 'context' | 'concat' | 'output'} */ name, /** @type {number} */ row) => {
      const { shape, data } = await run.getStage(name, at);
      return [...data.subarray(row * shape[1], (row + 1) * shape[1])];
    };
    const row = { rows: /** @type {[number, number]} */ ([10, 11]) };
    const scores = await run.getWeights(3, 1, { ...row, stage: 'scores' });
    const weights = await run.getWeights(3, 1, row);
    return {
      q: await line('q', 10),
      k: await line('k', 2),
      context: await line('context', 10),
      concat: await line('concat', 10),
      output: await line('output', 10),
      score: scores.data[2],
      weights: [...weights.data],
      all: [...scores.data],
    };
  });
  const shown = await page
    .locator('qkv-bars')
    .evaluateAll((strips) => strips.map((strip) => [.../** @type {any} */ (strip).values]));
  assert.deepEqual(
    [shown[0], shown[1], shown[3], shown[4], shown[5], shown[6]],
    [truth.q, truth.k, truth.weights, truth.context, truth.concat, truth.output],
  );
  const product = truth.q.reduce((sum, value, d) => sum + value * truth.k[d], 0);
  assert.ok(Math.abs(product - truth.score) < 1e-4);
  const steps = await page.locator('.chain li').allTextContents();
  assert.equal(steps.length, 9);
  assert.ok(steps[2].includes(truth.score.toFixed(3)), steps[2]);
  assert.ok(steps[3].includes((truth.score / Math.sqrt(32)).toFixed(4)), steps[3]);
  const exps = truth.all.map((score) => Math.exp((score - Math.max(...truth.all)) / Math.sqrt(32)));
  const sum = exps.reduce((a, b) => a + b);
  assert.ok(Math.abs(exps[2] / sum - truth.weights[2]) < 5e-6);
  assert.ok(steps[5].includes(sum.toFixed(4)) && steps[5].includes(truth.weights[2].toFixed(4)), steps[5]);
});

test('bars can be read one by one, and the strips read the same dimension', async () => {
  const { page } = await browser.visit();
  const query = page.getByRole('slider').first();
  await query.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  const { data } = await page.evaluate(async () => {
    const stage = await globalThis.qkv?.run?.getStage('q', { layer: 3, head: 1 });
    return { data: [...(stage?.data.subarray(10 * 32, 11 * 32) ?? [])] };
  });
  assert.equal(await query.getAttribute('aria-valuetext'), `q[1] = ${data[1].toFixed(4).replace('-', '−')}`);
  assert.equal(await page.getByRole('slider').nth(1).getAttribute('aria-valuenow'), '1');
});

test('lines and text show the same head; a focused token is shown alone with its weights', async () => {
  const { page, troubles } = await browser.visit({ hash: '#view=lines' });
  const from = page.getByRole('listbox', { name: 'From (query)' });
  await from.getByRole('option', { name: 'it', exact: false }).nth(0).focus();
  const right = page.getByRole('listbox', { name: 'To (key)' }).getByRole('option').nth(2);
  assert.match((await right.textContent()) ?? '', /animal\s*0\.6\d/);
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const animal = page.locator('[data-passage=row][data-index="2"]');
  assert.match((await animal.getAttribute('aria-label')) ?? '', /^animal 0\.6\d$/);
  assert.deepEqual(troubles, []);
});

test('two decimals never look exact where they are not', () => {
  const weights = [0, 0.0038, 0.00499, 0.005, 0.9949, 0.996, 1];
  assert.deepEqual(weights.map(shortWeight), ['0', '<0.01', '<0.01', '0.01', '0.99', '>0.99', '1']);
});

test('tokens written from right to left keep their places beside the arrow and the number', async () => {
  const hash = `#text=${encodeURIComponent('שלום עולם hello')}&row=0&col=2`;
  const { page, troubles } = await browser.visit({ hash });
  await waitForCell(page, { layer: 3, head: 1, row: 0, col: 2 });
  assert.match((await statusOf(page)) ?? '', /^\[CLS\] → ##ל 0\.\d{4}$/);
  const order = await page.getByRole('status').evaluate((line) => {
    const texts = [...line.childNodes].filter((node) => node.nodeName !== '#comment' && node.textContent?.trim());
    return texts.map((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return { text: node.textContent?.trim(), left: range.getBoundingClientRect().left };
    });
  });
  assert.equal(order.length, 4);
  assert.deepEqual(
    order.toSorted((a, b) => a.left - b.left).map(({ text }) => text),
    order.map(({ text }) => text),
  );
  const bare = await page.evaluate(() => {
    const walker = document.createTreeWalker(document.querySelector('.panes') ?? document, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const fenced = node.parentElement?.closest('bdi, .visually-hidden') || node.textContent?.includes('\u2068');
      if (/\p{Script=Hebrew}/u.test(node.textContent ?? '') && !fenced) found.push(node.textContent);
    }
    return found;
  });
  assert.deepEqual(bare, []);
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const first = page.locator('[data-passage=row][data-index="1"]');
  const second = page.locator('[data-passage=row][data-index="2"]');
  assert.ok(((await first.boundingBox())?.x ?? 0) > ((await second.boundingBox())?.x ?? Infinity));
  await page.locator('[data-passage=row][data-index="0"]').focus();
  await page.keyboard.press('ArrowLeft');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-index')), '1');
  assert.deepEqual(troubles, []);
});

test('a click in the matrix chooses the cell under it, also when zoomed', async () => {
  const { page } = await browser.visit();
  const canvas = page.locator('.matrix-canvas');
  const clickCell = async (/** @type {number} */ row, /** @type {number} */ col) => {
    const position = await page.locator('qkv-matrix').evaluate(
      (view, cell) => {
        const g = /** @type {any} */ (view).geometry;
        return { x: g.left + (cell.col + 0.5) * g.cell - g.panX, y: g.top + (cell.row + 0.5) * g.cell - g.panY };
      },
      { row, col },
    );
    await canvas.click({ position });
    await waitForCell(page, { layer: 3, head: 1, row, col });
  };
  await clickCell(6, 8);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await clickCell(5, 7);
});

test('findings name a behaviour with its score, and lead to the head', async () => {
  const { page } = await browser.visit();
  const stats = await page.evaluate(async () => (await globalThis.qkv?.run?.overview({ size: 32 }))?.stats);
  const best = stats?.reduce((a, b) => (b.previous > a.previous ? b : a));
  const row = page.locator('.finding').first();
  assert.match((await row.textContent()) ?? '', /previous token/);
  assert.ok((await row.textContent())?.endsWith(shortWeight(best?.previous ?? Number.NaN)));
  await row.click();
  await page.getByRole('heading', { name: `Layer ${best?.layer}, head ${best?.head}` }).waitFor();
});

test('a text that is too long says how much of it was left out', async () => {
  const { page, troubles } = await browser.visit();
  await page.getByRole('textbox', { name: 'Sentence' }).fill('word '.repeat(10_000));
  await page.waitForFunction(() => globalThis.qkv?.run?.tokens.length === 256);
  const note = await page.locator('.notes').textContent();
  assert.match(note ?? '', /10,002 tokens.*256.*9,746/);
  assert.equal(await page.getByRole('gridcell').count(), 72);
  assert.deepEqual(troubles, []);
});

test('an empty sentence, and words the model does not know, are said', async () => {
  const { page, troubles } = await browser.visit({ hash: '#text=' });
  assert.match((await page.locator('.notes').textContent()) ?? '', /sentence is empty/);
  await page.getByRole('textbox', { name: 'Sentence' }).fill('我爱北京天安门');
  await runOf(page, '[UNK]');
  const unknown = await page.evaluate(
    () => globalThis.qkv?.run?.tokens.filter((token) => token.text === '[UNK]').length,
  );
  assert.match((await page.locator('.notes').textContent()) ?? '', new RegExp(`\\[UNK\\]: ${unknown}\\.`));
  assert.deepEqual(troubles, []);
});

test('presets show what they were chosen for', async () => {
  const { page, troubles } = await browser.visit();
  const buttons = page.locator('.try button');
  for (let i = 0; i < (await buttons.count()); i++) {
    const before = await page.evaluate(() => globalThis.qkv?.run?.tokens.map((token) => token.text).join(' '));
    await buttons.nth(i).click();
    if (i > 0) {
      await page.waitForFunction((old) => {
        const tokens = globalThis.qkv?.run?.tokens;
        return tokens && tokens.map((token) => token.text).join(' ') !== old;
      }, before);
    }
    await soon(async () => {
      const weight = Number((await statusOf(page))?.split(' ').at(-1));
      assert.ok(weight > 0.45, `${await buttons.nth(i).textContent()}: ${await statusOf(page)}`);
    });
  }
  assert.deepEqual(troubles, []);
});
