/**
 * The test run, which ./build.sh test starts when all that it needs is made:
 *
 *   node tests/run.js [PART | quick | FILE | FOLDER]...
 *   node tests/run.js --needs [...]     what build.sh has to make before
 *
 * As many jobs run side by side as there are cores (QKV_JOBS says otherwise): nothing here measures time. The last line is
 * "N passed, N failed"; what the programs wrote is in build/log/.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { launchServer } from './browser/launch.js';
import { choose, needsOf } from './suite/choose.js';
import { verdictOf } from './suite/counts.js';
import { ROOT } from './suite/parts.js';
import { startProgress } from './suite/progress.js';
import { runQueue } from './suite/queue.js';
import { guess } from './suite/seconds.js';

/** @typedef {import('./suite/parts.js').Job} Job */
/** @typedef {import('./suite/queue.js').Result} Result */

/** Ends what hangs; nothing that works comes near it, however slow the machine. */
const LONGEST = 30 * 60_000;
const LOGS = process.env.QKV_LOGS ?? join(ROOT, 'build/log');
const SECONDS = join(LOGS, 'seconds.json');

/**
 * @param {Job} job
 * @param {Record<string, string>} env
 * @returns {Promise<Result>}
 */
function run({ command: [program, ...args], isBuild }, env) {
  const start = performance.now();
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: LONGEST });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        output += text;
      });
    }
    const end = (/** @type {number | null} */ status, /** @type {unknown} */ why) => {
      if (why) output += `\n${program} was ended: ${why}\n`;
      resolve({ ...verdictOf({ status, output, isBuild }), seconds: (performance.now() - start) / 1000, output });
    };
    child.on('error', (error) => end(null, error));
    child.on('close', end);
  });
}

/** How long each job took when it ran last. @returns {Record<string, number>} */
function lastSeconds() {
  try {
    return JSON.parse(readFileSync(SECONDS, 'utf8'));
  } catch {
    return {};
  }
}

/** What a reader wants to see first of a program that failed. @param {string} output */
function endOf(output) {
  const failing = output.lastIndexOf('failing tests:');
  return failing >= 0 ? output.slice(failing) : output.split('\n').slice(-100).join('\n');
}

/**
 * A line for each part: checks, jobs, and the seconds of its jobs together.
 * @param {Map<Job, Result>} results
 */
function summaryOf(results) {
  const parts = [...new Set([...results.keys()].map(({ part }) => part))];
  return parts.map((name) => {
    const own = [...results].filter(([{ part }]) => part === name).map(([, result]) => result);
    const sum = (/** @type {'passed' | 'failed' | 'seconds'} */ key) => own.reduce((total, one) => total + one[key], 0);
    const failed = sum('failed');
    const numbers = `${String(sum('passed')).padStart(8)} checks ${String(own.length).padStart(4)} jobs`;
    return `${name.padEnd(8)} ${numbers} ${sum('seconds').toFixed(0).padStart(5)} s  ${failed > 0 ? `${failed} FAILED` : 'ok'}`;
  });
}

/** @param {Job[]} jobs */
async function main(jobs) {
  mkdirSync(LOGS, { recursive: true });
  for (const { part } of jobs) rmSync(join(LOGS, `${part}.log`), { force: true });
  const browser = jobs.some(({ part }) => part === 'browser') ? await launchServer() : null;
  const env = /** @type {Record<string, string>} */ ({
    ...process.env,
    ...(browser && { QKV_BROWSER: browser.wsEndpoint() }),
  });
  const known = lastSeconds();
  /** @type {Map<Job, Result>} */
  const results = new Map();
  const progress = startProgress(jobs, process.stdout);
  await runQueue(jobs, {
    slots: Number(process.env.QKV_JOBS ?? availableParallelism()),
    secondsOf: (job) => known[job.name] ?? guess(job),
    run: (job) => run(job, env),
    onStart: progress.started,
    onEnd: (job, result) => {
      results.set(job, result);
      const head = `${job.name}: ${result.passed} passed, ${result.failed} failed in ${result.seconds.toFixed(1)} s`;
      appendFileSync(join(LOGS, `${job.part}.log`), `==== ${head}\n${result.output}\n`);
      if (result.failed > 0)
        progress.say(`FAILED ${head}; all of it is in build/log/${job.part}.log\n${endOf(result.output)}`);
      else known[job.name] = Number(result.seconds.toFixed(1));
      progress.ended(job);
    },
  });
  const seconds = progress.stop();
  await browser?.close();
  writeFileSync(SECONDS, `${JSON.stringify(known, null, 1)}\n`);
  report(results, seconds);
}

/** @param {Map<Job, Result>} results  @param {number} seconds */
function report(results, seconds) {
  const all = [...results.values()];
  const passed = all.reduce((sum, one) => sum + one.passed, 0);
  const failed = all.reduce((sum, one) => sum + one.failed, 0) + Number(passed === 0);
  console.log(`\n${summaryOf(results).join('\n')}\n${results.size} jobs in ${seconds} s`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

const words = process.argv.slice(2);
try {
  if (words[0] === '--needs') console.log(needsOf(words.slice(1)).join(' '));
  else await main(choose(words));
} catch (error) {
  console.error(`test: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
