/** Proves that the native tests can fail: applies each one-line fault of mutants.js to a copy of src/, builds the test named
 * for it, and requires that it fails. A fault that does not compile, or whose line is not there exactly once, is an error of the
 * list. Only those whose title holds the words of the command line are tried, all when there are none. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './mutants.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD = join(ROOT, 'build/mutants');
const SOURCE = join(BUILD, 'src');

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: ROOT, encoding: 'utf8' });
  if (error) throw error;
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function must(program, args) {
  const { ok, output } = run(program, args);
  if (!ok) throw new Error(`${program} ${args.join(' ')}\n${output}`);
}

/** @param {string[]} tests */
const compile = (...tests) => run('cmake', ['--build', BUILD, '--target', ...tests]);
/** @param {string} name */
const runTest = (name) =>
  spawnSync(join(BUILD, name), { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL', maxBuffer: 1 << 28 });

/** @param {import('./mutants.js').Mutant} mutant */
function mutate({ file, line, becomes }) {
  const lines = readFileSync(join(SOURCE, file), 'utf8').split('\n');
  const places = lines.flatMap((text, index) => (text.trim() === line ? [index] : []));
  if (places.length !== 1) return `the line stands ${places.length} times in ${file}: ${line}`;
  lines[places[0]] = becomes;
  writeFileSync(join(SOURCE, file), lines.join('\n'));
  return null;
}

/**
 * Null when a test noticed, else what is wrong.
 * @param {import('./mutants.js').Mutant} mutant
 */
function judge(mutant) {
  const original = readFileSync(join(SOURCE, mutant.file));
  try {
    const problem = mutate(mutant);
    if (problem) return problem;
    const built = compile(mutant.test);
    if (!built.ok) return `it does not compile\n${built.output}`;
    const tested = runTest(mutant.test);
    if (tested.error) return `${tested.error}`;
    return tested.status === 0 ? `SURVIVED: ${mutant.test} did not notice` : null;
  } finally {
    writeFileSync(join(SOURCE, mutant.file), original);
  }
}

mkdirSync(BUILD, { recursive: true });
rmSync(SOURCE, { recursive: true, force: true });
cpSync(join(ROOT, 'src'), SOURCE, { recursive: true });
must('cmake', [
  '-S',
  ROOT,
  '-B',
  BUILD,
  '-G',
  'Ninja',
  `-DQKV_SRC=${SOURCE}`,
  '-DCMAKE_BUILD_TYPE=',
  '-DCMAKE_C_FLAGS=-O1 -w', // a fault may leave something unused
]);
/** @param {import('./mutants.js').Mutant} mutant */
const titleOf = ({ part, breaks }) => `${part}: ${breaks}`;
const chosen = MUTANTS.filter((mutant) => titleOf(mutant).includes(process.argv.slice(2).join(' ')));
const tests = [...new Set(chosen.map(({ test }) => test))];
must('cmake', ['--build', BUILD, '--target', ...tests]);
for (const test of tests) {
  const { status, stdout } = runTest(test);
  if (status !== 0) throw new Error(`${test} fails without a fault\n${stdout}`);
}

let killed = 0;
for (const mutant of chosen) {
  const problem = judge(mutant);
  if (!problem) killed++;
  console.log(`${problem ? 'FAILED' : 'killed'}: ${titleOf(mutant)}${problem ? `: ${problem}` : ''}`);
}
console.log(`mutants killed: ${killed} checks`);
process.exitCode = killed > 0 && killed === chosen.length ? 0 : 1;
