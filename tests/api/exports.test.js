import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as qkv from 'qkv';
import '../fresh_dist.js';

test('the package exports these names and no others', () => {
  assert.deepEqual(Object.keys(qkv).sort(), [
    'MultiHeadAttention',
    'QkvError',
    'init',
    'inspectModel',
    'loadModel',
    'scaledDotProductAttention',
  ]);
});

test('the worker and both wasm files are reachable by their names', async () => {
  for (const name of ['qkv/worker', 'qkv/qkv.wasm', 'qkv/qkv-relaxed.wasm', 'qkv/package.json']) {
    assert.match(import.meta.resolve(name), /^file:/);
  }
});
