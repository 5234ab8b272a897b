/**
 * Plays random programs over the public API, and makes smaller what fails.
 *
 *   node --expose-gc tests/stateful/run.js [--seconds N | --programs N] [--workers] [--seed S [--path P]]
 *   node --expose-gc tests/stateful/run.js --kept [NAME]
 *
 * Programs of one thread, or with --workers those whose models may be in workers. What fails is printed with the line that
 * plays it again. With --kept those of kept.js, one of them or all.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { KEPT } from './kept.js';
import { play, takeTheClock } from './play.js';
import { programs, programText } from './programs.js';
import { watchWorkers } from './workers.js';

/** @typedef {import('./programs.js').Program} Program */

const BATCH = 50;
const MOST_FAILURES = 5;
/** A failing program is made smaller for so long. */
const SHRINKING = 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    programs: { type: 'string', default: '200' },
    workers: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    path: { type: 'string' },
    kept: { type: 'boolean', default: false },
    shrink: { type: 'string', default: String(SHRINKING) },
  },
});

watchWorkers();
takeTheClock();
const counts = { programs: 0, steps: 0, calls: 0, failures: 0 };
const arbitrary = programs(values.workers);

await (values.kept ? playKept() : playRandom());
const kind = values.kept ? 'kept' : values.workers ? 'workers' : 'thread';
console.log(
  `stateful ${kind}: seed ${values.seed}, ${counts.programs} programs, ${counts.steps} steps, ${counts.calls} calls, ${counts.failures} failures`,
);
process.exit(counts.failures > 0 ? 1 : 0);

async function playRandom() {
  const seconds = values.seconds === undefined ? null : Number(values.seconds);
  const most = seconds === null ? Number(values.programs) : Infinity;
  const end = seconds === null ? Infinity : Date.now() + seconds * 1000;
  for (let seed = Number(values.seed); ; seed++) {
    const left = most - counts.programs;
    if (left <= 0 || Date.now() > end || counts.failures >= MOST_FAILURES) return;
    await batch(seed, values.path === undefined ? Math.min(BATCH, left) : undefined);
    if (values.path !== undefined) return;
  }
}

async function playKept() {
  for (const [name, program] of Object.entries(KEPT)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const { faults, calls } = await play(program);
    counts.programs++;
    counts.steps += program.steps.length;
    counts.calls += calls;
    if (faults.length === 0) {
      console.log(`right: ${name}`);
      continue;
    }
    counts.failures++;
    console.log(`FAILS: ${name}\n${programText(program)}\n${indented(new Error(faults.join('\n')))}\n`);
  }
}

/**
 * @param {number} seed
 * @param {number | undefined} numRuns
 */
async function batch(seed, numRuns) {
  let stopAt = Infinity;
  const property = fc.asyncProperty(arbitrary, async (/** @type {Program} */ program) => {
    if (Date.now() > stopAt) return;
    const { faults, calls } = await play(program);
    if (stopAt === Infinity) {
      counts.programs++;
      counts.steps += program.steps.length;
      counts.calls += calls;
    }
    if (faults.length === 0) return;
    if (stopAt === Infinity) stopAt = Date.now() + Number(values.shrink);
    throw new Error(faults.join('\n'));
  });
  const { failed, counterexample, counterexamplePath, errorInstance } = await fc.check(property, {
    seed,
    numRuns,
    path: values.path,
  });
  if (!failed || counterexample === null) return;
  counts.failures++;
  const again = `node --expose-gc tests/stateful/run.js${values.workers ? ' --workers' : ''} --seed ${seed} --path ${counterexamplePath}`;
  console.log(`FAILS: ${again}\n${programText(counterexample[0])}\n${indented(errorInstance)}\n`);
}

/** @param {unknown} error */
function indented(error) {
  return String(error instanceof Error ? error.message : error).replace(/^/gm, '    ');
}
