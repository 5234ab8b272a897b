/** Kernels by themselves, against what the machine gives in the same run: the peak of register-only loops for matrix
 * products, reading memory for products of one row, nanoseconds an element for the rest. */
import { loadKernels, MEMORY_BYTES, memoryProbes } from './load_kernels.js';
import { spreadOf, WARM_UP } from './race.js';
import { digits, percent } from './report.js';

/** @typedef {import('./load_kernels.js').Kernels} Kernels */
/** @typedef {import('./race.js').Spread} Spread */
/** @typedef {'float peak' | 'integer peak' | 'memory' | 'element'} Kind what a figure is held against */
/**
 * @typedef {object} Case
 * @property {string} name
 * @property {Kind} kind
 * @property {boolean} [probe] of several probes of a kind the best counts
 * @property {number} work operations, bytes or elements of one repetition
 * @property {(times: number) => unknown} run
 */

const K = 384;
const COLUMNS = 1536;
const WEIGHTS = K * COLUMNS;
const ROWS = 128;
const SOFTMAX_WIDTH = 128;
const GELU = 1;
const GELU_TANH = 2;
const SILU = 4;
const CAP = 30;
/** Milliseconds a sample should take. */
const SAMPLE = 3;
const PROBE_STEPS = 20000;
/** Of memory, where it only matters that the cases run. */
const BRIEF_BYTES = 2 ** 23;

const FORMS = /** @type {const} */ ([
  { name: 'f32', bytes: 4, kind: 'float peak' },
  { name: 'q10', bytes: 2, kind: 'integer peak' },
  { name: 'q8', bytes: 1, kind: 'integer peak' },
]);

/** @param {Kernels} kernels @returns {Case[]} */
function probes({ names, call }) {
  return names.flatMap((name) => {
    const [, loop, chains] = /^(mul_add|fma|dot_add)_(\d+)$/.exec(name) ?? [];
    if (!loop) return [];
    // Four lanes, multiplication and addition; eight of 16 bits in the integer one.
    const work = Number(chains) * PROBE_STEPS * (loop === 'dot_add' ? 16 : 8);
    const run = (/** @type {number} */ times) => call(name, 0.5, 0.25, PROBE_STEPS * times);
    const kind = loop === 'dot_add' ? /** @type {const} */ ('integer peak') : /** @type {const} */ ('float peak');
    return [{ name: `probe ${loop}, ${chains} chains`, kind, probe: true, work, run }];
  });
}

/** @param {Kernels} kernels @param {number} memory the address of so many bytes @param {number} size @returns {Case[]} */
function products({ call, take, takeFloats }, memory, size) {
  const a = takeFloats(ROWS * K);
  const scales = takeFloats(COLUMNS);
  const out = take(ROWS * COLUMNS * 4);
  return FORMS.flatMap(({ name, bytes, kind }) => {
    const gemm = (/** @type {number} */ rows, /** @type {number} */ stride, /** @type {number} */ times) =>
      call('gemm', bytes, rows, K, COLUMNS, a, scales, memory, scales, out, stride, times);
    const matrices = Math.floor(size / (WEIGHTS * bytes));
    return [
      ...[8, 16, ROWS].map((rows) => ({
        name: `GEMM ${name} ${rows}x${K}x${COLUMNS}`,
        kind,
        work: 2 * rows * WEIGHTS,
        run: (/** @type {number} */ times) => gemm(rows, 0, times),
      })),
      {
        name: `GEMV ${name} ${K}x${COLUMNS}, ${matrices} matrices`,
        kind: /** @type {const} */ ('memory'),
        work: matrices * WEIGHTS * bytes,
        run: (/** @type {number} */ times) => {
          for (let i = 0; i < times; i++) gemm(1, WEIGHTS * bytes, matrices);
        },
      },
    ];
  });
}

/** @param {Kernels} kernels @returns {Case[]} */
function elementwise({ call, take, takeFloats }) {
  const count = ROWS * K;
  const [x, y, weight, scales] = [takeFloats(count), take(count * 4), takeFloats(K), take(ROWS * 4)];
  /** @type {[name: string, run: (times: number) => unknown][]} */
  const cases = [
    [`softmax, rows of ${SOFTMAX_WIDTH}`, (t) => call('softmax', y, x, count / SOFTMAX_WIDTH, SOFTMAX_WIDTH, t)],
    ['exp and sum', (t) => call('exp', y, x, count, 1, t)],
    [`LayerNorm, rows of ${K}`, (t) => call('layer_norm', y, x, ROWS, K, weight, t)],
    [`RMSNorm, rows of ${K}`, (t) => call('rms_norm', y, x, ROWS, K, weight, t)],
    ['GELU', (t) => call('activate', y, x, count, GELU, t)],
    ['tanh form of GELU', (t) => call('activate', y, x, count, GELU_TANH, t)],
    ['SiLU', (t) => call('activate', y, x, count, SILU, t)],
    ['softcap', (t) => call('softcap', y, x, count, CAP, t)],
    ['pack rows, f32', (t) => call('pack_f32', y, x, ROWS, K, t)],
    ['pack rows, int16', (t) => call('pack_i16', y, scales, x, ROWS, K, t)],
  ];
  return cases.map(([name, run]) => ({ name, kind: 'element', work: count, run }));
}

