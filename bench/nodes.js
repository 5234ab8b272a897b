/** Runs parts of the suite in a process of their own, in this Node or another version of it. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageFolder } from './npm_packages.js';
import { inTree } from './runtime.js';

/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/** @typedef {{ part: string, where: string, report: Report }} Result */
/** @typedef {(parts: string[], settings: Settings) => AsyncIterable<Result>} Program somewhere that parts run in */

/** Node 20 wants it for the relaxed build; newer ones may not know it. */
const RELAXED = '--experimental-wasm-relaxed-simd';

/** @param {string} version such as 22, of this processor @returns {Program} */
export function nodeOf(version) {
  const folder = packageFolder(`node-${process.platform}-${process.arch}`, version, `node-${version}`);
  return nodeAt(join(folder, 'bin', 'node'));
}

/** @param {string} path of the program @returns {Program} */
export const nodeAt = (path) =>
  async function* measured(parts, settings) {
    const flags = spawnSync(path, [RELAXED, '-e', '0']).status === 0 ? [RELAXED] : [];
    const request = JSON.stringify({ parts, settings });
    const child = spawn(path, [...flags, inTree('bench/one_program.js'), request], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    /** @type {Promise<number | null>} */
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    for await (const line of createInterface(child.stdout)) yield/** @type {Result} */ (JSON.parse(line));
    if ((await ended) !== 0) throw new Error(`${path} stopped before it had measured ${parts.join(', ')}`);
  };
