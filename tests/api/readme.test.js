// What the README shows is run as it stands there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);

test("the README's lines of JavaScript print what their comments say", () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const block = /```js\n([\s\S]*?)```/.exec(readme)?.[1];
  assert.ok(block, 'README.md has a block of JavaScript');
  assert.ok(block.trim().split('\n').length <= 12, 'about ten lines');
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block], {
    cwd: fileURLToPath(root),
    encoding: 'utf8',
  });
  assert.equal(printed, 'animal\n[ 16, 32 ] 384\n');
});

test('every file that the README links to is there', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link]) => link);
  assert.ok(links.length >= 5);
  for (const link of links) assert.doesNotThrow(() => readFileSync(new URL(link, root)), link);
});
