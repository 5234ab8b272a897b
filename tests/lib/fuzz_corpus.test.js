/** Everything that fuzzing found worth keeping, once more, and a few hundred new inputs for each parser, the same every time. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { bytesOf } from '../fuzz/js/inputs.js';
import { outcomeOf } from '../fuzz/js/outcome.js';
import { shrinkInput } from '../fuzz/js/shrink_input.js';
import { TARGETS } from '../fuzz/js/targets.js';
import { runWatched } from '../fuzz/js/watched.js';

const SEED = 5;
const BATCHES = 2;

for (const name of TARGETS.keys()) {
  test(`${name}: what is kept and what is made of it is read or refused, soon and in little memory`, async () => {
    const { report, stopped } = await runWatched(name, {
      seed: SEED,
      batches: BATCHES,
      seconds: Infinity,
      keepIn: null,
    });
    assert.equal(stopped, null);
    assert.deepEqual(report?.failures, []);
    assert.ok(report.replayed >= 10, `${report.replayed} files in the corpus`);
    assert.equal(report.runs, 100 * BATCHES);
  });
}

/** @param {(bytes: Uint8Array) => string} check */
const targetOf = (check) => ({ name: 'x', seeds: [], isJson: true, inputs: () => assert.fail(), check });

test('what is no error of the library, or takes too long, is a failure', async () => {
  const thrown = await outcomeOf(
    targetOf(() => {
      throw new TypeError('of no property');
    }),
    bytesOf('x'),
  );
  assert.match(thrown.failure ?? '', /TypeError: of no property/);
  const slow = await outcomeOf(
    targetOf(() => {
      const start = process.cpuUsage();
      for (let used = { user: 0, system: 0 }; used.user + used.system < 2e5; ) used = process.cpuUsage(start);
      return '';
    }),
    bytesOf('x'),
    1e5,
  );
  assert.equal(slow.failure, 'takes too long');
  assert.equal(
    (
      await outcomeOf(
        targetOf(() => 'so'),
        bytesOf('x'),
      )
    ).line,
    'taken: so',
  );
});

test('an input is made smaller as long as the same comes of it', async () => {
  const bytes = bytesOf(JSON.stringify({ a: [1, 2, { deep: 'x', other: 'y' }], b: 'z', c: { d: null } }));
  const small = await shrinkInput(bytes, true, async (one) => new TextDecoder().decode(one).includes('"x"'));
  assert.equal(new TextDecoder().decode(small), '"x"');
});
