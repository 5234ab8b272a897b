/** Small models of every family through the engine: configs and tensors that do not fit together must not bring it down, and
 * whatever was loaded or refused must leave no memory behind. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createCore } from '../../../web/lib/engine/core.js';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { parseJson } from '../../../web/lib/formats/json.js';
import { loadInThread } from '../../../web/lib/loading/load.js';
import { pauseThread } from '../../../web/lib/engine/pause.js';
import { fileOf } from '../../lib/formats/safetensors_file.js';
import { bytesOf, jsonBytes, jsonInputs, sumOf } from './inputs.js';

/** @typedef {import('../../../web/lib/engine/core.js').Core} Core */
/** @typedef {[name: string, dtype: string, shape: number[]]} Tensor without its values */

const TINY = new URL('../../golden/tiny/', import.meta.url);
const WASM = new URL('../../../web/lib/qkv.wasm', import.meta.url);
const LIMIT = 64e6;
/** Bytes of the tensors of one input; those that claim more are left to the targets of the formats. */
const MOST_BYTES = 1e6;
const BYTES = new Map(Object.entries({ F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1, I32: 4, I64: 8 }));
const TOKENS = 5;

/** @param {string} folder @returns {Tensor[]} */
function tensorsOf(folder) {
  const files = readdirSync(new URL(`${folder}/`, TINY)).filter((name) => /^model.*\.safetensors$/.test(name));
  return files.flatMap((name) => {
    const file = readFileSync(new URL(`${folder}/${name}`, TINY));
    const header = JSON.parse(file.subarray(8, 8 + Number(file.readBigUInt64LE())).toString());
    delete header.__metadata__;
    return Object.entries(header).map(([key, { dtype, shape }]) => /** @type {Tensor} */ ([key, dtype, shape]));
  });
}

const SEEDS = readdirSync(TINY).flatMap((folder) => {
  const tensors = tensorsOf(folder);
  const config = JSON.parse(readFileSync(new URL(`${folder}/config.json`, TINY), 'utf8'));
  return tensors.length === 0 ? [] : [jsonBytes({ config, tensors })];
});

/** @param {unknown} value @returns {value is Tensor} */
function isTensor(value) {
  if (!Array.isArray(value) || typeof value[0] !== 'string' || !BYTES.has(value[1])) return false;
  return Array.isArray(value[2]) && value[2].every((size) => Number.isSafeInteger(size) && size >= 0);
}

/** @param {unknown} list @returns {Uint8Array | null} null where it would be too large */
function weightsFile(list) {
  const tensors = (Array.isArray(list) ? list : []).filter(isTensor);
  let end = 0;
  const entries = tensors.map(([name, dtype, shape]) => {
    const begin = end;
    end += shape.reduce((product, size) => product * size, BYTES.get(dtype) ?? 1);
    return `${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`;
  });
  if (!(end <= MOST_BYTES)) return null;
  // 0x3c3c is near one in float16, 0.01 in bfloat16 and in float32.
  return fileOf(`{${entries}}`, new Uint8Array(end).fill(0x3c));
}

/** @type {{ core: Core | null }} */
const held = { core: null };

/** @returns {Promise<Core>} a new one where the one before has ended */
async function liveCore() {
  if (held.core?.isAlive()) return held.core;
  held.core = await createCore(new WebAssembly.Module(readFileSync(WASM)), { limit: LIMIT });
  return held.core;
}

/**
 * @param {Core} core
 * @param {Record<string, Uint8Array>} files
 * @param {'auto' | 'f32' | 'q10' | 'q8'} precision
 * @param {number} sum of the input, for the choice of ids
 */
async function loadAndRun(core, files, precision, sum) {
  const model = await loadInThread(files, { precision }, { core, pause: pauseThread });
  const { vocab, maxTokens, family, layers, heads, width } = model.info;
  try {
    const ids = Array.from({ length: Math.min(TOKENS, maxTokens) }, (_, i) => (sum + 7 * i) % vocab);
    const run = await model.forward({ ids });
    const weights = await run.getWeights(layers - 1, heads - 1);
    assert.equal(weights.data.length, ids.length ** 2);
    assert.equal((await run.hidden(layers)).data.length, ids.length * width);
    if (model.info.headRows > 0) await run.logits();
    run.dispose();
    return `${family} ${precision}, a head ${model.info.headRows > 0}`;
  } finally {
    model.dispose();
  }
}

/** @type {import('./inputs.js').Target} */
export const load = {
  name: 'load',
  isJson: true,
  seeds: SEEDS,
  inputs: jsonInputs,
  async check(bytes) {
    const { config, tensors } = parseJson(bytes, 'input');
    const weights = weightsFile(tensors);
    if (weights === null) return 'too large';
    const files = { 'config.json': bytesOf(JSON.stringify(config ?? {})), 'model.safetensors': weights };
    const sum = sumOf(bytes);
    const precision = /** @type {const} */ (['auto', 'auto', 'f32', 'q10', 'q8'])[sum % 5];
    const core = await liveCore();
    const before = core.call('qkv_heap_used');
    try {
      return await loadAndRun(core, files, precision, sum);
    } catch (error) {
      if (error instanceof QkvError) assert.notEqual(error.code, 'crash', error.message);
      throw error;
    } finally {
      if (core.isAlive()) assert.equal(core.call('qkv_heap_used'), before, 'memory left behind');
    }
  },
};
