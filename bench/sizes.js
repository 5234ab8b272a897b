/** Bytes of what is served and published: node bench/suite.js sizes */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { inTree } from './runtime.js';

/** @typedef {import('./report.js').Report} Report */

const MODELS = 'models';

/** @param {number} bytes */
const grouped = (bytes) => bytes.toLocaleString('en-US');

/** Rounded, since a byte more in a text of the package is no news. @param {number} bytes */
const kilobytes = (bytes) => `${grouped(Math.round(bytes / 1000))} kB`;

/** The built page as one stream after another, without the models beside it. */
function pageBytes() {
  const root = inTree('build/page');
  const files = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(join(root, MODELS)))
    .sort();
  return gzipSync(Buffer.concat(files.map((path) => readFileSync(path))), { level: 9 }).length;
}

/** What npm would upload. */
function packageBytes() {
  const [{ size, unpackedSize }] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: inTree(''), encoding: 'utf8' }),
  );
  return { size, unpackedSize };
}

/** @returns {Promise<Report>} */
export async function measure() {
  const files = readdirSync(inTree('dist')).filter((name) => /\.(wasm|js)$/.test(name));
  const { size, unpackedSize } = packageBytes();
  const rows = [
    ...files.sort().map((name) => [`dist/${name}`, grouped(statSync(inTree(`dist/${name}`)).size)]),
    ['page without model, gzip, all four wasm files in it', grouped(pageBytes())],
    ['npm package, packed', kilobytes(size)],
    ['npm package, unpacked', kilobytes(unpackedSize)],
  ];
  const table = { title: 'Sizes', head: ['what', 'bytes'], rows };
  return { tables: [table], kept: [table] };
}
