/** What looking costs beside the forward pass, and how time and memory grow with the number of tokens, as exponents:
 * node bench/suite.js inspection [--full] */
import { anyIds, loadDecoder, loadMinilm, makeEngine } from './engines.js';
import { race, spreadOf } from './race.js';
import { digits } from './report.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/** @typedef {import('./report.js').Table} Table */

const LOOKED_AT = 512;
const LENGTHS = {
  minilm: [64, 128, 256, 512],
  decoder: [64, 128, 256, 512],
  full: [64, 128, 256, 512, 1024, 2048, 4096],
};
/** Lengths beyond this are measured twice only. */
const LONG = 1024;

/** The slope of the straight line through the logarithms. @param {number[]} x @param {number[]} y */
function exponent(x, y) {
  const [u, v] = [x.map(Math.log), y.map(Math.log)];
  const mean = (/** @type {number[]} */ list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [um, vm] = [mean(u), mean(v)];
  const top = u.reduce((sum, value, i) => sum + (value - um) * (v[i] - vm), 0);
  return top / u.reduce((sum, value) => sum + (value - um) ** 2, 0);
}

/** @param {Own} own @param {string} title @param {number[]} lengths @param {number} rounds */
async function growth({ name, model }, title, lengths, rounds) {
  const samples = lengths.map((n) => ({ n, bytes: 0, times: /** @type {number[]} */ ([]) }));
  for (let round = -2; round < rounds; round++) {
    for (const sample of samples) {
      if (sample.n > LONG && (round < 0 || round > 1)) continue;
      const run = await model.forward({ ids: anyIds(sample.n, model) });
      sample.bytes = run.bytes;
      if (round >= 0) sample.times.push(run.time);
      run.dispose();
    }
  }
  const best = samples.map(({ times }) => spreadOf(times).minimum);
  const bytes = samples.map((sample) => sample.bytes);
  const last = samples.length - 1;
  const [time, held] = [exponent(lengths, best), exponent(lengths, bytes)].map((value) => value.toFixed(2));
  const ends = [best, bytes].map((list) => Math.log2(list[last] / list[last - 1]).toFixed(2));
  /** @type {Table} */
  const table = {
    title: `${title}, ${name}: growth`,
    head: ['tokens', 'ms', 'ms a token', 'MB of the run', 'bytes a token'],
    rows: samples.map((sample, i) => [
      String(sample.n),
      best[i].toFixed(2),
      digits(best[i] / sample.n),
      (sample.bytes / 1e6).toFixed(2),
      String(Math.round(sample.bytes / sample.n)),
    ]),
    notes: [`Exponents: time ${time}, memory ${held}; over the last doubling ${ends[0]} and ${ends[1]}.`],
  };
  const figure = `time grows with exponent ${time} (last doubling ${ends[0]}), memory with ${held} (${ends[1]})`;
  return { table, readme: { what: `${title}, ${name}, ${lengths[0]} to ${lengths[last]} tokens`, figure } };
}

/** @param {Own} own @param {number} rounds @returns {Promise<Report>} */
async function looking({ name, model }, rounds) {
  const input = { ids: anyIds(LOOKED_AT, model) };
  const run = await model.forward(input);
  const layer = model.info.layers - 1;
  const row = LOOKED_AT / 2;
  const measured = await race(
    [
      { name: 'forward', run: async () => (await model.forward(input)).dispose() },
      { name: `getWeights, one head, ${LOOKED_AT} x ${LOOKED_AT}`, run: () => run.getWeights(layer, 0) },
      { name: 'getWeights, the row of one query', run: () => run.getWeights(layer, 0, { rows: [row, row + 1] }) },
    ],
    rounds,
  );
  run.dispose();
  const whole = measured.get('forward')?.minimum ?? Number.NaN;
  const shares = [...measured].map(([what, { minimum, median }]) => ({
    what,
    ms: [minimum, median].map((ms) => ms.toFixed(3)),
    share: `${((minimum / whole) * 100).toFixed(2)} %`,
  }));
  return {
    tables: [
      {
        title: `MiniLM, ${name}: looking, ${LOOKED_AT} tokens`,
        head: ['call', 'ms, best', 'median', 'of the forward'],
        rows: shares.map(({ what, ms, share }) => [what, ...ms, share]),
      },
    ],
    readme: shares.slice(1).map(({ what, share }) => ({ what: `${what}, ${name}`, figure: `${share} of the forward` })),
  };
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, threads, full }) {
  /** @type {Report} */
  const report = { tables: [], readme: [] };
  const turns = Math.ceil(rounds / 4);
  for (const precision of /** @type {const} */ (['q10', 'f32'])) {
    const own = await loadMinilm(await makeEngine('auto', threads), precision);
    if (!own) continue;
    const { tables, readme } = await looking(own, rounds);
    const grown = await growth(own, 'MiniLM', LENGTHS.minilm, turns);
    report.tables.push(...tables, grown.table);
    report.readme.push(...readme, grown.readme);
    own.model.dispose();
  }
  const own = await loadDecoder(await makeEngine('auto', threads), 'q8');
  if (!own) return report;
  const grown = await growth(own, 'SmolLM2-135M', full ? LENGTHS.full : LENGTHS.decoder, turns);
  own.model.dispose();
  report.tables.push(grown.table);
  report.readme.push(grown.readme);
  return report;
}
