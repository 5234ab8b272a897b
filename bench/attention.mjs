// Attention of 12 heads with its weights returned, against onnxruntime-web's com.microsoft MultiHeadAttention and a plain
// triple loop in JavaScript:
//   node bench/attention.mjs [--rounds N] [--ort FOLDER of onnxruntime-web], or node bench/suite.js attention [--peers FOLDER]
// All but the loop, which is slow, take turns inside one process, so that a change of the machine's speed meets all of them; the
// minimum counts. Ours has one thread and, in the suite, several as well; the others have one. onnxruntime-web cannot return
// weights; it is measured without them, less the time of a session that only takes the same inputs and gives the same output
// ("net"), and whole with its logits returned instead. Ours is always the whole call, copies included. Node 20 runs the relaxed
// build with --experimental-wasm-relaxed-simd.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { scaledDotProductAttention } from 'qkv';
import { makeEngines } from './engines.js';
import { loadOrt } from './peers.js';
import { race } from './race.js';
import { digits, tableText, times } from './report.js';
import { machine, runtime } from './runtime.js';

const HEADS = 12;
const SIZES = [
  [128, 32],
  [128, 64],
  [512, 32],
  [512, 64],
];
const WARM_UP = 12;
const ORT = 'onnxruntime-web';
const ORT_MAP = 'onnxruntime-web with its logits';
const ORT_CALL = 'its call alone';
const LOOP = 'plain loop';

/** @typedef {{ data: Float32Array, shape: number[] }} Tensor */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {{ name: string, run: () => unknown, output?: () => Float32Array | Promise<Float32Array> }} Contender */

/** @param {number} rows @param {number} width @param {number} seed @returns {Tensor} */
function filled(rows, width, seed) {
  let state = seed;
  const data = Float32Array.from({ length: rows * width }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  return { data, shape: [1, rows, width] };
}

// ---- the plain loop -------------------------------------------------------------------------------------------------

/** @param {Tensor} query @param {Tensor} key @param {Tensor} value @param {number} dim @param {Float32Array} out @param {Float32Array} weights */
function plainLoop({ data: q, shape: [, n, width] }, { data: k }, { data: v }, dim, out, weights) {
  for (let h = 0; h < HEADS; h++) {
    for (let i = 0; i < n; i++) {
      const row = (h * n + i) * n;
      let largest = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let e = 0; e < dim; e++) sum += q[i * width + h * dim + e] * k[j * width + h * dim + e];
        weights[row + j] = sum / Math.sqrt(dim);
        largest = Math.max(largest, weights[row + j]);
      }
      let total = 0;
      for (let j = 0; j < n; j++) {
        weights[row + j] = Math.exp(weights[row + j] - largest);
        total += weights[row + j];
      }
      for (let j = 0; j < n; j++) weights[row + j] /= total;
      for (let e = 0; e < dim; e++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += weights[row + j] * v[j * width + h * dim + e];
        out[i * width + h * dim + e] = sum;
      }
    }
  }
}

// ---- onnxruntime-web ------------------------------------------------------------------------------------------------

/** A protobuf field: a number, text, or the bytes of a message. @param {number} field @param {number | string | number[]} value */
function protobuf(field, value) {
  if (typeof value === 'number') return [...varint(field << 3), ...varint(value)];
  const bytes = typeof value === 'string' ? [...new TextEncoder().encode(value)] : value;
  return [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
}

/** @param {number} value @returns {number[]} */
const varint = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))]);

/** @param {string} name @param {number[]} shape ValueInfoProto of floats */
function valueInfo(name, shape) {
  const dims = shape.flatMap((size) => protobuf(1, protobuf(1, size)));
  return [...protobuf(1, name), ...protobuf(2, protobuf(1, [...protobuf(1, 1), ...protobuf(2, dims)]))];
}

/**
 * A model of one node with the inputs q, k and v.
 * @param {number[]} node
 * @param {number[]} shape of the inputs
 * @param {Record<string, number[]>} outputs shapes by name
 */
function model(node, shape, outputs) {
  const graph = [
    ...protobuf(1, node),
    ...protobuf(2, 'g'),
    ...['q', 'k', 'v'].flatMap((name) => protobuf(11, valueInfo(name, shape))),
    ...Object.entries(outputs).flatMap(([name, size]) => protobuf(12, valueInfo(name, size))),
  ];
  const opsets = [...protobuf(8, [...protobuf(1, ''), ...protobuf(2, 17)])];
  opsets.push(...protobuf(8, [...protobuf(1, 'com.microsoft'), ...protobuf(2, 1)]));
  return Uint8Array.from([...protobuf(1, 8), ...protobuf(7, graph), ...opsets]);
}

/** @param {string[]} outputs */
const attentionNode = (outputs) => [
  ...['q', 'k', 'v'].flatMap((name) => protobuf(1, name)),
  ...outputs.flatMap((name) => protobuf(2, name)),
  ...protobuf(4, 'MultiHeadAttention'),
  ...protobuf(5, [...protobuf(1, 'num_heads'), ...protobuf(3, HEADS), ...protobuf(20, 2)]),
  ...protobuf(7, 'com.microsoft'),
];
const NOTHING = [...protobuf(1, 'q'), ...protobuf(2, 'y'), ...protobuf(4, 'Identity')];

