/** Faults in the engine: the one file that has the fault is compiled as the native build compiles it, but for the warnings,
 * and the test program is linked with it in front of the engine's archive, whose own copy is then left out. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '../suite/parts.js';
import { withFault } from './pin.js';

/** @typedef {import('./mutants.js').Mutant} Mutant */
/** @typedef {{ file: string, output: string, command: string }} Command */

const SOURCE = join(ROOT, 'src');
const NATIVE = join(ROOT, 'build/native');
const LONGEST = 120_000;

/** @param {string} command */
function shell(command) {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: NATIVE, encoding: 'utf8' });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

/** How the native build makes each of its files, from ninja. @returns {Command[]} */
export function nativeCommands() {
  const { status, stdout, stderr } = spawnSync('ninja', ['-C', NATIVE, '-t', 'compdb'], {
    ...{ encoding: 'utf8', maxBuffer: 1 << 28 },
  });
  if (status !== 0)
    throw new Error(`${stderr}\nbuild the preset native first: cmake --preset native && cmake --build --preset native`);
  return JSON.parse(stdout.slice(stdout.indexOf('[')));
}

/** @param {string} name of a test program */
export const runNative = (name, folder = NATIVE) =>
  spawnSync(join(folder, name), { encoding: 'utf8', timeout: LONGEST, killSignal: 'SIGKILL', maxBuffer: 1 << 28 });

/**
 * The files to compile anew, in a folder of their own: the file with the fault, or, where that is a header, all that may
 * include it, beside copies of the headers, where they are looked for first.
 * @param {Mutant} mutant
 * @param {string} folder
 * @returns {string[]} paths in src/
 */
function writeFault(mutant, folder) {
  const { file } = mutant;
  const isHeader = file.endsWith('.h');
  if (isHeader) {
    for (const name of readdirSync(SOURCE).filter((one) => /\.[ch]$/.test(one)))
      copyFileSync(join(SOURCE, name), join(folder, name));
  }
  writeFileSync(join(folder, basename(file)), withFault(readFileSync(join(SOURCE, file), 'utf8'), mutant));
  return isHeader ? readdirSync(folder).filter((name) => name.endsWith('.c') && name !== 'wasm.c') : [file];
}

/**
 * Null when the test noticed, else what is wrong.
 * @param {Mutant} mutant
 * @param {Command[]} commands
 * @param {string} folder for what is made, emptied before
 */
export function judgeNative(mutant, commands, folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const link = commands.find(({ output }) => output === mutant.test);
  const library = /\S*lib(qkv\w*)\.a/.exec(link?.command ?? '')?.[1];
  if (!link || !library) return `there is no program ${mutant.test} in the native build`;
  const objects = [];
  for (const file of writeFault(mutant, folder)) {
    const own = commands.find(
      (one) => one.file === join(SOURCE, file) && one.output.startsWith(`CMakeFiles/${library}.dir/`),
    );
    if (!own) return `the native build compiles no ${file}`;
    const object = join(folder, `${basename(file)}.o`);
    const compile = own.command
      .replace(/ -MD -MT \S+ -MF \S+/, '')
      .replace(/ -O2 (.*) -Werror /, ' -O1 $1 -w ') // a fault may leave something unused
      .replace(` -o ${own.output} `, ` -o '${object}' `)
      .replace(` -c ${own.file}`, ` -iquote ${dirname(own.file)} -c '${join(folder, basename(file))}'`);
    const { ok, output } = shell(compile);
    if (!ok) return `it does not compile\n${output}`;
    objects.push(`'${object}'`);
  }
  const { ok, output } = shell(
    link.command.replace(` -o ${mutant.test} `, ` ${objects.join(' ')} -o '${join(folder, mutant.test)}' `),
  );
  if (!ok) return `it does not link\n${output}`;
  const tested = runNative(mutant.test, folder);
  if (tested.error) return `${tested.error}`;
  return tested.status === 0 ? `SURVIVED: ${mutant.test} did not notice` : null;
}
