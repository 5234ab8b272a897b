/** What an engine with threads holds is given back: address space of 4 GiB and more for each, so a page that makes engines
 * and disposes of them would run out of it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { inTree } from './golden.js';

const ENGINES = 4;
/** Rounds of collecting: a thread that was ended lets go only when it is gone. */
/** So many only where the memory is held for good. */
const ROUNDS = 2000;

/**
 * A process that makes engines and tells how many of their memories are still held when it has collected garbage.
 * @param {'disposed' | 'forgotten'} ending
 * @returns {{ made: number, held: number, threads: number }}
 */
function countHeld(ending) {
  const script = `
    const { Memory } = WebAssembly;
    const memories = [];
    WebAssembly.Memory = class extends Memory {
      constructor(limits) {
        super(limits);
        memories.push(new WeakRef(this));
      }
    };
    const { init } = await import('qkv');
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const held = () => memories.filter((memory) => memory.deref() !== undefined).length;
    let threads = 0;
    async function makeOne() {
      const engine = await init({ threads: 2 });
      threads += engine.info.threads;
      if ('${ending}' === 'disposed') engine.dispose();
    }
    for (let i = 0; i < ${ENGINES}; i++) await makeOne();
    for (let i = 0; i < ${ROUNDS} && held() > 0; i++) {
      // What was looked at stays until the end of the turn.
      await pause();
      gc();
      await pause();
    }
    console.log(JSON.stringify({ made: memories.length, held: held(), threads }));`;
  const args = ['--expose-gc', '--input-type=module', '-e', script];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: inTree(''), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

for (const ending of /** @type {const} */ (['disposed', 'forgotten'])) {
  test(`the memory of engines with threads that were ${ending} is given back`, () => {
    assert.deepEqual(countHeld(ending), { made: ENGINES, held: 0, threads: 2 * ENGINES });
  });
}
