/** The suite's page runs in Chromium what it is made for, with threads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChromium } from '../../bench/browser.js';
import { PARTS } from '../../bench/parts.js';
import { BRIEF, checkTables, namesIn } from '../bench/table_checks.js';

test('kernels and MiniLM are measured in a page', async () => {
  const parts = Object.keys(PARTS).filter((name) => PARTS[name].inPage);
  const results = [];
  for await (const result of inChromium(parts, BRIEF)) results.push(result);
  assert.deepEqual(
    results.map(({ part }) => part),
    parts,
  );
  for (const { where, report } of results) {
    assert.match(where, /^Chrome \d+$/);
    checkTables(report);
  }
  const names = results.flatMap(({ report }) => namesIn(report));
  for (const wanted of ['GEMM f32 128x384x1536, plain', 'q10, relaxed, 2 threads'])
    assert.ok(names.includes(wanted), wanted);
});

test('a part that no page can run is an error', async () => {
  await assert.rejects(async () => {
    for await (const { part } of inChromium(['sizes'], BRIEF)) assert.fail(part);
  }, /cannot run 'sizes'/);
});
