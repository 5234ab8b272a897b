/** One signal for many calls at once: each of them ends with it, and nothing is left on it. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { qkvError } from './golden.js';
import { tinyFiles } from './tiny_model.js';

const MANY = 30;
/** @type {Error[]} */
const warnings = [];
process.on('warning', (warning) => warnings.push(warning));

for (const worker of [false, true]) {
  const where = worker ? 'in a worker' : 'in this thread';

  test(`${MANY} calls ${where} share what listens to their signal`, async () => {
    const model = await loadModel(tinyFiles(), { worker });
    const { signal } = new AbortController();
    const calls = Array.from({ length: MANY }, () => model.forward({ ids: [1, 2, 3] }, { signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await Promise.all(calls);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await new Promise((told) => setImmediate(told));
    assert.deepEqual(warnings, []);
    model.dispose();
  });

  test(`an abort ends all calls ${where} that have the signal`, async () => {
    const model = await loadModel(tinyFiles(), { worker });
    const [one, other] = [new AbortController(), new AbortController()];
    const ids = [1, 2, 3];
    const calls = Array.from({ length: MANY }, () => model.forward({ ids }, { signal: one.signal }));
    const kept = model.forward({ ids }, { signal: other.signal });
    one.abort();
    for (const call of calls) await assert.rejects(call, qkvError('aborted'));
    assert.deepEqual((await kept).lengths, [3]);
    model.dispose();
  });
}
