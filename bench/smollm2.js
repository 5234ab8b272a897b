/** SmolLM2-135M in three precisions: tokens a second against what reading all weights once a token would allow, measured in
 * the same rounds; and the rate of a pass over a prompt of 512 tokens: node bench/suite.js decode */
import { anyIds, loadDecoder, makeEngine, PRECISIONS } from './engines.js';
import { loadKernels, MEMORY_BYTES, memoryProbes } from './load_kernels.js';
import { spreadOf } from './race.js';
import { digits, percent } from './report.js';

/** @typedef {import('./engines.js').Own} Own */
/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */

const PROMPT = 'Once upon a time, in a village at the foot of a mountain, there lived';
/** New tokens, and tokens of a prompt computed at once. */
const SIZES = { written: 16, prompt: 512 };
const BRIEF = { written: 2, prompt: 16 };

/** @param {Own} own @param {number} written milliseconds from each token to the next: the head, the choice, one pass over all layers */
async function decodeOnce({ model }, written) {
  /** @type {number[]} */
  const at = [];
  const run = await model.generate(PROMPT, { maxNewTokens: written, onToken: () => at.push(performance.now()) });
  run.dispose();
  return at.slice(1).map((time, i) => time - at[i]);
}

/** Milliseconds in the layers. @param {Own} own @param {number} prompt */
async function prefillOnce({ model }, prompt) {
  const run = await model.forward({ ids: anyIds(prompt, model) });
  const { time } = run;
  run.dispose();
  return time;
}

/** Multiplications and additions of a prompt: matrices of the layers, scores and mixtures below the diagonal. @param {Own} own @param {number} n */
function operations({ model: { info } }, n) {
  const matrices = info.parameters - info.vocab * info.width;
  return 2 * n * matrices + 2 * n * (n + 1) * info.layers * info.heads * info.headDim;
}

/** @param {Settings} settings */
async function contenders({ threads, brief }) {
  /** @type {Own[]} */
  const models = [];
  for (const count of new Set([1, threads])) {
    for (const precision of brief ? PRECISIONS.slice(-1) : PRECISIONS) {
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
  const probes = memoryProbes(kernels, kernels.takeFloats(MEMORY_BYTES / 4), MEMORY_BYTES);
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
export async function measure(settings) {
  const models = await contenders(settings);
  if (models.length === 0) throw new Error('SmolLM2 is not in build/cache; ./build.sh bench fetches it');
  const { written, prompt } = settings.brief ? BRIEF : SIZES;
  const readOnce = await memoryReader();
  const reads = [];
  const turns = Math.ceil(settings.rounds / 4);
  for (let round = -1; round < turns; round++) {
    for (const own of models) {
      reads.push(readOnce());
      const [steps, prefill] = [await decodeOnce(own, written), await prefillOnce(own, prompt)];
      if (round < 0) continue;
      own.steps.push(...steps);
      own.prefills.push(prefill);
    }
  }
  const bandwidth = MEMORY_BYTES / spreadOf(reads).minimum / 1e6;
  const rows = models.map((own) => {
    const step = spreadOf(own.steps);
    const { bytes } = own.model.info;
    return [
      own.name,
      (bytes / 1e6).toFixed(0),
      digits(1000 / step.minimum),
      digits(1000 / step.median),
      percent(bytes / step.minimum / 1e6 / bandwidth),
      digits(operations(own, prompt) / spreadOf(own.prefills).minimum / 1e6),
    ];
  });
  for (const { model } of models) model.dispose();
  const head = ['weights, build, threads', 'MB', 'tokens/s, best', 'median', 'of the bandwidth'];
  const table = {
    title: 'SmolLM2-135M: next tokens, and a prompt at once',
    head: [...head, `GFLOP/s, ${prompt} at once`],
    rows,
    notes: [`Memory: ${digits(bandwidth)} GB/s with one thread, in the same rounds.`],
  };
  return { tables: [table], kept: [table] };
}
