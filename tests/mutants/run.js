/** Proves that the tests can fail: tries each one-line fault of mutants.js and requires that the test named for it fails. A
 * fault that does not compile, or whose code is not there exactly once, is an error of the list. Only those whose title holds
 * the words of the command line are tried, all when there are none; with --share 2/6 the second sixth of them.
 * The preset native has to be built before. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { countsOf } from '../suite/counts.js';
import { ROOT } from '../suite/parts.js';
import { judgeLibrary, runLibrary } from './library.js';
import { isNative, MUTANTS, titleOf } from './mutants.js';
import { judgeNative, nativeCommands, runNative } from './native.js';

/** @typedef {import('./mutants.js').Mutant} Mutant */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { share: { type: 'string', default: '1/1' } },
});
const [share, shares] = values.share.split('/').map(Number);
const folder = join(ROOT, `build/mutants/${share}`);

const chosen = MUTANTS.filter((mutant) => titleOf(mutant).includes(positionals.join(' ')))
  .toSorted((a, b) => (a.test < b.test ? -1 : Number(a.test > b.test))) // so that a test without a fault runs in few shares
  .filter((_, i, all) => Math.floor((i * shares) / all.length) === share - 1);

/** @param {Mutant} mutant of which the test alone counts */
function mustPass(mutant) {
  const { test } = mutant;
  const { status, stdout, stderr } = isNative(mutant) ? runNative(test) : runLibrary(mutant, null);
  if (status !== 0 || countsOf(stdout).passed === 0)
    throw new Error(`${test} fails without a fault\n${stdout}${stderr}`);
}

for (const mutant of new Map(chosen.map((one) => [`${one.test} ${one.only}`, one])).values()) mustPass(mutant);

/** @param {Mutant} mutant @returns {string | null} null when it was noticed */
function judge(mutant) {
  try {
    return isNative(mutant) ? judgeNative(mutant, commands, folder) : judgeLibrary(mutant);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const commands = chosen.some(isNative) ? nativeCommands() : [];
let killed = 0;
for (const mutant of chosen) {
  const problem = judge(mutant);
  if (!problem) killed++;
  console.log(`${problem ? 'FAILED' : 'killed'}: ${titleOf(mutant)}${problem ? `: ${problem}` : ''}`);
}
console.log(`mutants: ${killed} passed, ${chosen.length - killed} failed`);
process.exitCode = killed > 0 && killed === chosen.length ? 0 : 1;
