/** What repeated calls of one shape share: a block of wasm memory with the struct, the scratch and a place for every
 * array, and views of it, so that such a call allocates nothing. A few shapes are kept for each engine, the latest
 * first; all of it goes with the engine's memory. */

import { writeStruct } from '../engine/describe.js';
import { QkvError } from '../checks/errors.js';
import { allocateBlock, lastingViews, scratchBytes } from './blocks.js';
import { neutralFields, setStrides } from './fields.js';
import { outputShape, stridesOf } from './shapes.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('./shapes.js').Sizes} Sizes */
/** @typedef {import('./mask.js').MaskLayout} MaskLayout */
/** @typedef {{ sizes: Sizes, mask: MaskLayout, stage: string, hasLengths: boolean }} Form all that a plan depends on */
/** @typedef {ReturnType<typeof createPlan>} Plan */

const MOST_PLANS = 8;
/** Maps are computed and copied out that many bytes at a time, so that they pass through the cache and not the memory. */
const STAGE_BYTES = 2 ** 18;
/** Beyond this only the latest plan is kept. */
const MOST_BYTES = 2 ** 28;

/** @type {WeakMap<Core, Plan[]>} */
const plansOfCore = new WeakMap();

/**
 * @param {Core} core
 * @param {string} call
 * @param {Form} form
 * @returns {Plan}
 */
export function planFor(core, call, form) {
  let plans = plansOfCore.get(core);
  if (!plans) {
    plans = [];
    plansOfCore.set(core, plans);
  }
  for (let i = 0; i < plans.length; i++) {
    if (!sameForm(plans[i].form, form)) continue;
    const plan = plans[i];
    for (let j = i; j > 0; j--) plans[j] = plans[j - 1];
    plans[0] = plan;
    return plan;
  }
  const plan = createWithRoom(core, call, form, plans);
  plans.unshift(plan);
  let bytes = 0;
  const kept = plans.findIndex((one, index) => {
    bytes += one.bytes;
    return index >= MOST_PLANS || (index > 0 && bytes > MOST_BYTES);
  });
  if (kept > 0) dropFrom(core, plans, kept);
  return plan;
}

/**
 * @param {Core} core
 * @param {string} call
 * @param {Form} form
 * @param {Plan[]} plans given up when memory is short
 */
function createWithRoom(core, call, form, plans) {
  try {
    return createPlan(core, call, form);
  } catch (error) {
    if (!(error instanceof QkvError) || error.code !== 'memory' || plans.length === 0) throw error;
    dropFrom(core, plans, 0);
    return createPlan(core, call, form);
  }
}

/**
 * @param {Core} core
 * @param {Plan[]} plans
 * @param {number} index
 */
function dropFrom(core, plans, index) {
  for (const plan of plans.splice(index)) core.free(plan.base);
}

/**
 * @param {Form} a
 * @param {Form} b
 */
const sameForm = (a, b) =>
  a.stage === b.stage && a.hasLengths === b.hasLengths && sameFields(a.sizes, b.sizes) && sameFields(a.mask, b.mask);

/**
 * @template {object} T
 * @param {T} a
 * @param {T} b
 */
function sameFields(a, b) {
  for (const name in a) if (a[name] !== b[name]) return false;
  return true;
}

/**
 * @param {Core} core
 * @param {string} call
 * @param {Form} form
 */
