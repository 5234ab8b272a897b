import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { resolveModel } from '../../../web/lib/families/index.js';
import { CONFIGS } from './family_configs.js';
import { changed, hostileChanges } from './hostile_configs.js';

const NUMBERS = [
  'layers',
  'heads',
  'kv_heads',
  'head_dim',
  'width',
  'ffn',
  'vocab',
  'context',
  'norm_eps',
  'embed_scale',
];

for (const [type, config] of Object.entries(CONFIGS)) {
  test(`any config of ${type} is refused by a QkvError, or gives finite numbers and lists as long as they must be`, () => {
    fc.assert(
      fc.property(hostileChanges(config), (changes) => {
        /** @type {ReturnType<typeof resolveModel>} */
        let resolved;
        try {
          resolved = resolveModel(changed(config, changes), 'config.json');
        } catch (error) {
          assert.ok(error instanceof QkvError, `${error instanceof Error ? error.stack : error}`);
          assert.match(error.message, /^config\.json/);
          assert.ok(error.message.length < 400, error.message);
          return;
        }
        const engine = /** @type {Record<string, unknown>} */ (resolved.engine);
        for (const name of NUMBERS) assert.ok(Number.isFinite(engine[name]), `${name} ${engine[name]}`);
        assert.ok(resolved.engine.context > 0, `context ${resolved.engine.context}`);
        for (const list of [resolved.engine.scales, resolved.engine.rope_frequencies]) {
          assert.ok(list?.every((one) => Number.isFinite(one)) ?? true, `${list}`);
        }
        for (const list of [engine.windows, engine.scales, engine.rope_of_layer]) {
          if (ArrayBuffer.isView(list)) assert.equal(list.byteLength, 4 * resolved.engine.layers);
        }
        const { mapTensor } = resolved.layout(['lm_head.weight', '__proto__', '']);
        assert.equal(mapTensor('__proto__'), null);
      }),
      { seed: 8, numRuns: 400 },
    );
  });
}
