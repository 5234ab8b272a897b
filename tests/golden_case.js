/** One tiny model against PyTorch: every attention, hidden state, logit and stage of every input that its folder has. The
 * format of the folders is told in tests/golden/README.md. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModel } from 'qkv';
import { BOUNDS, readSafetensors, tensorOf } from './api/golden.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').Run<true>} Run */
/** @typedef {import('qkv').StageName} StageName */
/** @typedef {NonNullable<Parameters<typeof loadModel>[1]>} LoadOptions */
/** @typedef {Map<string, import('./api/golden.js').Tensor>} Golden */
/** @typedef {{ ids: number[], typeIds: number[] | undefined, from: number, n: number }} Sequence n tokens from place `from` on */
/** @typedef {{ file: string, what: string }} Input */
/** @typedef {{ case: string, family: string, class: string, task: string, inputs: Input[] }} Case an entry of index.json */
/**
 * The largest difference, as a share of what is allowed, and where it is.
 * @typedef {{ ratio: number, where: string, compared: number }} Worst
 */

export const CONFIGS = ['config.json', 'config.v4.json'];
/** Families whose models the library does not compute yet. */
export const NOT_YET = ['t5', 'marian', 'bart', 'm2m_100', 'vit', 'whisper'];

/** Our stages and the golden ones they equal: the last in the list that is there. */
const PER_HEAD = {
  qLinear: ['q'],
  kLinear: ['k'],
  q: ['q', 'q_norm', 'q_rot'],
  k: ['k', 'k_norm', 'k_rot'],
  v: ['v'],
  context: ['context'],
};
const MAPS = {
  scores: ['scores'],
  scaled: ['scaled'],
  capped: ['scaled', 'capped'],
  biased: ['scaled', 'capped', 'biased'],
  masked: ['masked'],
};
const WHOLE = { concat: ['concat'], output: ['out'] };
/** Forbidden entries are about -3.4e38 in the golden files. */
const FORBIDDEN = -1e30;

/**
 * The cases of a folder that has an index.json, or none.
 * @param {string} folder
 * @returns {Case[]}
 */
