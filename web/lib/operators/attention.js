/** scaledDotProductAttention: softmax(cap(scale Q K^T) + mask) V with every rule of ONNX Attention (opset 23 to 25) and of
 * torch's scaled_dot_product_attention. Synchronous; one copy in, one copy out. */

import { oneOf, refuseOthers } from '../checks/arguments.js';
import { coreOf } from '../engine/engine.js';
import { maskOf } from './mask.js';
import { planFor } from './plans.js';
import { isGiven, sizesOf, tensorsOf } from './shapes.js';
import { isIntegers, kindOf, lengthOf, refusal, reusedBuffer, sameCount, separateBuffers } from './tensors.js';

/** @typedef {import('../engine/engine.js').Engine} Engine */
/** @typedef {import('./mask.js').AttentionMask} AttentionMask */
/** @typedef {import('./shapes.js').Sizes} Sizes */
/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/** @typedef {'scores' | 'scaled' | 'capped' | 'masked' | 'weights'} AttentionStage */
/** @typedef {false | true | 'top-left' | 'bottom-right' | number} Causal */
/** @typedef {{ [Name in 'output' | 'presentKey' | 'presentValue' | AttentionStage]?: Float32Array | FloatTensor }} Out */
/**
 * @template {'output' | AttentionStage} [Returned='output']
 * @typedef {object} AttentionOptions
 * @property {FloatTensor} query [B, H, L, E], [B, L, H E] or [L, E]
 * @property {FloatTensor} key [B, G, S, E], [B, S, G E] or [S, E]; H is a multiple of G
 * @property {FloatTensor} value [B, G, S, Ev], [B, S, G Ev] or [S, Ev]; near 1e38 their weighted sum can overflow
 * @property {number} [heads] H, for three axes
 * @property {number} [kvHeads] G, for three axes; default: heads
 * @property {AttentionMask | null} [mask]
 * @property {Causal} [causal] query i sees the keys up to its place, i + offset. true, 'top-left': offset 0, with pastKey P;
 *   'bottom-right': S - L, S with the past; either with keyLengths: keyLengths[b] - L. A number is the offset, whatever else is
 *   given: the past is not added
 * @property {readonly [number, number] | null} [window] keys that far left and right of the query's place; -1 = any. Without
 *   causal the place is that of true: keyLengths move the window along
 * @property {Int32Array | null} [keyLengths] [B]; keys from there on are left out. Not with pastKey
 * @property {FloatTensor | null} [pastKey] [B, G, P, E], put before key
 * @property {FloatTensor | null} [pastValue] [B, G, P, Ev]
 * @property {number | null} [scale] default 1 / sqrt(E)
 * @property {number | null} [softcap] c > 0: the logits become c tanh(s / c), before the mask; 0 = none
 * @property {'zero' | 'nan'} [emptyRows] what a query that may see no key gets
 * @property {Returned} [returns] a stage to return as well, [B, H, L, S]
 * @property {Out | null} [out] buffers for the results, or the results of an earlier call
 */
/**
 * @template {'output' | AttentionStage} [Returned='output']
 * @typedef {{ output: FloatTensor, presentKey?: FloatTensor, presentValue?: FloatTensor }
 *   & Record<Exclude<Returned, 'output'>, FloatTensor>} AttentionResult
 */

const CALL = 'scaledDotProductAttention';
const RETURNS = /** @type {const} */ (['output', 'scores', 'scaled', 'capped', 'masked', 'weights']);
const OPTIONS = /** @type {const} */ ([
  ...['query', 'key', 'value', 'heads', 'kvHeads', 'mask', 'causal', 'window', 'keyLengths', 'pastKey', 'pastValue'],
  ...['scale', 'softcap', 'emptyRows', 'returns', 'out'],
]);
const OUT = [...RETURNS, 'presentKey', 'presentValue'];
const EMPTY_ROWS = /** @type {const} */ (['zero', 'nan']);
/** A cap below would be a denormal float, by which nothing can be divided exactly. */
const SMALLEST_CAP = 2 ** -126;
const LARGEST_OFFSET = 2 ** 31 - 1;

/**
 * @template {'output' | AttentionStage} [Returned='output']
 * @param {Engine} engine
 * @param {AttentionOptions<Returned>} options
 * @returns {AttentionResult<Returned>}
 */
