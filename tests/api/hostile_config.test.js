/** Weights with a config that was tampered with: an error that says what, or a model that runs; never a crash, and never
 * memory that the file does not justify. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { init, loadModel, QkvError } from 'qkv';
import { casesOf, filesOf } from '../golden_case.js';
import { changed, hostileChanges } from '../lib/families/hostile_configs.js';
import { inTree } from './golden.js';

const CASES = casesOf(inTree('tests/golden'));
const MOST_MEMORY = 64e6;

for (const name of new Map(CASES.map((one) => [one.family, one.case])).values()) {
  test(`${name} with any config loads and runs, or is refused by a QkvError`, async () => {
    const engine = await init();
    const files = filesOf(inTree(`tests/golden/tiny/${name}`), 'config.json');
    const config = JSON.parse(new TextDecoder().decode(files['config.json']));
    let refused = 0;
    const attempt = fc.asyncProperty(hostileChanges(config), async (changes) => {
      const bytes = new TextEncoder().encode(JSON.stringify(changed(config, changes)));
      try {
        const model = await loadModel({ ...files, 'config.json': bytes }, { engine });
        const run = await model.forward({ ids: [0, 1, 2].slice(0, model.info.maxTokens) });
        await run.getWeights(model.info.layers - 1, 0);
        model.dispose();
      } catch (error) {
        assert.ok(error instanceof QkvError, `${error instanceof Error ? error.stack : error}`);
        assert.ok(!['crash', 'state', 'worker'].includes(error.code), error.message);
        refused++;
      }
      const { reserved, used } = engine.memory();
      assert.ok(used < 1000 && reserved < MOST_MEMORY, `${used} used, ${reserved} reserved`);
    });
    await fc.assert(attempt, { numRuns: 60 });
    assert.ok(refused > 0);
    engine.dispose();
  });
}
