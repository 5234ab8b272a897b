import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inTree } from '../api/golden.js';

const examples = [...readFileSync(inTree('docs/attention.md'), 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(
  ([, code]) => code,
);

/** What an example says it prints: comments behind console.log, and comments at its end. @param {string} code */
function promised(code) {
  const behind = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
  return [...behind, ...[...code.matchAll(/^\/\/ (.*)$/gm)].map(([, text]) => text)];
}

test('docs/attention.md has examples', () => assert.ok(examples.length >= 5));

examples.forEach((code, index) => {
  test(`example ${index + 1} of docs/attention.md prints what it says`, () => {
    // Inside the tree, where the package knows its own name.
    const folder = inTree('build/documentation');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `example_${index + 1}.mjs`);
    writeFileSync(file, code);
    const printed = execFileSync(process.execPath, [file], { encoding: 'utf8' }).trimEnd().split('\n');
    assert.ok(printed.length > 0);
    assert.deepEqual(printed, promised(code));
  });
});
