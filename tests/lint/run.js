/** The lint step: formatting, types, style, import directions. Each part says how much it looked at; all parts run even
 * when one fails. */
import { spawnSync } from 'node:child_process';
import { engineIncludes, exportImports, libraryImports, pageImports, places, readableFiles, rooms } from './imports.js';
import { ROOT, sourceFiles } from './sources.js';

/** @typedef {import('./imports.js').Report} Report */

/**
 * @param {string} program
 * @param {string[]} args
 */
function runProgram(program, args) {
  const done = spawnSync(program, args, { cwd: ROOT, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
  if (done.error) throw done.error;
  return { ok: done.status === 0, output: `${done.stdout}${done.stderr}`.trim() };
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {(output: string) => number} checksOf
 * @returns {Report}
 */
function tool(program, args, checksOf) {
  const { ok, output } = runProgram(program, args);
  return { checks: checksOf(output), problems: ok ? [] : [output] };
}

const C_FILES = sourceFiles(['src', 'bench', 'tests/native', 'tests/reference', 'tests/fuzz'], /\.[ch]$/);
const SCRIPTS = ['build.sh', '.ci/run'];

/** @type {Record<string, () => Report>} */
const PARTS = {
  'clang-format': () =>
    tool('npx', ['clang-format', '--dry-run', '-Werror', '--fno-color-diagnostics', ...C_FILES], () => C_FILES.length),
  types: () => {
    const { output } = runProgram('npx', ['tsc', '--listFilesOnly']);
    const own = output.split('\n').filter((line) => !line.includes('node_modules'));
    return tool('npx', ['tsc'], () => own.length);
  },
  biome: () => tool('npx', ['biome', 'check', '.'], (output) => Number(/Checked (\d+) file/.exec(output)?.[1] ?? 0)),
  shellcheck: () => tool('shellcheck', SCRIPTS, () => SCRIPTS.length),
  'library imports': libraryImports,
  'library rooms': rooms,
  'export imports': exportImports,
  'page imports': pageImports,
  'engine includes': engineIncludes,
  places,
  'readable files': readableFiles,
};

let failed = false;
for (const [name, check] of Object.entries(PARTS)) {
  const { checks, problems } = check();
  for (const problem of problems) console.log(`${name}: ${problem}`);
  if (problems.length > 0 || checks === 0) {
    failed = true;
    console.log(`${name}: FAILED (${problems.length || 'nothing to check'})`);
  } else {
    console.log(`${name}: ${checks} checks`);
  }
}
process.exitCode = failed ? 1 : 0;
