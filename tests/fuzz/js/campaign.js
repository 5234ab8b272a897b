/** Runs one target: what is kept, then new inputs made of that. The same seed and the same files give the same inputs. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { outcomeOf } from './outcome.js';
import { shrinkInput } from './shrink_input.js';

/** @typedef {import('./inputs.js').Target} Target */
/**
 * @typedef {object} Plan
 * @property {number} seed
 * @property {number} batches of BATCH inputs; Infinity: until the time is over
 * @property {number} seconds
 * @property {string | null} keepIn folder that new inputs are written to; null: nothing is written and nothing made smaller
 */
/** @typedef {{ file: string | null, seed: number, what: string }} Failure */
/** @typedef {{ target: string, replayed: number, runs: number, kept: number, slowest: number, failures: Failure[], lines: string[] }} Report slowest: milliseconds */
/** @typedef {(bytes: Uint8Array) => void} OnInput called before an input is run */

const CORPUS = fileURLToPath(new URL('../corpus/', import.meta.url));
const BATCH = 100;
const MOST_FAILURES = 20;
/** Inputs are kept and made of each other up to here; longer ones are only run. */
const LONGEST_KEPT = 6_000;

/** @param {string} target */
export const corpusFolder = (target) => `${CORPUS}js-${target}`;

/** @param {string} folder @returns {[name: string, bytes: Uint8Array][]} */
function filesOf(folder) {
  try {
    const names = readdirSync(folder).sort();
    return names.map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]);
  } catch {
    return [];
  }
}

/** @param {string} folder @param {Uint8Array} bytes @returns {string} */
function write(folder, bytes) {
  const name = createHash('sha1').update(bytes).digest('hex').slice(0, 16);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${name}`, bytes);
  return `${folder}/${name}`;
}

/**
 * @param {Target} target
 * @param {Plan} plan
 * @param {OnInput} onInput
 * @returns {Promise<Report>}
 */
export async function runCampaign(target, { seed, batches, seconds, keepIn }, onInput) {
  /** @type {Report} */
  const report = { target: target.name, replayed: 0, runs: 0, kept: 0, slowest: 0, failures: [], lines: [] };
  const seen = new Set();
  const pool = [...target.seeds];

  /** @param {Uint8Array} bytes */
  const run = async (bytes) => {
    onInput(bytes);
    const outcome = await outcomeOf(target, bytes);
    report.slowest = Math.max(report.slowest, Math.round(outcome.microseconds / 1000));
    return outcome;
  };
  /** @param {Uint8Array} bytes @param {string | null} file @param {number} batchSeed */
  const look = async (bytes, file, batchSeed) => {
    const { line, failure } = await run(bytes);
    if (seen.has(line)) return;
    seen.add(line);
    if (file === null && keepIn !== null) await keep(bytes, line, failure !== null);
    else if (bytes.length <= LONGEST_KEPT) pool.push(bytes);
    if (failure !== null)
      report.failures.push({ file: file ?? report.lines.at(-1) ?? null, seed: batchSeed, what: failure });
  };
  /** @param {Uint8Array} bytes @param {string} line @param {boolean} isFailure */
  const keep = async (bytes, line, isFailure) => {
    const small = await shrinkInput(bytes, target.isJson, async (one) => (await run(one)).line === line);
    if (small.length <= LONGEST_KEPT) pool.push(small);
    if (small.length > LONGEST_KEPT && !isFailure) return;
    report.kept++;
    report.lines.push(`${write(isFailure ? `${keepIn}-failing` : String(keepIn), small)}: ${line}`);
  };

  for (const bytes of target.seeds) await look(bytes, 'a seed', seed);
  for (const [name, bytes] of filesOf(corpusFolder(target.name))) {
    await look(bytes, name, seed);
    report.replayed++;
  }
  const end = Date.now() + seconds * 1000;
  for (let batch = 0; batch < batches && Date.now() < end && report.failures.length < MOST_FAILURES; batch++) {
    for (const bytes of fc.sample(target.inputs(pool), { seed: seed + batch, numRuns: BATCH })) {
      await look(bytes, null, seed + batch);
      report.runs++;
    }
  }
  return report;
}
