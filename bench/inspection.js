/** What looking costs beside the forward pass: node bench/suite.js inspection */
import { anyIds, loadMinilm, makeEngine } from './engines.js';
import { race } from './race.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */

const LOOKED_AT = 512;

/** @param {Own} own @param {number} n tokens @param {number} rounds */
async function looking({ name, model }, n, rounds) {
  const input = { ids: anyIds(n, model) };
  const run = await model.forward(input);
  const layer = model.info.layers - 1;
  const measured = await race(
    [
      { name: 'forward', run: async () => (await model.forward(input)).dispose() },
      { name: `getWeights, one head, ${n} x ${n}`, run: () => run.getWeights(layer, 0) },
      { name: 'getWeights, the row of one query', run: () => run.getWeights(layer, 0, { rows: [n / 2, n / 2 + 1] }) },
    ],
    rounds,
  );
  run.dispose();
  const whole = measured.get('forward')?.minimum ?? Number.NaN;
  return [...measured].map(([call, { minimum, median }]) => [
    `${call}; ${name}`,
    minimum.toFixed(3),
    median.toFixed(3),
    `${((minimum / whole) * 100).toFixed(2)} %`,
  ]);
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, brief }) {
  const n = brief ? 16 : LOOKED_AT;
  const rows = [];
  for (const precision of /** @type {const} */ (['q10', 'f32'])) {
    const own = await loadMinilm(await makeEngine('auto', 1), precision);
    if (!own) continue;
    rows.push(...(await looking(own, n, rounds)));
    own.model.dispose();
  }
  const head = ['call; weights, build, threads', 'ms, best', 'median', 'of the forward'];
  const table = { title: `MiniLM: looking at ${n} tokens`, head, rows };
  return { tables: [table], kept: [table] };
}
