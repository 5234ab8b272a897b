/** Lets the browser's compiler have the engine's inner loops before the first run that somebody waits for. V8 compiles wasm
 * twice: at once and badly, then well and in the background what has run for a while, so a first forward took two to four
 * times as long as the others. A narrow model of one layer, made of the real one's config, computes in an instance of its own
 * while the weights arrive; all instances of a module share its code. */

import { createCore } from '../engine/core.js';
import { readInterventions } from '../model/interventions.js';
import { precisionNumber, withConfig } from './model_config.js';
import { newRun } from '../run/new_run.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../families/parts/engine_config.js').EngineConfig} EngineConfig */
/** @typedef {import('./model_config.js').Precision} Precision */
/** @typedef {{ engine: EngineConfig, label: string }} Described */

/** When warming up ends, in milliseconds and in passes. Many passes, since a kernel that takes little of each is compiled
 * late. */
const LONGEST = 80;
const PASSES = 80;
/** Narrow, so that matrix products do not take all of the time and the other kernels are compiled as well. */
const MOST_WIDTH = 64;
const TOKENS = 64;
/** Of every weight: the values do not change how long a pass takes. */
const VALUE = 0.01;

/**
 * Does something else meanwhile. Errors of the warm-up are ignored: the model itself will fail in the same way, and say so.
 * @template T
 * @param {{ core: Core, pause: () => Promise<void> }} place
 * @param {Described} resolved
 * @param {Precision} precision
 * @param {() => Promise<T>} action
 */
export async function whileWarming({ core, pause }, resolved, precision, action) {
  const stop = new AbortController();
  const warming = warmUp(core.module, resolved, precision, { pause, signal: stop.signal }).catch(() => 0);
  try {
    const result = await action();
    await warming;
    return result;
  } finally {
    stop.abort();
  }
}

/** What is warm already, or is being warmed up now. @type {WeakMap<WebAssembly.Module, Set<string>>} */
const done = new WeakMap();

/** @typedef {{ pause: () => Promise<void>, signal?: AbortSignal | undefined }} Calls signal: stops it, without an error */

/**
 * @param {WebAssembly.Module} module
 * @param {Described} resolved
 * @param {Precision} precision
 * @param {Calls} calls
 * @returns {Promise<number>} passes that were computed
 */
export async function warmUp(module, resolved, precision, calls) {
  const config = narrowed(resolved.engine);
  const { activation, norm_kind: norm, gated, causal, head_dim: dim } = config;
  const key = [precision, activation, norm, gated, causal, dim % 8].join(' ');
  const known = done.get(module) ?? new Set();
  if (known.has(key)) return 0;
  done.set(module, known.add(key));
  let isWarm = false;
  try {
    const passes = await compute(module, { ...resolved, engine: config }, precision, calls);
    isWarm = !calls.signal?.aborted;
    return passes;
  } finally {
    // A warm-up that was stopped early is done again at the next load.
    if (!isWarm) known.delete(key);
  }
}

/**
 * @param {WebAssembly.Module} module
 * @param {Described} narrow
 * @param {Precision} precision
 * @param {Calls} calls
 */
async function compute(module, narrow, precision, { pause, signal }) {
  const core = await createCore(module);
  const model = makeModel(core, narrow, precision);
  let passes = 0;
  for (let spent = 0; spent < LONGEST && passes < PASSES && !signal?.aborted; passes++) {
    const start = performance.now();
    forward(core, model, TOKENS);
    forward(core, model, 1);
    spent += performance.now() - start;
    await pause();
  }
  return passes;
}

/** @param {EngineConfig} engine @returns {EngineConfig} the same kind of model, with one narrow layer */
export function narrowed(engine) {
  const least = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(value, most);
  const { heads, kv_heads: kvHeads, position_first: first } = engine;
  const few = least(heads, 2);
  return {
    ...engine,
    layers: 1,
    stored_layers: 1,
    heads: few,
    kv_heads: kvHeads === heads ? few : 1,
    width: least(engine.width, MOST_WIDTH),
    embed_width: least(engine.embed_width, MOST_WIDTH),
    head_width: least(engine.head_width, MOST_WIDTH),
    ffn: least(engine.ffn, 4 * MOST_WIDTH),
    vocab: least(engine.vocab, TOKENS),
    head_rows: least(engine.head_rows, TOKENS),
    segments: least(engine.segments, 1),
    positions: least(engine.positions, first + TOKENS),
    context: least(engine.context, TOKENS),
  };
}

/**
 * @param {Core} core
 * @param {Described} resolved
 * @param {Precision} precision
 */
function makeModel(core, { engine, label }, precision) {
  const { planes, slots } = core.description;
  const model = withConfig(core, label, engine, 'f32', (config) =>
    core.nonZero(label, core.call('qkv_init', config, precisionNumber(core, precision))),
  );
  for (const { index } of slots.values()) {
    const [rows, cols] = core.withMemory(label, 8, (out) => {
      core.check(label, core.call('qkv_slot_shape', model, index, out));
      return core.heap.readInt32(out, 2);
    });
    core.withMemory(label, rows * cols * 4, (data) => {
      core.heap.writeFloat32(data, new Float32Array(rows * cols).fill(VALUE));
      core.check(label, core.call('qkv_load_rows', model, index, 0, planes.indexOf('f32'), 0, rows, data));
    });
  }
  core.check(label, core.call('qkv_model_ready', model));
  return model;
}

/**
 * @param {Core} core
 * @param {number} model
 * @param {number} tokens
 */
function forward(core, model, tokens) {
  const ids = new Int32Array(tokens);
  const sequences = [{ ids, typeIds: ids, tokens: [], truncated: null }];
  const interventions = readInterventions(
    {},
    { kinds: ['encoder'], layers: 1, heads: 1, headDim: 1, lengths: [tokens] },
  );
  const { run } = newRun(core, model, { call: 'forward', sequences, interventions, room: 0 });
  core.check('forward', core.call('qkv_forward', run, 0, 1));
  core.call('qkv_run_free', run);
}
