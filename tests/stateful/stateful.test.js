/** Programs over the public API in an order nobody meant, each in comparison with a model that is alone: those that once went
 * wrong, and random ones. They run in a process of their own, where errors that nobody catches are counted. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KEPT } from './kept.js';

const RUN = fileURLToPath(new URL('run.js', import.meta.url));

/** @param {string[]} args @returns {Promise<{ text: string, code: number | null }>} */
function run(args) {
  const child = spawn(process.execPath, ['--expose-gc', RUN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const hear = (/** @type {Buffer} */ piece) => {
    text += piece;
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  return new Promise((resolve) => child.on('close', (code) => resolve({ text, code })));
}

const kept = run(['--kept']);
for (const name of Object.keys(KEPT)) {
  test(name, async () => {
    const { text } = await kept;
    assert.ok(text.split('\n').includes(`right: ${name}`), text);
  });
}

/** Some 20 seconds of work; `./build.sh fuzz` goes on from other seeds. */
const RANDOM = [
  { name: 'of one thread', args: ['--seed', '1', '--programs', '250'], programs: 250 },
  { name: 'with models in workers', args: ['--seed', '1', '--programs', '60', '--workers'], programs: 60 },
];
for (const { name, args, programs } of RANDOM) {
  test(`random programs ${name} are answered as by models alone, and give all back`, async () => {
    const { text, code } = await run(args);
    assert.equal(code, 0, text);
    assert.match(text, new RegExp(`, ${programs} programs, \\d+ steps, \\d{3,} calls, 0 failures`));
  });
}