/** @param {import('./peers.js').Ort} ort @param {Record<'q' | 'k' | 'v', Tensor>} inputs @returns {Promise<Contender[]>} */
async function ortContenders(ort, inputs) {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  const { shape } = inputs.q;
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([name, { data }]) => [name, new ort.Tensor('float32', data, shape)]),
  );
  const map = [1, HEADS, shape[1], shape[1]];
  const session = (/** @type {number[]} */ node, /** @type {Record<string, number[]>} */ outputs) =>
    ort.InferenceSession.create(model(node, shape, outputs), { executionProviders: ['wasm'] });
  const attention = await session(attentionNode(['y']), { y: shape });
  const withLogits = await session(attentionNode(['y', '', '', 'w']), { y: shape, w: map });
  const nothing = await session(NOTHING, { y: shape });
  return [
    { name: ORT, run: () => attention.run(feeds), output: async () => (await attention.run(feeds)).y.data },
    { name: ORT_MAP, run: () => withLogits.run(feeds), output: async () => (await withLogits.run(feeds)).y.data },
    { name: ORT_CALL, run: () => nothing.run(feeds) },
  ];
}

// ---- the measurement ------------------------------------------------------------------------------------------------

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
function largestDifference(a, b) {
  let largest = 0;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}

/**
 * One length and width: all contenders, after their outputs were compared.
 * @param {{ name: string, engine: import('qkv').Engine }[]} made
 * @param {import('./peers.js').Ort | null} ort
 * @param {number[]} size
 * @param {number} rounds
 */
async function measureSize(made, ort, [n, dim], rounds) {
  const [q, k, v] = [1, 2, 3].map((seed) => filled(n, HEADS * dim, seed));
  const out = { output: new Float32Array(n * HEADS * dim), weights: new Float32Array(HEADS * n * n) };
  const plain = { output: new Float32Array(n * HEADS * dim), weights: new Float32Array(HEADS * n * n) };
  const options = { query: q, key: k, value: v, heads: HEADS, returns: /** @type {const} */ ('weights'), out };
  /** @type {Contender[]} */
  const contenders = made.map(({ name, engine }) => ({
    name,
    run: () => scaledDotProductAttention(engine, options),
    output: () => scaledDotProductAttention(engine, options).output.data.slice(),
  }));
  if (ort) contenders.push(...(await ortContenders(ort, { q, k, v })));
  plainLoop(q, k, v, dim, plain.output, plain.weights);
  for (const { name, output } of contenders) {
    if (!output) continue;
    const difference = largestDifference(await output(), plain.output);
    if (!(difference < 1e-5)) throw new Error(`${name} is ${difference} from the plain loop`);
  }
  const run = () => plainLoop(q, k, v, dim, plain.output, plain.weights);
  const slow = await race([{ name: LOOP, run }], Math.ceil(rounds / 4), 3);
  const measured = new Map([...(await race(contenders, rounds, WARM_UP)), ...slow]);
  const time = (/** @type {string} */ name) => measured.get(name)?.minimum ?? Number.NaN;
  const net = time(ORT) - time(ORT_CALL);
  const isOwn = (/** @type {string} */ name) => made.some((own) => own.name === name);
  const ratio = (/** @type {number} */ other, /** @type {string} */ name) =>
    isOwn(name) && other > 0 ? times(other / time(name)) : '';
  const title = `Attention, ${HEADS} heads, weights returned: ${n} tokens, width ${dim}`;
  const head = ['contender', 'ms, best', 'median', 'x its net', 'x it with logits', 'x the loop'];
  const rows = [...measured].map(([name, { minimum, median }]) => [
    name,
    minimum.toFixed(3),
    median.toFixed(3),
    ratio(net, name),
    ratio(time(ORT_MAP), name),
    ratio(time(LOOP), name),
  ]);
  const readme = made.map(({ name }) => [
    `${n} tokens, ${HEADS} heads of ${dim}: f32, ${name}`,
    digits(time(name)),
    ort ? ratio(net, name) : '',
    ratio(time(LOOP), name),
  ]);
  return { table: { title, head, rows }, readme };
}

/** @param {import('./report.js').Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, threads, peers, brief }) {
  const made = await makeEngines(threads);
  const ort = peers === null ? null : await loadOrt(peers);
  const tables = [];
  const rows = [];
  for (const size of brief ? SIZES.slice(0, 1) : SIZES) {
    const { table, readme } = await measureSize(made, ort, size, rounds);
    tables.push(table);
    rows.push(...readme);
  }
  const title = 'Attention with its weights returned; the peer without them, net of its call';
  const head = ['size, precision, build, threads', 'ms, best', 'onnxruntime-web', 'a plain loop'];
  return { tables, kept: [{ title, head, rows }] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' }, ort: { type: 'string' } } });
  const settings = {
    rounds: Number(values.rounds),
    threads: 1,
    full: false,
    brief: false,
    peers: values.ort ?? null,
    peerModels: '',
  };
  console.log(`${machine()}, ${runtime()}, one thread`);
  for (const table of (await measure(settings)).tables) console.log(tableText(table));
}
