/**
 * Fuzzes the parsers of the library.
 *
 *   node tests/fuzz/js/run.js [--seconds N] [--target T] [--seed S] [--keep]
 *
 * N seconds for each target (60), one of them or all. Inputs that are answered in a way that none before was, made as small as
 * possible, land in build/fuzz/found/js-T; with --keep in tests/fuzz/corpus/js-T, which every test run repeats. What fails
 * lands beside them in js-T-failing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { corpusFolder } from './campaign.js';
import { TARGETS } from './targets.js';
import { runWatched } from './watched.js';

const FOUND = fileURLToPath(new URL('../../../build/fuzz/found/', import.meta.url));

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    target: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    keep: { type: 'boolean', default: false },
  },
});
const names = values.target === undefined ? [...TARGETS.keys()] : [values.target];
const [seed, seconds] = [Number(values.seed), Number(values.seconds)];

for (const name of names) {
  const found = `${FOUND}js-${name}`;
  const keepIn = values.keep ? corpusFolder(name) : found;
  console.log(`js-${name}: seed ${seed}, ${seconds} seconds`);
  const { report, stopped, input } = await runWatched(name, { seed, batches: Infinity, seconds, keepIn });
  if (report === null) {
    mkdirSync(`${found}-failing`, { recursive: true });
    writeFileSync(`${found}-failing/stopped`, input);
    console.log(`js-${name}: stopped, input in ${found}-failing/stopped: ${stopped}`);
    process.exitCode = 1;
    continue;
  }
  for (const { file, seed: of, what } of report.failures)
    console.log(`js-${name}: FAILS with seed ${of}, ${file}\n${what}\n`);
  const { replayed, runs, kept, slowest, failures } = report;
  const counts = `${replayed} files replayed, ${runs} inputs, ${kept} kept, slowest ${slowest} ms`;
  console.log(`js-${name}: ${counts}, ${failures.length} failures`);
  if (failures.length > 0) process.exitCode = 1;
}
