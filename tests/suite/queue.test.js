/** The test run itself: what counts as a check and as a failure, and in which order jobs run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { choose, needsOf } from './choose.js';
import { countsOf, verdictOf } from './counts.js';
import { PARTS, ROOT } from './parts.js';
import { startProgress } from './progress.js';
import { runQueue } from './queue.js';

/** @typedef {import('./parts.js').Job} Job */

test('checks are counted as the programs tell them', () => {
  const spec = 'ℹ tests 9\nℹ suites 0\nℹ pass 6\nℹ fail 2\nℹ cancelled 1\nℹ skipped 0\n';
  assert.deepEqual(countsOf(spec), { passed: 6, failed: 3 });
  const ctest =
    '12: append: 7012 passed, 0 failed\n12: arena: 14 passed, 1 failed\n100% tests passed, 0 tests failed out of 2\n';
  assert.deepEqual(countsOf(ctest), { passed: 7026, failed: 1 });
  assert.deepEqual(countsOf('biome: 300 checks\ntypes: 4 checks\n'), { passed: 304, failed: 0 });
});

test('a program that fails, that ends early or that checks nothing is a failure, whatever it writes', () => {
  const output = 'ℹ pass 6\nℹ fail 0\n';
  assert.deepEqual(verdictOf({ status: 0, output }), { passed: 6, failed: 0 });
  assert.deepEqual(verdictOf({ status: 1, output }), { passed: 6, failed: 1 });
  assert.deepEqual(verdictOf({ status: null, output }), { passed: 6, failed: 1 });
  assert.deepEqual(verdictOf({ status: 0, output: '' }), { passed: 0, failed: 1 });
  assert.deepEqual(verdictOf({ status: 0, output: 'ℹ pass 0\nℹ fail 0\n' }), { passed: 0, failed: 1 });
  assert.deepEqual(verdictOf({ status: 0, output: 'ℹ pass 6\nℹ fail 2\n' }), { passed: 6, failed: 2 });
  assert.deepEqual(verdictOf({ status: 0, output: '', isBuild: true }), { passed: 0, failed: 0 });
  assert.deepEqual(verdictOf({ status: 2, output: '', isBuild: true }), { passed: 0, failed: 1 });
});

/**
 * @param {string} name  @param {number} seconds  @param {string} [after]
 * @returns {Job & { seconds: number }}
 */
const job = (name, seconds, after) => ({ part: 'one', name, command: [], seconds, ...(after && { after }) });

/** Runs jobs that end when others begin or nothing is left to wait for. @param {ReturnType<typeof job>[]} jobs  @param {string[]} [failing] */
async function order(jobs, failing = []) {
  /** @type {string[]} */
  const events = [];
  let running = 0;
  let most = 0;
  await runQueue(jobs, {
    slots: 2,
    secondsOf: ({ name }) => jobs.find((one) => one.name === name)?.seconds ?? 0,
    onStart: ({ name }) => {
      most = Math.max(most, ++running);
      events.push(name);
    },
    run: async ({ name }) => {
      for (let turn = 0; turn < (jobs.find((one) => one.name === name)?.seconds ?? 0); turn++) await null;
      running--;
      return { passed: 1, failed: failing.includes(name) ? 1 : 0, seconds: 1, output: '' };
    },
    onEnd: ({ name }, { failed }) => {
      if (failed > 0) events.push(`${name} failed`);
    },
  });
  return { events, most };
}

test('long jobs begin first, two at a time, and a build counts with what waits for it', async () => {
  const { events, most } = await order([
    job('a', 5),
    job('b', 40),
    job('build', 3),
    job('c', 10),
    job('late', 90, 'build'),
  ]);
  assert.deepEqual(events, ['build', 'b', 'late', 'c', 'a']);
  assert.equal(most, 2);
});

test('what comes after a failure is not run, and fails', async () => {
  const { events } = await order([job('build', 3), job('tests', 90, 'build'), job('a', 5)], ['build']);
  assert.deepEqual(events, ['build', 'a', 'build failed', 'tests failed']);
});

test('a part is itself, a file is one job, a folder its files, and what is not there is told with what is', () => {
  assert.deepEqual(new Set(choose([]).map(({ part }) => part)), new Set(Object.keys(PARTS)));
  assert.deepEqual(
    choose(['lint']).map(({ name }) => name),
    ['lint'],
  );
  assert.deepEqual(
    choose([join(ROOT, 'tests/suite/queue.test.js')]).map(({ name }) => name),
    ['tests/suite/queue.test.js'],
  );
  assert.ok(choose([join(ROOT, 'tests/lib')]).every(({ name }) => name.startsWith('tests/lib/')));
  assert.throws(
    () => choose(['nodes']),
    /^Error: there is no part nodes; the parts are lint, package, native, .* and quick/,
  );
  assert.throws(() => choose(['src/run.c']), /no test file of JavaScript at src\/run\.c/);
  assert.deepEqual(needsOf(['lint']), ['shellcheck']);
  assert.ok(!needsOf(['quick']).includes('chromium'));
  assert.ok(needsOf([]).includes('chromium'));
});

test('the mutants wait for the native build, which comes along', () => {
  const jobs = choose(['mutants']);
  assert.ok(jobs.some(({ name, isBuild }) => name === 'native build' && isBuild));
  assert.ok(jobs.every(({ after, isBuild }) => isBuild || after === 'native build'));
});

test('progress is a line for each part in a log, and one line on a terminal', () => {
  const jobs = [job('a', 1), job('b', 1)];
  for (const isTTY of [false, true]) {
    let text = '';
    const write = (/** @type {string} */ more) => {
      text += more;
    };
    const progress = startProgress(jobs, { isTTY, columns: 60, write });
    for (const one of jobs) {
      progress.started(one);
      progress.ended(one);
    }
    progress.stop();
    assert.match(text, /\[ +\d+ s\] one done/);
    assert.equal(text.includes('\r'), isTTY);
    assert.equal(text.split('\n').length - 1, isTTY ? 0 : 1);
  }
});

/** The logs of a run in a run are not to stand in for those of the outer one. */
const QKV_LOGS = join(ROOT, 'build/log/inner');

test('the program ends with what it counted alone on a line, and with 1 for what it does not know', () => {
  const run = (/** @type {string[]} */ ...words) =>
    spawnSync(process.execPath, ['tests/run.js', ...words], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, QKV_LOGS },
    });
  const { status, stdout } = run('tests/lib/checks/errors.test.js');
  assert.equal(status, 0, stdout);
  assert.match(stdout, /\n[1-9]\d* passed, 0 failed\n$/);
  assert.deepEqual([run('nope').status, run('--needs', 'nope').status], [1, 1]);
});