export function scaledDotProductAttention(engine, options) {
  const core = coreOf(engine);
  if (typeof options !== 'object' || options === null) throw refusal(CALL, 'options', kindOf(options), 'an object');
  refuseOthers(`${CALL}: name of an option`, options, OPTIONS);
  // Each option is read once, and all of them before the engine's memory is touched: a getter may call anything.
  const { heads, kvHeads, mask: givenMask, keyLengths, causal, window, returns, out } = options;
  const { emptyRows: givenRows, scale: givenScale, softcap: givenCap } = options;
  const tensors = tensorsOf(CALL, options);
  const sizes = sizesOf(CALL, tensors, { heads, kvHeads });
  const mask = maskOf(CALL, givenMask, sizes);
  const lengths = lengthsOf(keyLengths, sizes);
  const stage = oneOf(`${CALL}: returns`, returns ?? 'output', RETURNS);
  const emptyRows = oneOf(`${CALL}: emptyRows`, givenRows ?? 'zero', EMPTY_ROWS);
  const scale = scaleOf(CALL, givenScale, sizes.keyDim);
  const softcap = softcapOf(givenCap);
  const offset = offsetOf(CALL, causal, sizes);
  const left = reachOf(window, 0);
  const right = reachOf(window, 1);
  const targets = targetsOf(out ?? null, stage);

  const plan = planFor(core, CALL, { sizes, mask: mask.layout, stage, hasLengths: lengths !== null });
  checkTargets(targets, plan, stage);
  const { fields } = plan;
  fields.scale = scale;
  fields.softcap = softcap;
  fields.empty_nan = emptyRows === 'nan' ? 1 : 0;
  fields.causal = isGiven(causal) && causal !== false ? 1 : 0;
  fields.offset = offset;
  fields.offset_from_lengths = lengths !== null && typeof causal !== 'number' ? 1 : 0;
  fields.window_left = left;
  fields.window_right = right;
  fields.mask_allowed = mask.allowed;

  const views = plan.views();
  const { query, key, value, past } = tensors;
  views.query.set(query.data);
  putRows(views.key, key, past?.key, sizes, sizes.keyDim);
  putRows(views.value, value, past?.value, sizes, sizes.valueDim);
  if (mask.data) views.mask.set(mask.data);
  if (lengths) views.lengths.set(lengths);
  const maps = stage === 'output' ? null : (targets.stage ?? new Float32Array(plan.counts.stage));
  plan.run(maps);
  const result = collect(plan, targets, sizes.hasPast);
  if (maps) result[stage] = { data: maps, shape: plan.shapes.stage };
  return /** @type {AttentionResult<Returned>} */ (result);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

/**
 * @param {unknown} lengths
 * @param {Sizes} sizes
 */
function lengthsOf(lengths, { batch, keys, hasPast }) {
  if (!isGiven(lengths)) return null;
  if (!isIntegers(lengths)) throw refusal(CALL, 'keyLengths', kindOf(lengths), 'an Int32Array');
  if (hasPast) throw refusal(CALL, 'keyLengths', 'keyLengths with pastKey', 'one of them');
  const count = lengthOf(lengths);
  if (count !== batch) throw refusal(CALL, 'keyLengths: elements', count, `${batch}, the batch`);
  for (let b = 0; b < batch; b++) {
    if (lengths[b] < 0 || lengths[b] > keys) {
      throw refusal(CALL, `keyLengths[${b}]`, lengths[b], `a whole number from 0 to ${keys}, the keys`);
    }
  }
  return lengths;
}

/**
 * @param {string} call
 * @param {unknown} scale
 * @param {number} keyDim
 */
export function scaleOf(call, scale, keyDim) {
  if (!isGiven(scale)) return 1 / Math.sqrt(keyDim);
  if (typeof scale !== 'number' || !Number.isFinite(Math.fround(scale))) {
    throw refusal(call, 'scale', scale, 'a finite number below 3.4e38');
  }
  return scale;
}

/** @param {unknown} softcap */
function softcapOf(softcap) {
  if (!isGiven(softcap) || softcap === 0) return 0;
  const cap = typeof softcap === 'number' ? Math.fround(softcap) : Number.NaN;
  if (!(cap >= SMALLEST_CAP && cap < Number.POSITIVE_INFINITY)) {
    throw refusal(CALL, 'softcap', softcap, '0 (none) or a number from 1.2e-38 to 3.4e38');
  }
  return cap;
}

/**
 * Where query 0 stands among the keys. With keyLengths the engine reckons it for each sequence, unless it is given.
 * @param {string} call
 * @param {unknown} causal
 * @param {Pick<Sizes, 'queries' | 'keys' | 'past'>} sizes
 */
export function offsetOf(call, causal, { queries, keys, past }) {
  if (!isGiven(causal) || typeof causal === 'boolean' || causal === 'top-left') return past;
  if (causal === 'bottom-right') return keys - queries;
  if (typeof causal === 'number' && Number.isInteger(causal) && Math.abs(causal) <= LARGEST_OFFSET) return causal;
  throw refusal(call, 'causal', causal, "true, false, 'top-left', 'bottom-right' or a whole number");
}

/**
 * @param {unknown} window
 * @param {0 | 1} side
 */
function reachOf(window, side) {
  if (!isGiven(window)) return -1;
  if (!Array.isArray(window) || window.length !== 2) throw refusal(CALL, 'window', window, '[left, right]');
  const reach = window[side];
  if (!Number.isInteger(reach) || reach < -1 || reach > LARGEST_OFFSET) {
    throw refusal(CALL, `window[${side}]`, reach, 'a whole number, or -1 for any');
  }
  return reach;
}

// ---- data in and out ------------------------------------------------------------------------------------------------

/**
 * Past rows, then new ones, of every head; without a past the tensor as it is.
 * @param {Float32Array} to
 * @param {FloatTensor} fresh
 * @param {FloatTensor | null | undefined} past
 * @param {Sizes} sizes
 * @param {number} dim
 */
function putRows(to, { data }, past, { rank, batch, kvHeads, keys, past: pastRows }, dim) {
  if (!past) {
    to.set(data);
    return;
  }
  const rows = keys - pastRows;
  const headStride = rank === 3 ? dim : rows * dim;
  const rowStride = rank === 3 ? kvHeads * dim : dim;
  const batchStride = rows * kvHeads * dim;
  let at = 0;
  let old = 0;
  for (let b = 0; b < batch; b++) {
    for (let h = 0; h < kvHeads; h++) {
      for (let end = old + pastRows * dim; old < end; ) to[at++] = past.data[old++];
      for (let j = 0; j < rows; j++) {
        const from = b * batchStride + h * headStride + j * rowStride;
        for (let e = 0; e < dim; e++) to[at++] = data[from + e];
      }
    }
  }
}

/**
 * @param {Out | null} out
 * @param {typeof RETURNS[number]} stage
 */
function targetsOf(out, stage) {
  if (out !== null && typeof out !== 'object') throw refusal(CALL, 'out', kindOf(out), '{output, weights, ...}');
  if (out !== null) refuseOthers(`${CALL}: name in out`, out, OUT);
  return {
    output: reusedBuffer(CALL, 'output', out?.output),
    stage: stage === 'output' ? null : reusedBuffer(CALL, stage, out?.[stage]),
    presentKey: reusedBuffer(CALL, 'presentKey', out?.presentKey),
    presentValue: reusedBuffer(CALL, 'presentValue', out?.presentValue),
  };
}

/**
 * @param {ReturnType<typeof targetsOf>} targets
 * @param {import('./plans.js').Plan} plan
 * @param {typeof RETURNS[number]} stage
 */
function checkTargets({ output, stage: maps, presentKey, presentValue }, { counts }, stage) {
  sameCount(CALL, 'output', output, counts.out);
  sameCount(CALL, stage, maps, counts.stage);
  sameCount(CALL, 'presentKey', presentKey, counts.key);
  sameCount(CALL, 'presentValue', presentValue, counts.value);
  separateBuffers(CALL, { output, presentKey, presentValue, ...(stage === 'output' ? {} : { [stage]: maps }) });
}

/**
 * @param {import('./plans.js').Plan} plan
 * @param {ReturnType<typeof targetsOf>} targets
 * @param {boolean} hasPast
 */
function collect({ views, shapes }, targets, hasPast) {
  const { out, key, value } = views();
  /** @type {Record<string, FloatTensor>} */
  const result = { output: { data: copyOut(out, targets.output), shape: shapes.output } };
  if (hasPast) {
    result.presentKey = { data: copyOut(key, targets.presentKey), shape: shapes.presentKey };
    result.presentValue = { data: copyOut(value, targets.presentValue), shape: shapes.presentValue };
  }
  return result;
}

/**
 * @param {Float32Array} from
 * @param {Float32Array | null} to
 */
function copyOut(from, to) {
  if (!to) return from.slice();
  to.set(from);
  return to;
}
