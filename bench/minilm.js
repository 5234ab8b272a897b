/** MiniLM from tokens to hidden states at several lengths, embeddings of many texts, and how far rounded weights are from
 * float32; where its folder is named, onnxruntime-web takes turns with us on the same weights: node bench/suite.js minilm
 * [--peers DIR]. Every matrix of ours can be read after each forward; the peer's files give hidden states alone. */
import { compare, SENTENCES } from './accuracy.js';
import { anyIds, loadMinilm, makeEngine, makeEngines, PRECISIONS } from './engines.js';
import { loadOrt, loadPeer } from './peers.js';
import { race, WARM_UP } from './race.js';
import { digits, times } from './report.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./peers.js').Peer} Peer */
/** @typedef {import('./race.js').Spread} Spread */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/** @typedef {import('./report.js').Table} Table */
/** @typedef {Map<string, Spread>} Times by the name of the contender */
/** @typedef {{ name: string, ms: Spread, rate: number, peer: string, alone: string }} Row peer, alone: how often as fast */
/** @typedef {Pick<Own, 'name' | 'precision' | 'build' | 'threads'>} Named */

const LENGTHS = [16, 32, 128, 256, 512];
/** Longer ones take fewer rounds. */
const LONG = 128;
const EMBED_TEXTS = 64;

/** @param {Settings} settings */
async function ownModels({ threads, brief }) {
  /** @type {Own[]} */
  const models = [];
  const engines = brief ? [await makeEngine('auto', 1), await makeEngine('auto', threads)] : await makeEngines(threads);
  for (const made of engines) {
    for (const precision of PRECISIONS) {
      const own = await loadMinilm(made, precision);
      if (own) models.push(own);
    }
  }
  return models;
}

/** Multiplications and additions of the matrix products and of attention. @param {Own} own @param {number} n */
const operations = ({ model: { info } }, n) =>
  2 * n * info.layers * (12 * info.width * info.width + 2 * n * info.width);

/** @param {Own[]} models @param {Peer[]} peers @param {number} n @param {number} rounds @returns {Promise<Times>} */
function raceOf(models, peers, n, rounds) {
  const ids = anyIds(n, models[0].model);
  const contenders = [
    ...models.map(({ name, model }) => ({ name, run: async () => (await model.forward({ ids })).dispose() })),
    ...peers.map((peer) => ({ name: peer.name, run: () => peer.run(ids) })),
  ];
  // What runs at the first length is optimised by then.
  return race(contenders, n > LONG ? Math.ceil(rounds / 2) : rounds, n === LENGTHS[0] ? WARM_UP : 2);
}

/**
 * Beside the times, how often as fast as the peer's run of the same kind (f32 against f32, ten and eight bits against its
 * dynamic q8), or, with several threads, as the same weights with one.
 * @param {Named[]} models
 * @param {Pick<Peer, 'name' | 'kind'>[]} peers
 * @param {Times} measured
 * @param {number} operations
 * @returns {Row[]}
 */
export function rowsOf(models, peers, measured, operations) {
  return [...measured].map(([name, ms]) => {
    const own = models.find((entry) => entry.name === name);
    const rate = operations / ms.minimum / 1e6;
    const against = (/** @type {string} */ other) => times((measured.get(other)?.minimum ?? 0) / ms.minimum);
    if (!own) return { name, ms, rate, peer: '', alone: '' };
    if (own.threads > 1) {
      const alone = models.find(
        ({ precision, build, threads }) => threads === 1 && precision === own.precision && build === own.build,
      );
      return { name, ms, rate, peer: '', alone: alone ? against(alone.name) : '' };
    }
    const peer = peers.find(({ kind }) => (kind === 'f32') === (own.precision === 'f32'));
    return { name, ms, rate, peer: peer ? `${against(peer.name)} ${peer.kind}` : '', alone: '' };
  });
}

