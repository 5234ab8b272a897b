/** Tests of the library by its name `qkv` import this: what they load is dist/, which ./build.sh library makes of web/lib, and an
 * older one would answer for code that is no longer there. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** When the newest file there was written; a path may be a file. @param {string} path @returns {number} */
function newestIn(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(...readdirSync(path).map((name) => newestIn(join(path, name))));
}

/**
 * Throws one sentence when what was made is older than what it is made of, or is not there.
 * @param {string} made a file
 * @param {{ from: string[], names: [string, string], command: string }} source files and folders; how both are called
 */
export function mustBeFresh(made, { from, names: [what, source], command }) {
  if (!existsSync(made)) throw new Error(`${what} is missing: run ${command}`);
  if (Math.max(...from.map(newestIn)) > statSync(made).mtimeMs)
    throw new Error(`${what} is older than ${source}: run ${command}`);
}

/** @param {string} [root] of a tree */
export const freshLibrary = (root = ROOT) =>
  mustBeFresh(join(root, 'dist/index.js'), {
    ...{ from: [join(root, 'web/lib')], names: ['dist/', 'web/lib'], command: './build.sh library' },
  });

freshLibrary();
