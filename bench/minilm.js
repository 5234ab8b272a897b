/** MiniLM from tokens to hidden states at several lengths, embeddings of many texts, memory, and, with its folder named,
 * onnxruntime-web on the same weights in the same rounds: node bench/suite.js minilm [--peers DIR] */
import { compare, SENTENCES } from './accuracy.js';
import { anyIds, loadMinilm, makeEngine, makeEngines } from './engines.js';
import { loadOrt, loadPeer } from './peers.js';
import { race } from './race.js';
import { digits, threadsText, times } from './report.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./peers.js').Peer} Peer */
/** @typedef {import('./race.js').Spread} Spread */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/** @typedef {import('./report.js').Table} Table */
/** @typedef {Map<string, Spread>} Times by the name of the contender */

const LENGTHS = [16, 32, 128, 256, 512];
/** Of these in the README. */
const SHOWN = [16, 128, 512];
const EMBED_TEXTS = 64;

/** @param {number} threads */
async function ownModels(threads) {
  /** @type {Own[]} */
  const models = [];
  for (const made of await makeEngines(threads)) {
    for (const precision of /** @type {const} */ (['q10', 'f32'])) {
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
  return race(
    [
      ...models.map(({ name, model }) => ({ name, run: async () => (await model.forward({ ids })).dispose() })),
      ...peers.map((peer) => ({ name: peer.name, run: () => peer.run(ids) })),
    ],
    rounds,
  );
}

/**
 * How often faster than the peer's run of the same kind: f32 against f32, ten bits against its dynamic q8.
 * @param {string} name
 * @param {Times} measured
 */
function againstPeer(name, measured) {
  const kind = name.startsWith('f32') ? 'f32' : 'q8';
  const [, peer] = [...measured].find(([other]) => other.startsWith('onnx') && other.endsWith(kind)) ?? [];
  const own = measured.get(name);
  return peer && own && !name.startsWith('onnx') ? { kind, ratio: peer.minimum / own.minimum } : null;
}

/** @param {Own[]} models @param {Times} measured @param {number} n @returns {Table} */
function lengthTable(models, measured, n) {
  const rows = [...measured].map(([name, { minimum, median }]) => {
    const own = models.find((entry) => entry.name === name);
    const against = againstPeer(name, measured);
    return [
      name,
      minimum.toFixed(2),
      median.toFixed(2),
      digits(operations(own ?? models[0], n) / minimum / 1e6),
      against ? `${times(against.ratio)} ${against.kind}` : '',
    ];
  });
  return {
    title: `MiniLM, ${n} tokens`,
    head: ['contender', 'ms, best', 'median', 'GFLOP/s', 'against the peer'],
    rows,
  };
}

/** @param {Own[]} models @param {number} rounds @returns {Promise<Table>} */
async function embedding(models, rounds) {
  const texts = Array.from({ length: EMBED_TEXTS }, (_, i) => SENTENCES[i % SENTENCES.length]);
  let tokens = 0;
  for (const text of texts) tokens += (await models[0].model.tokenize(text)).length;
  const contenders = models.map(({ name, model }) => ({ name, run: () => model.embed(texts) }));
  const measured = await race(contenders, Math.ceil(rounds / 4), 2);
  const rows = [...measured].map(([name, { minimum, median }]) => [
    name,
    digits((EMBED_TEXTS * 1000) / minimum),
    digits((EMBED_TEXTS * 1000) / median),
    digits((tokens * 1000) / minimum),
  ]);
  const title = `MiniLM, embed() of ${EMBED_TEXTS} texts with ${tokens} tokens`;
  return { title, head: ['contender', 'texts/s, best', 'median', 'tokens/s'], rows };
}

/** Bytes of weights and of a run of the longest text. @param {Own[]} models @returns {Promise<Table>} */
async function memory(models) {
  const n = LENGTHS[LENGTHS.length - 1];
  const rows = [];
  for (const { name, model } of models) {
    const run = await model.forward({ ids: anyIds(n, model) });
    rows.push([name, (model.info.bytes / 1e6).toFixed(1), (run.bytes / 1e6).toFixed(2)]);
    run.dispose();
  }
  return { title: 'MiniLM, memory', head: ['contender', 'MB of weights', `MB of a run of ${n} tokens`], rows };
}

/** @param {Own[]} models @param {Peer[]} peers @returns {Promise<Table | null>} */
async function accuracy(models, peers) {
  const exact = models.find(({ name }) => name.startsWith('f32'));
  if (!exact) return null;
  const eight = await loadMinilm(await makeEngine('auto', 1), 'q8');
  const ten = models.filter(({ name }) => name.startsWith('q10'));
  const table = await compare(exact.model, eight ? [...ten, eight] : ten, peers);
  eight?.model.dispose();
  return table;
}

/** A row for each contender, with its figures at the lengths of SHOWN. @param {Own[]} models @param {Times[]} shown @param {number} threads */
function readmeRows(models, shown, threads) {
  return [...shown[0].keys()].map((name) => {
    const list = shown.map((measured) => digits(measured.get(name)?.minimum ?? Number.NaN)).join(', ');
    const against = shown.map((measured) => againstPeer(name, measured)).filter((entry) => entry !== null);
    const ratios = against.map(({ ratio }) => ratio.toFixed(2)).join(', ');
    const peer = against.length > 0 ? `; ${ratios} times as fast as onnxruntime-web's ${against[0].kind}` : '';
    const count = models.find((own) => own.name === name)?.threads ?? threads;
    return {
      what: `MiniLM, ${SHOWN.join(', ')} tokens: ${name}`,
      figure: `${list} ms${peer}; ${threadsText(count)}`,
    };
  });
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, threads, peers: folder, peerModels }) {
  const models = await ownModels(threads);
  const ort = folder === null ? null : await loadOrt(folder, threads);
  const peers = ort
    ? [await loadPeer(ort, peerModels, 'minilm.f32.onnx'), await loadPeer(ort, peerModels, 'minilm.q8.onnx')]
    : [];
  const tables = [];
  const readme = [];
  /** @type {Times[]} */
  const shown = [];
  for (const n of LENGTHS) {
    const measured = await raceOf(models, peers, n, n > 128 ? Math.ceil(rounds / 2) : rounds);
    tables.push(lengthTable(models, measured, n));
    if (SHOWN.includes(n)) shown.push(measured);
  }
  readme.push(...readmeRows(models, shown, threads));
  tables.push(await embedding(models, rounds), await memory(models));
  const open = ort ? [await loadPeer(ort, peerModels, 'minilm.q8.attentions.onnx')] : [];
  const errors = await accuracy(models, open);
  if (errors) tables.push(errors);
  for (const [name, mean, least, most, largest] of errors?.rows ?? []) {
    const figure = `cosine ${mean} (least ${least}), attention within ${most} (99.9 %), largest ${largest}`;
    readme.push({ what: `MiniLM against float32, ${name}`, figure });
  }
  return { tables, readme };
}
