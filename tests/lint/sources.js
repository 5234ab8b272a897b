/** The files a lint step looks at. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Paths from the project's root, with slashes, sorted.
 * @param {string[]} folders
 * @param {RegExp} name what the path must match
 */
export function sourceFiles(folders, name) {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/')),
    )
    .filter((path) => name.test(path))
    .sort();
}

/** @param {string} path */
export const textOf = (path) => readFileSync(join(ROOT, path), 'utf8');
