/** Faults in the library: the test file runs with a loader (faulty_module.js) that puts the fault into the module as it is
 * read, so nothing is copied, and that lets `qkv` be web/lib as it stands. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countsOf } from '../suite/counts.js';
import { ROOT } from '../suite/parts.js';
import { withFault } from './pin.js';

/** @typedef {import('./mutants.js').Mutant} Mutant */

const LONGEST = 120_000;
const LOADER = '--import=./tests/mutants/faulty_module.js';

/**
 * @param {{ test: string, only?: string }} what
 * @param {Mutant | null} mutant
 */
export const runLibrary = ({ test, only = '.' }, mutant) =>
  spawnSync(process.execPath, [LOADER, '--test-reporter=spec', `--test-name-pattern=${only}`, test], {
    ...{ cwd: ROOT, encoding: 'utf8', timeout: LONGEST, killSignal: 'SIGKILL', maxBuffer: 1 << 28 },
    env: { ...process.env, QKV_MUTANT: JSON.stringify(mutant) },
  });

/**
 * Null when the test noticed, else what is wrong. A test that noticed has failed as a test: a module that cannot even be read
 * proves nothing.
 * @param {Mutant} mutant
 */
export function judgeLibrary(mutant) {
  withFault(readFileSync(join(ROOT, mutant.file), 'utf8'), mutant);
  const { error, status, stdout, stderr } = runLibrary(mutant, mutant);
  if (error) return `${error}`;
  if (status === 0) return `SURVIVED: ${mutant.test} did not notice`;
  return countsOf(stdout).failed > 0 ? null : `the test did not run\n${stdout}${stderr}`;
}