/** @param {Kernels} kernels @param {number} size bytes of memory to read @returns {Case[]} */
function casesOf(kernels, size) {
  const memory = kernels.takeFloats(size / 4);
  return [
    ...probes(kernels),
    ...memoryProbes(kernels, memory, size).map(({ name, run }) => ({
      name,
      kind: /** @type {const} */ ('memory'),
      probe: true,
      work: size,
      run,
    })),
    ...products(kernels, memory, size),
    ...elementwise(kernels),
  ];
}

/** Nanoseconds of one repetition, in turns with all others. @param {Case[]} cases @param {number} rounds */
function measureCases(cases, rounds) {
  const timed = (/** @type {Case} */ { run }, /** @type {number} */ times) => {
    const start = performance.now();
    run(times);
    return performance.now() - start;
  };
  const plans = cases.map((entry) => {
    const isLong = entry.kind === 'memory';
    for (let i = 0; i < (isLong ? 2 : WARM_UP); i++) timed(entry, 1);
    const times = isLong ? 1 : Math.ceil(SAMPLE / Math.max(timed(entry, 1), 1e-3));
    return { entry, times, samples: /** @type {number[]} */ ([]) };
  });
  for (let round = 0; round < rounds; round++) {
    for (const { entry, times, samples } of plans) samples.push((timed(entry, times) / times) * 1e6);
  }
  return plans.map(({ entry, samples }) => ({ ...entry, ...spreadOf(samples) }));
}

/** @typedef {Case & Spread} Result */
/** Operations or bytes a nanosecond, nanoseconds an element. @param {Result} result @param {keyof Spread} which */
const rateOf = (result, which) =>
  result.kind === 'element' ? result[which] / result.work : result.work / result[which];

const UNITS = { 'float peak': 'GFLOP/s', 'integer peak': 'GOP/s', memory: 'GB/s', element: 'ns an element' };

/** @param {import('./report.js').Settings} settings @returns {Promise<import('./report.js').Report>} */
export async function measure({ rounds, brief }) {
  const modules = [await loadKernels('plain'), await loadKernels('relaxed')].filter((module) => module !== null);
  const cases = modules.flatMap((module) =>
    casesOf(module, brief ? BRIEF_BYTES : MEMORY_BYTES).map((entry) => ({
      ...entry,
      name: `${entry.name}, ${module.variant}`,
    })),
  );
  const results = measureCases(cases, rounds);
  /** The best probe of a variant; memory is the same for both. @param {Result} result */
  const limitOf = ({ kind, name }) =>
    Math.max(
      ...results
        .filter((other) => other.probe && other.kind === kind)
        .filter((other) => kind === 'memory' || other.name.endsWith(name.slice(name.lastIndexOf(','))))
        .map((other) => rateOf(other, 'minimum')),
    );
  const shareOf = (/** @type {Result} */ result) =>
    result.kind === 'element' ? '' : percent(rateOf(result, 'minimum') / limitOf(result));
  const rows = results.map((result) => [
    result.name,
    digits(rateOf(result, 'minimum')),
    digits(rateOf(result, 'median')),
    UNITS[result.kind],
    shareOf(result),
  ]);
  const head = ['kernel', 'best', 'median', 'unit', 'of the limit'];
  const title = 'Kernels, one thread';
  return { tables: [{ title, head, rows }], kept: [besideEachOther(title, results, shareOf)] };
}

/**
 * The builds as columns, without probes and without the parts of others.
 * @param {string} title
 * @param {Result[]} results
 * @param {(result: Result) => string} shareOf
 * @returns {import('./report.js').Table}
 */
function besideEachOther(title, results, shareOf) {
  /** @type {Map<string, Map<string, string>>} */
  const kernels = new Map();
  for (const result of results.filter(({ name, probe }) => !probe && !/^pack|^exp/.test(name))) {
    const cut = result.name.lastIndexOf(', ');
    const [kernel, build] = [result.name.slice(0, cut), result.name.slice(cut + 2)];
    const share = shareOf(result);
    const against = result.kind === 'memory' ? 'reading memory' : 'the peak';
    const figure = `${digits(rateOf(result, 'minimum'))} ${UNITS[result.kind]}${share && `, ${share} of ${against}`}`;
    kernels.set(kernel, new Map([...(kernels.get(kernel) ?? []), [build, figure]]));
  }
  const builds = [...new Set([...kernels.values()].flatMap((figures) => [...figures.keys()]))];
  const rows = [...kernels].map(([kernel, figures]) => [kernel, ...builds.map((build) => figures.get(build) ?? '')]);
  return { title, head: ['kernel', ...builds], rows };
}
