/** SmolLM2-135M in three precisions: tokens a second against what reading all weights once a token would allow, measured in
 * the same rounds; and the rate of a pass over a prompt of 512 tokens: node bench/suite.js decode */
import { anyIds, loadDecoder, makeEngine } from './engines.js';
import { loadKernels, MEMORY_BYTES, memoryProbes } from './load_kernels.js';
import { spreadOf } from './race.js';
import { digits, percent, threadsText } from './report.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */

const PROMPT = 'Once upon a time, in a village at the foot of a mountain, there lived';
const NEW_TOKENS = 16;
const PREFILL = 512;

/** @param {Own} own milliseconds from each token to the next: the head, the choice, one pass over all layers */
async function decodeOnce({ model }) {
  /** @type {number[]} */
  const at = [];
  const run = await model.generate(PROMPT, { maxNewTokens: NEW_TOKENS, onToken: () => at.push(performance.now()) });
  run.dispose();
  return at.slice(1).map((time, i) => time - at[i]);
}

/** Milliseconds in the layers. @param {Own} own */
async function prefillOnce({ model }) {
  const run = await model.forward({ ids: anyIds(PREFILL, model) });
  const { time } = run;
  run.dispose();
  return time;
}

/** Multiplications and additions of a prompt: matrices of the layers, scores and mixtures below the diagonal. @param {Own} own */
function operations({ model: { info } }) {
  const matrices = info.parameters - info.vocab * info.width;
  return 2 * PREFILL * matrices + 2 * PREFILL * (PREFILL + 1) * info.layers * info.heads * info.headDim;
}

/** @param {number} threads */
async function contenders(threads) {
  /** @type {Own[]} */
  const models = [];
  for (const count of new Set([1, threads])) {
    for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
      const own = await loadDecoder(await makeEngine('auto', count), precision);
      if (own && !models.some(({ name }) => name === own.name)) models.push(own);
    }
  }
  return models.map((own) => ({ ...own, steps: /** @type {number[]} */ ([]), prefills: /** @type {number[]} */ ([]) }));
}

/** Reads memory and returns the milliseconds of the fastest way. */
async function memoryReader() {
  const kernels = await loadKernels('plain');
  if (!kernels) throw new Error('This Node has no 128-bit SIMD');
  const probes = memoryProbes(kernels, kernels.takeFloats(MEMORY_BYTES / 4));
  return () =>
    Math.min(
      ...probes.map(({ run }) => {
        const start = performance.now();
        run();
        return performance.now() - start;
      }),
    );
}

/** @param {Settings} settings @returns {Promise<Report>} */
export async function measure({ rounds, threads }) {
  const models = await contenders(threads);
  if (models.length === 0) throw new Error('SmolLM2 is not in build/cache; ./build.sh bench fetches it');
  const readOnce = await memoryReader();
  const reads = [];
  const turns = Math.ceil(rounds / 4);
  for (let round = -1; round < turns; round++) {
    for (const own of models) {
      reads.push(readOnce());
      const [steps, prefill] = [await decodeOnce(own), await prefillOnce(own)];
      if (round < 0) continue;
      own.steps.push(...steps);
      own.prefills.push(prefill);
    }
  }
  const bandwidth = MEMORY_BYTES / spreadOf(reads).minimum / 1e6;
  const readme = [];
  const rows = [];
  for (const own of models) {
    const step = spreadOf(own.steps);
    const { bytes } = own.model.info;
    const share = bytes / step.minimum / 1e6 / bandwidth;
    const rate = operations(own) / spreadOf(own.prefills).minimum / 1e6;
    const perSecond = digits(1000 / step.minimum);
    rows.push([
      own.name,
      (bytes / 1e6).toFixed(0),
      perSecond,
      digits(1000 / step.median),
      percent(share),
      digits(rate),
    ]);
    const figure = `${perSecond} tokens/s, ${percent(share)} of what reading the weights allows; prompt of ${PREFILL} ${digits(rate)} GFLOP/s`;
    readme.push({ what: `SmolLM2-135M, ${own.name}`, figure: `${figure}, ${threadsText(own.threads)}` });
    own.model.dispose();
  }
  const head = ['weights', 'MB', 'tokens/s, best', 'median', 'of the bandwidth', `GFLOP/s, ${PREFILL} at once`];
  const notes = [`Memory: ${digits(bandwidth)} GB/s with one thread, in the same rounds.`];
  return { tables: [{ title: 'SmolLM2-135M', head, rows, notes }], readme };
}
