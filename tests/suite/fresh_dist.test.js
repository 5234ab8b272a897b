/** A stale build says so instead of answering for code that is no longer there. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { sourceFiles } from '../lint/sources.js';
import { freshLibrary } from '../fresh_dist.js';
import { ROOT } from './parts.js';

test('a dist/ older than any file of web/lib is refused in one sentence', () => {
  const root = mkdtempSync(join(tmpdir(), 'qkv-'));
  const write = (/** @type {string} */ path, /** @type {number} */ seconds) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
    utimesSync(join(root, path), seconds, seconds);
  };
  try {
    write('web/lib/index.js', 100);
    write('web/lib/formats/json.js', 200);
    assert.throws(() => freshLibrary(root), /^Error: dist\/ is missing: run \.\/build\.sh library$/);
    write('dist/index.js', 199);
    assert.throws(() => freshLibrary(root), /^Error: dist\/ is older than web\/lib: run \.\/build\.sh library$/);
    write('dist/index.js', 200);
    freshLibrary(root);
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** What a file imports, through all that it imports itself. @param {string} file @param {Set<string>} seen */
function importsOf(file, seen = new Set()) {
  if (seen.has(file)) return seen;
  seen.add(file);
  if (!file.startsWith('tests/')) return seen;
  for (const [, name] of readFileSync(join(ROOT, file), 'utf8').matchAll(/^(?:import|export|\})[^'\n]*'([^']+)';$/gm)) {
    importsOf(name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), name)) : name, seen);
  }
  return seen;
}

test('every test of the library by its name looks whether it is fresh', () => {
  const users = sourceFiles(['tests'], /\.js$/).map((file) => ({ file, imports: importsOf(file) }));
  const ofLibrary = users.filter(({ imports }) => imports.has('qkv'));
  assert.ok(ofLibrary.length > 30, `${ofLibrary.length}`);
  const unaware = ofLibrary.filter(({ imports }) => !imports.has('tests/fresh_dist.js')).map(({ file }) => file);
  assert.deepEqual(unaware, []);
});
