/** Memory: what weights take, what a run of the longest text adds, and the linear memory of an engine that holds both.
 * node bench/suite.js memory */
import { anyIds, loadDecoder, loadMinilm, makeEngine, PRECISIONS } from './engines.js';

/** @typedef {import('./engines.js').Made} Made */
/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./report.js').Report} Report */

const LONGEST = { minilm: 512, decoder: 4096 };

/**
 * Bytes of a run, and of the memory it wants, without waiting for a pass that takes a minute: all of it is there from the first
 * layer on, and between two layers an engine lets others in.
 * @param {Made} made
 * @param {Own} own
 * @param {number} n
 */
async function heldBy({ engine }, { model }, n) {
  const { used } = engine.memory();
  const stop = new AbortController();
  let isOver = false;
  const pass = model
    .forward({ ids: anyIds(n, model) }, { signal: stop.signal })
    .then((run) => run.dispose())
    .catch((error) => {
      if (!stop.signal.aborted) throw error;
    })
    .finally(() => {
      isOver = true;
    });
  while (!isOver && engine.memory().used === used) await new Promise((resolve) => setImmediate(resolve));
  const during = engine.memory();
  stop.abort();
  await pass;
  return { run: during.used - used, reserved: during.reserved };
}

/** @param {import('./report.js').Settings} settings @returns {Promise<Report>} */
export async function measure({ brief }) {
  const plans = [
    ...PRECISIONS.map((precision) => ({ title: 'MiniLM', load: loadMinilm, precision, n: LONGEST.minilm })),
    ...PRECISIONS.map((precision) => ({ title: 'SmolLM2-135M', load: loadDecoder, precision, n: LONGEST.decoder })),
  ];
  const rows = [];
  for (const { title, load, precision, n } of brief ? plans.slice(0, 1) : plans) {
    const made = await makeEngine('auto', 1);
    const own = await load(made, precision);
    if (!own) continue;
    const { run, reserved } = await heldBy(made, own, n);
    const megabytes = [own.model.info.bytes, run, reserved].map((bytes) => (bytes / 1e6).toFixed(1));
    rows.push([`${title}, ${own.name}`, String(n), ...megabytes]);
    made.engine.dispose();
  }
  const head = [
    'model, weights, build, threads',
    'tokens',
    'MB of weights',
    'MB that a run adds',
    'MB of linear memory',
  ];
  const table = { title: 'Memory', head, rows };
  return { tables: [table], kept: [table] };
}
