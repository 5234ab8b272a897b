/** Faults stay pinned: to the code of today, and through any layout. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../suite/parts.js';
import { MUTANTS, pathOf, titleOf } from './mutants.js';
import { placesOf, withFault } from './pin.js';

test('the code of every fault stands once in its file, and no two faults have one title', () => {
  const lost = MUTANTS.filter(
    (mutant) => placesOf(readFileSync(join(ROOT, pathOf(mutant)), 'utf8'), mutant.line).length !== 1,
  );
  assert.deepEqual(
    lost.map((mutant) => `${titleOf(mutant)}: not once in ${mutant.file}: ${mutant.line}`),
    [],
  );
  assert.equal(new Set(MUTANTS.map(titleOf)).size, MUTANTS.length);
});

test('a fault is found whatever the formatter did, and replaces the code alone', () => {
  const fault = { file: 'x', line: "if (f(a, 'b')) return [1, 2];", becomes: 'return [];' };
  for (const layout of [
    "if (f(a, 'b')) return [1, 2];",
    'if (f(a, "b"))\n    return [1, 2];',
    "if (\n  f(\n    a,\n    'b',\n  )\n)\n  return [\n    1,\n    2,\n  ];",
  ]) {
    assert.equal(withFault(`let x;\n${layout}\nlet y;`, fault), 'let x;\nreturn [];\nlet y;');
  }
});

test('code that is not there, or there twice, is an error', () => {
  const fault = { file: 'x.js', line: 'a = b;', becomes: 'a = c;' };
  assert.throws(() => withFault('aa = b; a = bb;', fault), /0 times in x\.js/);
  assert.throws(() => withFault('a = b; a\n=\nb;', fault), /2 times in x\.js/);
});