/** @param {Row[]} rows @param {number} n @returns {Table} */
const lengthTable = (rows, n) => ({
  title: `MiniLM, ${n} tokens`,
  head: ['contender', 'ms, best', 'median', 'GFLOP/s', 'against the peer', 'one thread'],
  rows: rows.map(({ name, ms, rate, peer, alone }) => [
    name,
    ms.minimum.toFixed(2),
    ms.median.toFixed(2),
    digits(rate),
    peer,
    alone,
  ]),
});

/**
 * A row for each contender, a column for each length; of the plain build with one thread only.
 * @param {{ n: number, rows: Row[] }[]} lengths
 * @param {Map<string, string>} perSecond texts
 * @returns {Table}
 */
export function lengthsTable(lengths, perSecond) {
  const cell = (/** @type {Row} */ { ms, peer, alone }) => {
    const ratio = (alone || peer).split(' ')[0];
    return ratio ? `${digits(ms.minimum)} (${ratio})` : digits(ms.minimum);
  };
  const rows = lengths[0].rows
    .map(({ name }, i) => [name, ...lengths.map((length) => cell(length.rows[i])), perSecond.get(name) ?? ''])
    .filter(([name]) => !/plain, \d+ threads/.test(name));
  return {
    title:
      'MiniLM: ms of a forward pass after which every matrix can be read; in brackets how many times as fast as ' +
      "onnxruntime-web's f32 or q8 with one thread, or with several threads as ours with one",
    head: ['weights, build, threads', ...lengths.map(({ n }) => `${n} tokens`), 'embed(), texts/s'],
    rows,
  };
}

/** @param {Own[]} models @param {Settings} settings @returns {Promise<Table>} */
async function embedding(models, { rounds, brief }) {
  const count = brief ? 2 : EMBED_TEXTS;
  const texts = Array.from({ length: count }, (_, i) => SENTENCES[i % SENTENCES.length]);
  let tokens = 0;
  for (const text of texts) tokens += (await models[0].model.tokenize(text)).length;
  const contenders = models.map(({ name, model }) => ({ name, run: () => model.embed(texts) }));
  const measured = await race(contenders, Math.ceil(rounds / 4), 2);
  const rows = [...measured].map(([name, { minimum, median }]) => [
    name,
    digits((count * 1000) / minimum),
    digits((count * 1000) / median),
    digits((tokens * 1000) / minimum),
  ]);
  const title = `MiniLM, embed() of ${count} texts with ${tokens} tokens`;
  return { title, head: ['weights, build, threads', 'texts/s, best', 'median', 'tokens/s'], rows };
}

/** @param {Own[]} models one of each precision, of one build @param {Peer[]} peers @returns {Promise<Table | null>} */
async function accuracy(models, peers) {
  const exact = models.find(({ precision, threads }) => precision === 'f32' && threads === 1) ?? models[0];
  if (exact.precision !== 'f32') return null;
  const rounded = models.filter(({ precision, threads }) => precision !== 'f32' && threads === exact.threads);
  return compare(exact.model, rounded, peers);
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure(settings) {
  const { rounds, peers: folder, peerModels, brief } = settings;
  const models = await ownModels(settings);
  const ort = folder === null ? null : await loadOrt(folder);
  const load = (/** @type {string[]} */ files) =>
    ort ? Promise.all(files.map((file) => loadPeer(ort, peerModels, file))) : [];
  const peers = await load(['minilm.f32.onnx', 'minilm.q8.onnx']);
  const lengths = [];
  for (const n of brief ? LENGTHS.slice(0, 1) : LENGTHS) {
    const measured = await raceOf(models, peers, n, rounds);
    lengths.push({ n, rows: rowsOf(models, peers, measured, operations(models[0], n)) });
  }
  const embedded = await embedding(models, settings);
  const errors = await accuracy(models, await load(['minilm.q8.attentions.onnx']));
  for (const { model } of models) model.dispose();
  const perSecond = new Map(embedded.rows.map(([name, best]) => [name, best]));
  return {
    tables: [...lengths.map(({ n, rows }) => lengthTable(rows, n)), embedded, ...(errors ? [errors] : [])],
    kept: [lengthsTable(lengths, perSecond), ...(errors ? [errors] : [])],
  };
}
