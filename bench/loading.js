/** How long models take to load from files that are in the machine's cache, against reading and copying the same bytes in the
 * same rounds; and how long the first forward takes after that, against the later ones: node bench/suite.js loading */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadModel } from 'qkv';
import { FLOAT32, makeEngine, SMOLLM2, TEN_BITS } from './engines.js';
import { race, spreadOf } from './race.js';
import { digits, times } from './report.js';

/** @typedef {import('./engines.js').Precision} Precision */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/** @typedef {{ name: string, source: string, file: string, precisions: Precision[] }} Loadable */

const CHUNK = 1 << 20;
/** Of the suite's rounds, since each of these takes long: one in so many, but no fewer than the least. */
const EVERY = 5;
const LEAST = 4;
/** Processes whose first forward is measured. */
const PROCESSES = 5;
const LENGTHS = [16, 128];

/** @type {Loadable[]} */
const LOADABLE = [
  { name: 'MiniLM, f32', source: FLOAT32, file: `${FLOAT32}/model.safetensors`, precisions: ['f32', 'q10', 'q8'] },
  { name: 'MiniLM, q10', source: TEN_BITS, file: `${TEN_BITS}/model.safetensors`, precisions: ['q10', 'f32'] },
  { name: 'SmolLM2, GGUF Q4_1', source: SMOLLM2, file: SMOLLM2, precisions: ['f32', 'q10', 'q8'] },
];

/** Reads a file chunk by chunk and copies each to its place. @param {string} path @param {Uint8Array} target */
async function readAndCopy(path, target) {
  const file = await open(path);
  const buffer = new Uint8Array(CHUNK);
  for (let at = 0; at < target.length; ) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, null);
    target.set(buffer.subarray(0, bytesRead), at);
    at += bytesRead;
  }
  await file.close();
}

/**
 * @param {import('qkv').Engine} engine
 * @param {Loadable} loadable
 * @param {Settings} settings
 */
async function loadingRows(engine, { name, source, file, precisions }, { rounds, brief }) {
  const { size } = statSync(file);
  const target = new Uint8Array(size).fill(1);
  const contenders = precisions.map((precision) => ({
    name: /** @type {string} */ (precision),
    run: async () => (await loadModel(source, { engine, worker: false, precision })).dispose(),
  }));
  const copy = { name: 'copy', run: () => readAndCopy(file, target) };
  const turns = Math.min(rounds, Math.max(LEAST, Math.ceil(rounds / EVERY)));
  const spreads = await race([copy, ...contenders], brief ? 1 : turns, 1);
  const copied = spreads.get('copy')?.minimum ?? Number.NaN;
  return precisions.map((precision) => {
    const { minimum } = spreads.get(precision) ?? { minimum: Number.NaN };
    const megabytes = digits(size / 1e3 / minimum);
    return [`${name} -> ${precision}`, digits(copied), digits(minimum), times(minimum / copied), megabytes];
  });
}

/**
 * Milliseconds of the first, second and third forward, and of a later one, each the least of several processes.
 * @param {Precision} precision
 * @param {number} tokens
 * @param {number} processes
 */
function firstRow(precision, tokens, processes) {
  const script = fileURLToPath(new URL('./first_run.js', import.meta.url));
  const runs = Array.from({ length: processes }, () => {
    const out = execFileSync(process.execPath, [...process.execArgv, script, precision, String(tokens)]);
    return /** @type {number[]} */ (JSON.parse(out.toString()));
  });
  const [first, second, third] = [0, 1, 2].map((i) => spreadOf(runs.map((run) => run[i])).minimum);
  const later = spreadOf(runs.flatMap((run) => run.slice(-10))).minimum;
  return [`${precision}, ${tokens} tokens`, ...[first, second, third, later].map(digits), times(first / later)];
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure(settings) {
  const { brief } = settings;
  const loadable = LOADABLE.filter(({ file }) => existsSync(file));
  const rows = [];
  const made = await makeEngine('auto', 1);
  for (const one of brief ? loadable.slice(0, 1) : loadable)
    rows.push(...(await loadingRows(made.engine, one, settings)));
  made.engine.dispose();
  const cases = /** @type {Precision[]} */ (['f32', 'q10']).flatMap((precision) =>
    LENGTHS.map((tokens) => /** @type {const} */ ([precision, tokens])),
  );
  const firsts = existsSync(FLOAT32) ? cases : cases.filter(([precision]) => precision !== 'f32');
  const tables = [
    {
      title: `Loading, ${made.name}, milliseconds`,
      head: ['file -> precision', 'read and copy', 'load', 'ratio', 'MB/s of the file'],
      rows,
    },
    {
      title: `MiniLM after loading, ${made.name}, milliseconds of a forward`,
      head: ['precision', 'first', 'second', 'third', 'later', 'first / later'],
      rows: (brief ? firsts.slice(0, 1) : firsts).map(([precision, tokens]) =>
        firstRow(precision, tokens, brief ? 1 : PROCESSES),
      ),
    },
  ];
  return { tables, kept: tables };
}
