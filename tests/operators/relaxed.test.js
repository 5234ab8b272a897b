import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { inTree } from '../api/golden.js';
import { VARIANTS } from './variants.js';

/** Node 20 has the instructions behind a flag; from 21 on the tests run both builds themselves. */
const FLAG = '--experimental-wasm-relaxed-simd';
const FILES = ['attention', 'multi_head', 'onnx', 'random', 'torch'];
const isBehindFlag = !VARIANTS.includes('relaxed') && process.versions.node.startsWith('20.');

test('the relaxed build stays within the same bounds', (t) => {
  if (!isBehindFlag) {
    assert.ok(VARIANTS.includes('relaxed'), `Node ${process.versions.node} cannot run relaxed SIMD`);
    return;
  }
  for (const file of FILES) {
    // What makes the runner of the parent read the child's output instead of a person.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [FLAG, '--test-reporter=spec', inTree(`tests/operators/${file}.test.js`)];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...env, QKV_RANDOM_CASES: '600' } });
    assert.match(output, /relaxed/, `${file} ran the relaxed build`);
    for (const line of output.split('\n').filter((one) => /worst|relaxed/.test(one))) t.diagnostic(line.trim());
  }
});