function createPlan(core, call, form) {
  const { sizes, mask, stage, hasLengths } = form;
  const fields = fieldsOf(core, form);
  const counts = countsOf(form);
  const block = allocateBlock(core, call, {
    lengths: hasLengths ? sizes.batch * 4 : 0,
    query: counts.query * 4,
    key: counts.key * 4,
    value: counts.value * 4,
    mask: mask.kind === 'flags' ? mask.count : mask.count * 4,
    out: counts.out * 4,
    stage: counts.mapsAtOnce * counts.map * 4,
    scratch: counts.scratch(core, call, fields),
  });
  const { base, bytes, at } = block;
  const { operator } = core.description;
  for (const name of /** @type {const} */ (['query', 'key', 'value', 'out'])) fields[name] = at(name);
  if (stage !== 'output') fields.stage_out = at('stage');
  if (mask.kind === 'add') fields.mask_add = at('mask');
  if (mask.kind === 'flags') fields.mask_flags = at('mask');
  if (hasLengths) fields.key_lengths = at('lengths');
  const views = lastingViews(core, base, bytes, (floats) => ({
    struct: core.heap.view(base, operator.length * 4),
    query: floats(at('query'), counts.query),
    key: floats(at('key'), counts.key),
    value: floats(at('value'), counts.value),
    out: floats(at('out'), counts.out),
    stage: floats(at('stage'), counts.mapsAtOnce * counts.map),
    lastStage: floats(at('stage'), counts.lastMaps * counts.map),
    lengths: new Int32Array(core.heap.bytes(base, 0).buffer, at('lengths'), hasLengths ? sizes.batch : 0),
    mask: mask.kind === 'flags' ? core.heap.bytes(at('mask'), mask.count) : floats(at('mask'), mask.count),
  }));
  const { batch, heads, kvHeads, queries, keys, keyDim, valueDim } = sizes;
  return {
    form,
    base,
    bytes,
    /** The fields that differ from call to call are set by the caller. */
    fields,
    views,
    counts,
    shapes: Object.freeze({
      output: outputShape(sizes, queries, valueDim),
      stage: Object.freeze([batch, heads, queries, keys]),
      presentKey: Object.freeze([batch, kvHeads, keys, keyDim]),
      presentValue: Object.freeze([batch, kvHeads, keys, valueDim]),
    }),
    /** @param {Float32Array | null} maps where the stage goes, [B, H, L, S] */
    run(maps) {
      // Nothing to compute; loops over a large batch without rows would only take time.
      if (counts.out === 0) return;
      const step = maps ? counts.mapsAtOnce : counts.heads;
      for (let first = 0; first < counts.heads; first += step) {
        const isLast = first + step >= counts.heads;
        fields.first = first;
        fields.count = isLast ? counts.heads - first : step;
        writeStruct(views().struct, operator, fields);
        core.check(call, core.call('qkv_attend', base, at('scratch'), counts.scratchBytes));
        if (maps) maps.set(isLast ? views().lastStage : views().stage, first * counts.map);
      }
    },
  };
}

/** @param {Form} form */
function countsOf({ sizes: { batch, heads, kvHeads, queries, keys, keyDim, valueDim }, stage }) {
  const map = stage === 'output' ? 0 : queries * keys;
  const mapsAtOnce = Math.max(1, Math.min(batch * heads, Math.floor(STAGE_BYTES / (4 * map || 1))));
  const counts = {
    heads: batch * heads,
    map,
    mapsAtOnce,
    lastMaps: (batch * heads) % mapsAtOnce || mapsAtOnce,
    query: batch * heads * queries * keyDim,
    key: batch * kvHeads * keys * keyDim,
    value: batch * kvHeads * keys * valueDim,
    out: batch * heads * queries * valueDim,
    stage: batch * heads * map,
    scratchBytes: 0,
    /**
     * @param {Core} core
     * @param {string} call
     * @param {Record<string, number>} fields
     */
    scratch(core, call, fields) {
      counts.scratchBytes = counts.out === 0 ? 0 : scratchBytes(core, call, fields);
      return counts.scratchBytes;
    },
  };
  return counts;
}

/**
 * @param {Core} core
 * @param {Form} form
 */
function fieldsOf(core, { sizes, mask, stage }) {
  const { rank, batch, heads, kvHeads, queries, keys, hasPast, keyDim, valueDim } = sizes;
  const fields = neutralFields();
  // Past and new rows are put together head by head, whatever the layout of the new ones.
  const keyRank = hasPast ? 4 : rank;
  setStrides(fields, 'query', stridesOf(rank, heads, queries, keyDim));
  setStrides(fields, 'key', stridesOf(keyRank, kvHeads, keys, keyDim));
  setStrides(fields, 'value', stridesOf(keyRank, kvHeads, keys, valueDim));
  setStrides(fields, 'out', stridesOf(rank, heads, queries, valueDim));
  return Object.assign(fields, {
    batch,
    heads,
    kv_heads: kvHeads,
    queries,
    keys,
    key_dim: keyDim,
    value_dim: valueDim,
    stage: stage === 'output' ? 0 : core.description.stages.indexOf(stage),
    mask_columns: mask.columns,
    mask_batch_stride: mask.batchStride,
    mask_head_stride: mask.headStride,
    mask_row_stride: mask.rowStride,
  });
}
