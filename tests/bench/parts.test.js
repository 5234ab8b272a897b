// Every case of the suite runs, in a process of its own as ./build.sh bench runs it. Nothing is said about its time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeAt } from '../../bench/nodes.js';
import { PARTS } from '../../bench/parts.js';
import { runtime } from '../../bench/runtime.js';
import { BRIEF, checkTables, namesIn } from './table_checks.js';

/** What must be among the first cells of each part's rows. @type {Record<string, RegExp[]>} */
const WANTED = {
  kernels: [
    /^probe mul_add/,
    /^probe dot_add/,
    /^probe read_/,
    /^GEMM f32 128x/,
    /^GEMM q10 8x/,
    /^GEMV q8/,
    /^softmax/,
  ],
  minilm: [/^f32, \w+, one thread$/, /^q10, \w+, one thread$/, /^q8, \w+, 2 threads$/],
  inspection: [/^getWeights, one head/, /^getWeights, the row/],
  decode: [/^q8, \w+, one thread$/, /^q8, \w+, 2 threads$/],
  attention: [/^plain, one thread$/, /^plain, 2 threads$/, /^plain loop$/],
  growth: [/^64$/, /^128$/],
  loading: [/^MiniLM, f32 -> q8$/, /^f32, 16 tokens$/],
  memory: [/^MiniLM, f32/],
  sizes: [/^dist\/qkv\.wasm$/, /^page without model/, /^npm package, packed$/],
};

for (const part of Object.keys(PARTS)) {
  test(`${part} measures all that it names`, async () => {
    const results = [];
    for await (const result of nodeAt(process.execPath)([part], BRIEF)) results.push(result);
    assert.deepEqual(
      results.map((result) => [result.part, result.where]),
      [[part, runtime()]],
    );
    const [{ report }] = results;
    checkTables(report);
    const names = namesIn(report);
    for (const wanted of WANTED[part])
      assert.ok(
        names.some((name) => wanted.test(name)),
        `${wanted} in ${names}`,
      );
  });
}

test('a part that fails is not passed over', async () => {
  const program = nodeAt(process.execPath);
  await assert.rejects(async () => {
    for await (const result of program(['attention'], { ...BRIEF, peers: '/nowhere' })) assert.fail(result.part);
  }, /stopped before it had measured attention/);
});
