/** How the tests read the sandbox: the sheets on the screen, and the same chain in float64 from the sheets that go in. */
import assert from 'node:assert/strict';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{ rows: number, cols: number, values: number[], texts: string[] }} Seen */

/** @param {Page} page */
export async function sandboxOf(page) {
  await page.waitForFunction(() => document.querySelectorAll('qkv-sheet').length > 5);
}

/**
 * Every sheet on the screen by its name.
 * @param {Page} page
 * @returns {Promise<Record<string, Seen>>}
 */
export async function readSheets(page) {
  return page.evaluate(async () => {
    /** @type {Record<string, Seen>} */
    const seen = {};
    for (const element of document.querySelectorAll('qkv-sheet')) {
      const sheet = /** @type {import('../../web/page/views/number-sheet.js').NumberSheet} */ (element);
      await sheet.updateComplete;
      const [rows, cols] = sheet.shape;
      const texts = [...sheet.querySelectorAll('td[role=gridcell]')].map((cell) => cell.textContent ?? '');
      seen[sheet.name] = { rows, cols, values: [...sheet.values], texts };
    }
    return seen;
  });
}

/** @param {Page} page  @param {string} name */
export const sheetOf = (page, name) =>
  page.getByRole('grid', { name: new RegExp(`^${name.replace(/[\^(]/g, '\\$&')}, `) });

/** @param {Page} page  @param {string} name  @param {number} row  @param {number} col */
export const cellOf = (page, name, row, col) => sheetOf(page, name).locator(`[data-row="${row}"][data-col="${col}"]`);

/**
 * @param {number[]} a [n, k]
 * @param {number[]} b [k, m]
 * @param {number} k
 */
function product(a, b, k) {
  const n = a.length / k;
  const m = b.length / k;
  const c = new Array(n * m).fill(0);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) for (let d = 0; d < k; d++) c[i * m + j] += a[i * k + d] * b[d * m + j];
  }
  return c;
}

/**
 * The chain in float64, from the formulas.
 * @param {Record<string, Seen>} sheets those that go in
 * @param {{ heads: number, scaled: boolean, temperature: number, mask: string }} options
 */
export function recompute(sheets, { heads, scaled, temperature, mask }) {
  const { X, W_Q, W_K, W_V, W_O } = sheets;
  const source = sheets.Y ?? X;
  const [n, m, width] = [X.rows, source.rows, X.cols];
  const dk = width / heads;
  const q = product(X.values, W_Q.values, width);
  const k = product(source.values, W_K.values, width);
  const v = product(source.values, W_V.values, width);
  const concat = new Array(n * width).fill(0);
  const perHead = Array.from({ length: heads }, (_, head) => {
    const scores = [];
    const masked = [];
    const weights = [];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < m; j++) {
        let sum = 0;
        for (let d = head * dk; d < (head + 1) * dk; d++) sum += q[i * width + d] * k[j * width + d];
        scores.push(sum);
        masked.push(sheets[mask].values[i * m + j] ? sum / ((scaled ? Math.sqrt(dk) : 1) * temperature) : -Infinity);
      }
      const row = masked.slice(i * m);
      const most = Math.max(...row);
      const exps = row.map((s) => (s === -Infinity ? 0 : Math.exp(s - most)));
      const total = exps.reduce((a, b) => a + b, 0);
      for (let j = 0; j < m; j++) {
        const weight = total === 0 ? 0 : exps[j] / total;
        weights.push(weight);
        for (let d = head * dk; d < (head + 1) * dk; d++) concat[i * width + d] += weight * v[j * width + d];
      }
    }
    return { scores, masked, weights };
  });
  return { q, k, v, perHead, concat, output: product(concat, W_O.values, width), dk };
}

/**
 * @param {string} what
 * @param {number[]} got
 * @param {number[]} want
 */
export function near(what, got, want) {
  assert.equal(got.length, want.length, what);
  const most = want.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, Math.abs(b)) : a), 1);
  got.forEach((value, i) => {
    if (want[i] === -Infinity) assert.equal(value, -Infinity, `${what}[${i}]`);
    else assert.ok(Math.abs(value - want[i]) <= 1e-5 * most, `${what}[${i}]: ${value}, wanted ${want[i]}`);
  });
}

/** The digits in the cells say the same as the numbers. @param {string} what  @param {Seen} seen  @param {number[]} want */
export function shownNear(what, { texts }, want) {
  texts.forEach((text, i) => {
    const masked = want[i] === -Infinity;
    if (masked) assert.equal(text, '−∞', what);
    const value = Number(text.replaceAll('−', '-'));
    const half = Math.abs(want[i]) >= 100 ? 0.6 : 0.00501;
    assert.ok(
      masked || (text !== '' && Math.abs(value - want[i]) <= half),
      `${what}[${i}]: shows ${text}, wanted ${want[i]}`,
    );
  });
}

const PLAIN = { heads: 1, scaled: true, temperature: 1, mask: 'Mask' };

/** Compares all that is on the screen. @param {import('playwright-core').Page} page  @param {Partial<typeof PLAIN>} [options]  @param {number} [head] */
export async function check(page, options = {}, head = 0) {
  const all = { ...PLAIN, ...options };
  const seen = await readSheets(page);
  const want = recompute(seen, all);
  const { scores, masked, weights } = want.perHead[head];
  const name = (/** @type {string} */ one) => (all.heads > 1 ? `${one}^${head}` : one);
  const raised = '⁰¹²³⁴⁵⁶⁷'[head];
  /** @type {[string, number[]][]} */
  const pairs = [
    ['Q', want.q],
    ['K', want.k],
    ['V', want.v],
    [all.heads > 1 ? `Q${raised}K${raised}ᵀ` : 'QKᵀ', scores],
    [name('S'), scores.map((s) => s / ((all.scaled ? Math.sqrt(want.dk) : 1) * all.temperature))],
    [name('S′'), masked],
    [name('A'), weights],
    ['Z', want.concat],
    ['output', want.output],
  ];
  for (const [what, numbers] of pairs) {
    assert.ok(seen[what], `there is ${what} among ${Object.keys(seen)}`);
    near(what, seen[what].values, numbers);
    shownNear(what, seen[what], numbers);
  }
  return { seen, want };
}
