/** How time and memory grow with the number of tokens: exponents by least squares of the logarithms, printed with their
 * points, and the time as a part that grows with n and one that grows with n^2. Attention on its own goes to 4,096 tokens;
 * a decoder goes so far with --full, which takes minutes: node bench/suite.js growth [--full] */
import { scaledDotProductAttention } from 'qkv';
import { anyIds, loadDecoder, loadMinilm, makeEngine } from './engines.js';
import { exponent, twoParts } from './fit.js';
import { spreadOf } from './race.js';
import { digits, threadsText } from './report.js';

/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Table} Table */
/** @typedef {{ time: number, bytes: number }} Sample milliseconds, and bytes that it held */
/** @typedef {{ name: string, lengths: number[], run: (n: number) => Promise<Sample>, dispose: () => void }} Subject */

const LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096];
/** Longest of MiniLM, and of a decoder unless --full. */
const SHORT = 512;
/** Beyond, two rounds have to do. */
const LONG = 1024;
const HEADS = 12;
const HEAD_DIM = 32;

/** Attention of MiniLM's size without its weights, which would be 805 MB. @returns {Promise<Subject>} */
async function attentionSubject() {
  const { engine, name } = await makeEngine('auto', 1);
  /** @type {Map<number, number>} */
  const held = new Map();
  return {
    name: `Attention, ${HEADS} heads of ${HEAD_DIM}, f32, ${name}`,
    lengths: LENGTHS,
    async run(n) {
      const data = Float32Array.from({ length: n * HEADS * HEAD_DIM }, (_, i) => ((i * 7919) % 2001) / 1000 - 1);
      const tensor = { data, shape: [1, n, HEADS * HEAD_DIM] };
      const options = { query: tensor, key: tensor, value: tensor, heads: HEADS };
      if (!held.has(n)) held.set(n, await memoryOf(options));
      const start = performance.now();
      scaledDotProductAttention(engine, options);
      return { time: performance.now() - start, bytes: held.get(n) ?? 0 };
    },
    dispose: () => engine.dispose(),
  };
}

/** What one call takes from an engine that has done nothing yet. @param {import('qkv').AttentionOptions} options */
async function memoryOf(options) {
  const { engine } = await makeEngine('auto', 1);
  const before = engine.memory().reserved;
  scaledDotProductAttention(engine, options);
  const bytes = engine.memory().reserved - before;
  engine.dispose();
  return bytes;
}

/**
 * @param {string} title
 * @param {import('./engines.js').Own | null} own
 * @param {number[]} lengths
 * @returns {Subject[]}
 */
function modelSubject(title, own, lengths) {
  if (!own) return [];
  const run = async (/** @type {number} */ n) => {
    const pass = await own.model.forward({ ids: anyIds(n, own.model) });
    const { time, bytes } = pass;
    pass.dispose();
    return { time, bytes };
  };
  return [{ name: `${title}, ${own.name}`, lengths, run, dispose: () => own.model.dispose() }];
}

/** Every length once in each round. @param {Subject} subject @param {number} rounds @returns {Promise<Sample[]>} */
async function points({ lengths, run }, rounds) {
  const times = lengths.map(() => /** @type {number[]} */ ([]));
  const bytes = lengths.map(() => 0);
  for (let round = -2; round < rounds; round++) {
    for (const [i, n] of lengths.entries()) {
      if (n > LONG && (round < 0 || round > 1)) continue;
      const sample = await run(n);
      bytes[i] = sample.bytes;
      if (round >= 0) times[i].push(sample.time);
    }
  }
  return lengths.map((_, i) => ({ time: spreadOf(times[i]).minimum, bytes: bytes[i] }));
}

/**
 * @param {string} name
 * @param {number[]} lengths at least two
 * @param {Sample[]} samples
 */
export function growthOf(name, lengths, samples) {
  const [time, bytes] = [samples.map((sample) => sample.time), samples.map((sample) => sample.bytes)];
  const last = lengths.length - 1;
  const exponents = [time, bytes].map((list) => exponent(lengths, list).toFixed(2));
  const ends = [time, bytes].map((list) => exponent(lengths.slice(-2), list.slice(-2)).toFixed(2));
  const { linear, square } = twoParts(lengths, time);
  const parts = `${digits(linear * 1e3)} us n + ${digits(square * 1e6)} ns n^2`;
  const further = Math.round((bytes[last] - bytes[last - 1]) / (lengths[last] - lengths[last - 1]));
  /** @type {Table} */
  const table = {
    title: `${name}: growth`,
    head: ['tokens', 'ms', 'us a token', 'MB', 'bytes a token'],
    rows: samples.map((sample, i) => [
      String(lengths[i]),
      sample.time.toFixed(2),
      digits((sample.time / lengths[i]) * 1e3),
      (sample.bytes / 1e6).toFixed(2),
      String(Math.round(sample.bytes / lengths[i])),
    ]),
    notes: [
      `Exponents of n: time ${exponents[0]}, memory ${exponents[1]}; over the last doubling ${ends[0]} and ${ends[1]}.`,
      `Time is ${parts}; memory takes ${further} bytes for a further token.`,
    ],
  };
  const range = `${lengths[0]} to ${lengths[last]}`;
  return {
    table,
    row: [name, range, `${exponents[0]} (${ends[0]})`, parts, `${exponents[1]} (${ends[1]})`, `${further}`],
  };
}

/** @param {import('./report.js').Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, full, brief }) {
  const short = LENGTHS.filter((n) => n <= (brief ? 128 : SHORT));
  const made = await makeEngine('auto', 1);
  const subjects = [
    await attentionSubject(),
    ...modelSubject('MiniLM', await loadMinilm(made, 'f32'), short),
    ...modelSubject('MiniLM', await loadMinilm(made, 'q10'), short),
    ...modelSubject('SmolLM2-135M', brief ? null : await loadDecoder(made, 'q8'), full ? LENGTHS : short),
  ];
  const grown = [];
  for (const subject of subjects) {
    const lengths = brief ? short : subject.lengths;
    grown.push(growthOf(subject.name, lengths, await points({ ...subject, lengths }, Math.ceil(rounds / 4))));
    subject.dispose();
  }
  const head = ['what', 'tokens', 'time, exponent (last doubling)', 'time', 'memory', 'bytes a further token'];
  const title = `Growth with the number of tokens n, ${threadsText(1)}`;
  return { tables: grown.map(({ table }) => table), kept: [{ title, head, rows: grown.map(({ row }) => row) }] };
}