export function casesOf(folder) {
  const path = join(folder, 'index.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).tiny : [];
}

/**
 * The files of a model, by the names that loadModel wants.
 * @param {string} folder
 * @param {string} config which of its two configs
 */
export function filesOf(folder, config) {
  const names = readdirSync(folder).filter((name) => name.startsWith('model'));
  /** @type {{ [name: string]: Uint8Array }} */
  const files = { 'config.json': readFileSync(join(folder, config)) };
  for (const name of names) files[name] = readFileSync(join(folder, name));
  return files;
}

/**
 * @param {string} folder of the case
 * @param {string} config
 * @param {Input[]} inputs
 * @param {LoadOptions} [options]
 * @returns {Promise<Worst>}
 */
export async function checkCase(folder, config, inputs, options = {}) {
  const model = await loadModel(filesOf(folder, config), options);
  /** @type {Worst} */
  const worst = { ratio: 0, where: 'nothing', compared: 0 };
  for (const { file, what } of inputs) {
    const golden = readSafetensors(join(folder, file));
    const sequences = sequencesOf(golden);
    const run = await model.forward({ batch: sequences.map(({ ids, typeIds }) => ({ ids, typeIds })) });
    const compare = createCompare(golden, worst, what);
    for (const [sequence, place] of sequences.entries()) {
      await checkSequence(run, model, golden, compare, sequence, place);
    }
    run.dispose();
  }
  model.dispose();
  return worst;
}

/**
 * The real tokens of each sequence; padding may stand on either side.
 * @param {Golden} golden
 * @returns {Sequence[]}
 */
export function sequencesOf(golden) {
  const { shape, data } = tensorOf(golden, 'input_ids');
  const [batch, length] = shape;
  return Array.from({ length: batch }, (_, b) => {
    const mask = Array.from(tensorOf(golden, 'attention_mask').data).slice(b * length, (b + 1) * length);
    const from = mask.indexOf(1);
    const n = mask.lastIndexOf(1) + 1 - from;
    const part = (/** @type {ArrayLike<number>} */ all) =>
      Array.from(all).slice(b * length + from, b * length + from + n);
    const types = golden.get('token_type_ids');
    return { ids: part(data), typeIds: types && part(types.data), from, n };
  });
}

/** @typedef {ReturnType<typeof createCompare>} Compare */

/**
 * @param {Golden} golden
 * @param {Worst} worst to be kept up to date
 * @param {string} input for messages
 */
function createCompare(golden, worst, input) {
  /** @type {Map<string, number>} */
  const largest = new Map();
  const largestOf = (/** @type {string} */ name) => {
    const known = largest.get(name);
    if (known !== undefined) return known;
    const values = tensorOf(golden, name).data;
    let found = 0;
    for (const value of values) if (value > FORBIDDEN) found = Math.max(found, Math.abs(value));
    largest.set(name, found);
    return found;
  };
  /**
   * @param {string} name of the golden tensor
   * @param {Float32Array} actual
   * @param {ArrayLike<number>} expected
   * @param {string} where
   */
  return (name, actual, expected, where) => {
    const allowed = BOUNDS.golden * (1 + largestOf(name));
    if (actual.length !== expected.length) {
      throw new Error(`${input}: ${where}: ${actual.length} values, ${name} has ${expected.length}`);
    }
    for (let i = 0; i < actual.length; i++) {
      const isForbidden = expected[i] <= FORBIDDEN;
      const difference = isForbidden
        ? Number(actual[i] !== Number.NEGATIVE_INFINITY)
        : Math.abs(actual[i] - expected[i]) / allowed;
      const ratio = isForbidden && difference > 0 ? Number.POSITIVE_INFINITY : difference;
      worst.compared++;
      if (ratio <= worst.ratio) continue;
      worst.ratio = ratio;
      worst.where = `${input}: ${where}`;
    }
  };
}

/**
 * @param {Run} run
 * @param {Model} model
 * @param {Golden} golden
 * @param {Compare} compare
 * @param {number} sequence
 * @param {Sequence} place
 */
async function checkSequence(run, { info }, golden, compare, sequence, place) {
  const rows = [place.from, place.n];
  for (let i = 0; i <= info.layers; i++) {
    const name = `hidden_states.${i}`;
    if (!golden.has(name)) continue;
    const { data } = await run.hidden(i, { sequence });
    compare(name, data, partOf(golden, name, [sequence], rows), `hidden state ${i}`);
  }
  if (golden.has('last_hidden_state')) {
    const { data } = await run.hidden(info.layers, { sequence });
    compare('last_hidden_state', data, partOf(golden, 'last_hidden_state', [sequence], rows), 'last hidden state');
  }
  if (golden.has('logits')) await checkLogits(run, golden, compare, sequence, place);
  for (let layer = 0; layer < info.layers; layer++) {
    for (let head = 0; head < info.heads; head++) {
      const name = `attentions.${layer}`;
      const { data } = await run.getWeights(layer, head, { sequence });
      compare(name, data, partOf(golden, name, [sequence, head], rows, rows), `weights ${layer}.${head}`);
    }
    if (golden.has(`stage.${layer}.q`)) await checkStages(run, info, golden, compare, sequence, rows, layer);
  }
}

/**
 * @param {Run} run
 * @param {Golden} golden
 * @param {Compare} compare
 * @param {number} sequence
 * @param {Sequence} place
 */
async function checkLogits(run, golden, compare, sequence, { from, n }) {
  const { shape } = tensorOf(golden, 'logits');
  const rows = shape[2] ?? 1;
  for (let position = 0; position < n; position++) {
    const data = await run.logits({ sequence, position });
    if (data.length !== rows) throw new Error(`logits: ${data.length}, the golden file has ${rows}`);
    const at = (sequence * shape[1] + from + position) * rows;
    compare('logits', data, tensorOf(golden, 'logits').data.slice(at, at + rows), `logits at ${position}`);
  }
}

/**
 * @param {Run} run
 * @param {Model['info']} info
 * @param {Golden} golden
 * @param {Compare} compare
 * @param {number} sequence
 * @param {number[]} rows
 * @param {number} layer
 */
async function checkStages(run, info, golden, compare, sequence, rows, layer) {
  const nameOf = (/** @type {string[]} */ names) => {
    const found = names.findLast((name) => golden.has(`stage.${layer}.${name}`));
    return `stage.${layer}.${found}`;
  };
  for (let head = 0; head < info.heads; head++) {
    const place = { layer, head, sequence };
    for (const [stage, names] of Object.entries(PER_HEAD)) {
      const name = nameOf(names);
      const ofHead = Math.floor((head * tensorOf(golden, name).shape[1]) / info.heads);
      const { data } = await run.getStage(/** @type {StageName} */ (stage), place);
      compare(name, data, partOf(golden, name, [sequence, ofHead], rows), `${stage} ${layer}.${head}`);
    }
    for (const [stage, names] of Object.entries(MAPS)) {
      const name = nameOf(names);
      const { data } = await run.getStage(/** @type {StageName} */ (stage), place);
      compare(name, data, partOf(golden, name, [sequence, head], rows, rows), `${stage} ${layer}.${head}`);
    }
  }
  for (const [stage, names] of Object.entries(WHOLE)) {
    const name = nameOf(names);
    const { data } = await run.getStage(/** @type {StageName} */ (stage), { layer, sequence });
    compare(name, data, partOf(golden, name, [sequence], rows), `${stage} ${layer}`);
  }
}

/**
 * The part of a golden tensor at the leading indices, cut to some rows and, where given, columns: [first, count] each.
 * @param {Golden} golden
 * @param {string} name
 * @param {number[]} indices
 * @param {number[]} rows
 * @param {number[]} [columns]
 */
export function partOf(golden, name, indices, rows, columns) {
  const { shape, data } = tensorOf(golden, name);
  const size = (/** @type {number} */ axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
  const start = indices.reduce((sum, index, axis) => sum + index * size(axis), 0);
  const width = shape[shape.length - 1];
  const [first, count] = columns ?? [0, width];
  return Float32Array.from({ length: rows[1] * count }, (_, at) => {
    return data[start + (rows[0] + Math.floor(at / count)) * width + first + (at % count)];
  });
}
