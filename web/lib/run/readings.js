/** What can be read from a finished run, each computed by the engine when it is asked for and copied out. The functions stand
 * for the methods of the same names, which api/run.js documents; they answer at once, and a run that was given up is
 * refused by whoever calls them. */

import { oneOf, optionsOf, readArguments, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { embedSequence, recipeOf } from './embedding.js';
import { likeliest } from './probabilities.js';

/** @typedef {import('../api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('../api/run.js').EmbeddingOptions} EmbeddingOptions */
/** @typedef {import('../api/run.js').HeadStatistics} HeadStatistics */
/** @typedef {import('../api/run.js').Matrix} Matrix */
/** @typedef {import('../api/run.js').NextToken} NextToken */
/** @typedef {import('../api/run.js').Overview} Overview */
/** @typedef {import('../api/run.js').OverviewOptions} OverviewOptions */
/** @typedef {import('../api/run.js').Place} Place */
/** @typedef {import('../api/run.js').Position} Position */
/** @typedef {import('../api/run.js').Stage} Stage */
/** @typedef {import('../api/run.js').StageName} StageName */
/** @typedef {import('../api/run.js').StageOptions} StageOptions */
/** @typedef {import('../api/run.js').WeightsOptions} WeightsOptions */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../model/input.js').InputLimits} InputLimits */
/** @typedef {import('../model/input.js').Sequence} Sequence */
/**
 * @typedef {object} Readable
 * @property {Core} core
 * @property {number} pointer of the run
 * @property {ModelInfo} info
 * @property {Sequence[]} sequences
 * @property {InputLimits} limits
 */
/** @typedef {{ kind: number, sequence: number, n: number }} EnginePlace n: tokens of the sequence */

/** @type {readonly (keyof WeightsOptions)[]} */
const WEIGHTS_OPTIONS = ['kind', 'sequence', 'stage', 'rows'];
/** A large matrix leaves the engine in windows of so many floats, so that it is held there only in part. */
const WINDOW_FLOATS = 2 ** 20;
/** How many tokens nextTokens gives unasked. */
const USUAL_TOKENS = 10;

/**
 * @param {Readable} run
 * @param {number} layer
 * @param {number} head
 * @param {WeightsOptions} [options]
 * @returns {Matrix}
 */
export function getWeights(run, layer, head, options) {
  const { layers, heads } = run.info;
  const given = optionsOf('getWeights', options, WEIGHTS_OPTIONS);
  const place = placeOf(run, 'getWeights', given);
  const { stages, columns } = run.core.description;
  const squares = stages.filter((name) => columns.get(name) === 'keys');
  const stage = oneOf('getWeights: stage', given.stage ?? 'weights', squares);
  wholeNumber('getWeights: layer', layer, 0, layers - 1);
  wholeNumber('getWeights: head', head, 0, heads - 1);
  const [from, to] = readArguments('getWeights', () => windowOf(given.rows ?? [0, place.n], place.n));
  const data = squareData(run, 'getWeights', stage, layer, head, place, [from, to]);
  return { rows: to - from, cols: place.n, data };
}

/**
 * @param {Readable} run
 * @param {OverviewOptions} [options]
 * @returns {Overview}
 */
export function overview(run, options) {
  const { core, pointer, info } = run;
  const { layers, heads } = info;
  const { thumbnail: most } = core.description.limits;
  const { size = most, ...given } = optionsOf('overview', options, ['kind', 'sequence', 'size']);
  const { kind, sequence, n } = placeOf(run, 'overview', given);
  const s = Math.min(n, wholeNumber('overview: size', size, 1, most));
  const names = core.description.stats;
  const counts = [layers * heads * s * s, layers * heads * names.length];
  const all = core.withMemory('overview', n, (marks) => {
    core.heap.writeBytes(marks, separatorsOf(run, sequence));
    return floats(core, 'overview', counts[0] + counts[1], (out) =>
      core.call('qkv_overview', pointer, kind, sequence, s, marks, out, out + counts[0] * 4),
    );
  });
  return { thumbnails: all.slice(0, counts[0]), s, stats: statisticsOf(all.subarray(counts[0]), names, heads) };
}

/**
 * @param {Readable} run
 * @param {StageName} name
 * @param {StageOptions} [options]
 * @returns {Stage}
 */
export function getStage(run, name, options) {
  const { layers, heads, headDim, width } = run.info;
  const { stages, columns } = run.core.description;
  const stage = oneOf('getStage: name', name, stages);
  const { layer, head, ...given } = optionsOf('getStage', options, ['layer', 'head', 'kind', 'sequence']);
  const place = placeOf(run, 'getStage', given);
  const shape = columns.get(stage);
  const row = wholeNumber('getStage: layer', layer, 0, layers - 1);
  const column = shape === 'keys' || shape === 'head' ? wholeNumber('getStage: head', head, 0, heads - 1) : 0;
  if (shape === 'keys') {
    const data = squareData(run, `getStage('${stage}')`, stage, row, column, place, [0, place.n]);
    return { shape: [place.n, place.n], data };
  }
  if (shape === 'head') return stageData(run, stage, row, column, place, [place.n, headDim]);
  return stageData(run, stage, row, 0, place, [place.n, shape === 'heads' ? heads * headDim : width]);
}

/**
 * @param {Readable} run
 * @param {number} index
 * @param {Place} [options]
 * @returns {Stage}
 */
export function hidden(run, index, options) {
  const { layers, width } = run.info;
  const place = placeOf(run, 'hidden', optionsOf('hidden', options, ['kind', 'sequence']));
  const shape = [place.n, width];
  const at = wholeNumber('hidden: index', index, 0, layers);
  if (at === layers) return stageData(run, 'x', layers, 0, place, shape);
  return stageData(run, 'hidden', at - 1, 0, place, shape);
}

/**
 * One vector for each sequence.
 * @param {Readable} run
 * @param {EmbeddingOptions} [options]
 * @returns {Float32Array[]}
 */
export function embeddings({ core, pointer, info, sequences, limits }, options) {
  const given = optionsOf('embedding', options, ['pooling', 'normalize']);
  const { width } = info;
  const recipe = recipeOf(limits.embedding, given, { call: 'embedding', width, poolings: core.description.poolings });
  return sequences.map(({ skip: first = 0 }, sequence) =>
    embedSequence(core, { run: pointer, sequence, first, width }, recipe),
  );
}

/**
 * @param {Readable} run
 * @param {Position} [options]
 * @returns {Float32Array}
 */
export function logits(run, options) {
  checkHead(run, 'logits');
  return logitsAt(run, 'logits', optionsOf('logits', options, ['sequence', 'position']));
}

/**
 * @param {Readable} run
 * @param {number} [k]
 * @param {Position} [options]
 * @returns {NextToken[]}
 */
export function nextTokens(run, k = USUAL_TOKENS, options = {}) {
  const { tokenizer, headRows } = run.limits;
  checkHead(run, 'nextTokens');
  const place = optionsOf('nextTokens', options, ['sequence', 'position']);
  if (headRows === 1) {
    const fix = 'Its head gives each token one number; use run.logits().';
    const what = `nextTokens: ${run.info.name} is a discriminator and proposes no tokens`;
    throw new QkvError('unsupported', what, { fix });
  }
  const count = wholeNumber('nextTokens: k', k, 1, headRows);
  const likely = likeliest(logitsAt(run, 'nextTokens', place), count, 'nextTokens');
  return likely.map(({ id, probability }) => ({ id, text: tokenizer?.textOf(id) ?? `#${id}`, probability }));
}

// ---- what was asked -------------------------------------------------------------------------------------------------

/**
 * @param {Readable} run
 * @param {string} call
 * @param {Place} place
 * @returns {EnginePlace}
 */
function placeOf({ core, info, sequences }, call, { kind = info.kinds[0], sequence = 0 }) {
  const name = oneOf(`${call}: kind`, kind, info.kinds);
  const at = wholeNumber(`${call}: sequence`, sequence, 0, sequences.length - 1);
  return { kind: core.description.kinds.indexOf(name), sequence: at, n: sequences[at].ids.length };
}

/**
 * @param {unknown} rows
 * @param {number} n
 */
function windowOf(rows, n) {
  if (!Array.isArray(rows) || rows.length !== 2) {
    throw new QkvError('argument', 'getWeights: rows', { got: rows, want: '[from, to]' });
  }
  const from = wholeNumber('getWeights: rows[0]', rows[0], 0, n - 1);
  return [from, wholeNumber('getWeights: rows[1]', rows[1], from + 1, n)];
}

/**
 * @param {Readable} run
 * @param {string} call
 */
function checkHead({ info, limits }, call) {
  if (limits.headRows > 0) return;
  const fix = `${info.name} computes hidden states and attention; use run.embedding() or run.hidden().`;
  throw new QkvError('unsupported', `${call}: this model has no language-model head`, { fix });
}

// ---- what the engine answers ----------------------------------------------------------------------------------------

/**
 * Lets the engine fill count floats and copies them out.
 * @param {Core} core
 * @param {string} subject
 * @param {number} count
 * @param {(offset: number) => number} fill returns a status
 */
function floats(core, subject, count, fill) {
  return core.withMemory(subject, count * 4, (offset) => {
    core.check(subject, fill(offset));
    return core.heap.readFloat32(offset, count);
  });
}

/**
 * Rows [from, to) of an [N, N] stage.
 * @param {Readable} run
 * @param {string} call
 * @param {string} name
 * @param {number} layer
 * @param {number} head
 * @param {EnginePlace} place
 * @param {[from: number, to: number]} rows
 */
function squareData({ core, pointer }, call, name, layer, head, { kind, sequence, n }, [from, to]) {
  const stage = core.description.stages.indexOf(name);
  const data = new Float32Array((to - from) * n);
  const most = Math.max(1, Math.floor(WINDOW_FLOATS / n));
  for (let row = from; row < to; row += most) {
    const rows = Math.min(most, to - row);
    const part = floats(core, call, rows * n, (out) =>
      core.call('qkv_get_weights', pointer, kind, layer, head, stage, sequence, row, rows, out),
    );
    data.set(part, (row - from) * n);
  }
  return data;
}

/**
 * @param {Readable} run
 * @param {string} name
 * @param {number} layer
 * @param {number} head
 * @param {EnginePlace} place
 * @param {number[]} shape
 */
function stageData({ core, pointer }, name, layer, head, { kind, sequence }, shape) {
  const stage = core.description.stages.indexOf(name);
  const data = floats(core, `getStage('${name}')`, shape[0] * shape[1], (out) =>
    core.call('qkv_get_stage', pointer, kind, layer, head, stage, sequence, out),
  );
  return { shape, data };
}

/**
 * @param {Readable} run
 * @param {string} call
 * @param {Position} place
 */
function logitsAt({ core, pointer, sequences, limits }, call, { sequence = 0, position }) {
  const at = wholeNumber(`${call}: sequence`, sequence, 0, sequences.length - 1);
  const last = sequences[at].ids.length - 1;
  const row = position === undefined ? last : wholeNumber(`${call}: position`, position, 0, last);
  return floats(core, call, limits.headRows, (out) => core.call('qkv_logits', pointer, at, row, out));
}

/**
 * @param {Readable} run
 * @param {number} sequence
 */
function separatorsOf({ sequences, limits }, sequence) {
  const separators = limits.tokenizer?.separators ?? [];
  return Uint8Array.from(sequences[sequence].ids, (id) => (separators.includes(id) ? 1 : 0));
}

/**
 * @param {Float32Array} values [layers, heads, names]
 * @param {string[]} names
 * @param {number} heads
 */
function statisticsOf(values, names, heads) {
  return Array.from({ length: values.length / names.length }, (_, place) => {
    const statistics = names.map((name, index) => [name, values[place * names.length + index]]);
    const [layer, head] = [Math.floor(place / heads), place % heads];
    return /** @type {HeadStatistics} */ ({ layer, head, ...Object.fromEntries(statistics) });
  });
}
