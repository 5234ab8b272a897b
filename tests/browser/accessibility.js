/** What axe finds wrong with a page as it stands. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious and critical violations, a line each. @param {import('playwright-core').Page} page @returns {Promise<string[]>} */
export async function accessibilityFaults(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (globalThis).axe.run();
    return violations
      .filter((/** @type {any} */ violation) => ['serious', 'critical'].includes(violation.impact))
      .map(
        (/** @type {any} */ violation) =>
          `${violation.id}: ${violation.nodes[0].html} ${violation.nodes[0].failureSummary}`,
      );
  });
}
