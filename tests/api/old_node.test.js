/** Under a Node that is too old: one sentence. What it lacks is taken away, since tests run in one that has it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { inTree } from './golden.js';

const OLDER = 'data:text/javascript,process.getBuiltinModule = undefined';
const SENTENCE = /^(qkv: )?qkv needs Node 20\.16 or newer.*got "\d+\.[^"]+"\. Install a newer Node\.$/;

/** @param {string[]} args */
const run = (args) =>
  promisify(execFile)(process.execPath, ['--import', OLDER, ...args], { cwd: inTree('.') }).catch((error) => error);

test('each entry of the library says which Node it needs', async () => {
  const script = `
    import { init, inspectModel, loadModel } from 'qkv';
    const calls = [init, () => loadModel('./x/y'), () => loadModel('./x/y', { worker: true }), () => inspectModel('./x/y')];
    for (const call of calls) await call().catch(({ code, message }) => console.log(code, message));
  `;
  const { stdout } = await run(['--input-type=module', '-e', script]);
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, 4);
  for (const line of lines) assert.match(line.replace(/^wasm /, ''), SENTENCE);
});

test('the command line says which Node it needs', async () => {
  const { code, stderr } = await run(['web/cli/qkv.js', 'hello', '--model', 'tests/golden/tiny/bert']);
  assert.equal(code, 1);
  assert.match(stderr.trim(), SENTENCE);
});
