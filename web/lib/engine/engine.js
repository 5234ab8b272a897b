/** An engine as callers have it: a compiled module and the core it now uses; a core that ended is replaced when the next model
 * is loaded. */

import { createEnding } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { createCore } from './core.js';
import { mayWait } from './pool.js';

/** @typedef {import('../checks/calls.js').Ending} Ending */
/** @typedef {import('./core.js').Core} Core */
/** @typedef {import('./loader.js').Compiled} Compiled */
/**
 * variant: 'custom' for a module that was handed in without saying which; wasmBytes: null if it was compiled before;
 * threads: what computes now; in a page, which may not wait for others, what models in a worker compute with
 * @typedef {{ version: string, variant: Compiled['variant'], threads: number, wasmBytes: number | null }} EngineInfo
 */
/**
 * ending: told to the models of the engine in workers; starting: a core that is to take the place of one that ended
 * @typedef {object} EngineState
 * @property {Compiled} compiled
 * @property {number} limit
 * @property {Core} core
 * @property {Ending} ending
 * @property {Promise<void> | null} starting
 */
/** @type {WeakMap<Engine, EngineState>} */
const engines = new WeakMap();

/** Compiled once, shared by the models that are loaded with it; they then share its memory as well. */
export class Engine {
  /**
   * @param {Compiled} compiled
   * @param {Core} core
   * @param {number} limit
   */
  constructor(compiled, core, limit) {
    engines.set(this, { compiled, limit, core, ending: createEnding(), starting: null });
  }

  /** @returns {Readonly<EngineInfo>} */
  get info() {
    const { compiled, core } = /** @type {EngineState} */ (engines.get(this));
    const { variant, wasmBytes, pool } = compiled;
    const threads = mayWait() ? core.threads() : (pool?.threads ?? 1);
    return Object.freeze({ version: core.description.version, variant, threads, wasmBytes });
  }

  /** Bytes of linear memory: reserved never shrinks while the engine lives, used is what models and runs hold now. */
  memory() {
    const { core } = stateOf(this);
    return { reserved: core.heap.size(), used: core.call('qkv_heap_used') >>> 0 };
  }

  /** Ends all models and runs of this engine, those in workers too. */
  dispose() {
    const state = engines.get(this);
    const error = new QkvError('disposed', 'The engine was disposed', { fix: 'Make a new one with init().' });
    if (state?.ending.end(error)) state.core.end(error);
  }

  [Symbol.dispose]() {
    this.dispose();
  }
}

/**
 * @param {Compiled} compiled
 * @param {number} [limit]
 * @param {number | 'auto'} [threads] what the caller named
 */
export async function createEngine(compiled, limit = 0, threads = 1) {
  return new Engine(compiled, await createCore(compiled.module, { limit, pool: compiled.pool, threads }), limit);
}

/** @param {Engine} engine */
function stateOf(engine) {
  const state = engines.get(engine);
  if (!state) throw new QkvError('argument', 'engine', { got: engine, want: 'what init() returned' });
  state.ending.check();
  return state;
}

/** What a model in a worker has of its engine. @param {Engine} engine */
export function lentBy(engine) {
  const { compiled, limit, ending } = stateOf(engine);
  return { ...compiled, limit, ending };
}

/**
 * The engine's core as it is, for calls that cannot wait. After a trap they are refused, and the engine gets a new core in the
 * meantime, as it gets threads back where some were lost: the next call that comes after a wait finds it.
 * @param {Engine} engine
 */
export function coreOf(engine) {
  const { core } = stateOf(engine);
  if (core.isAlive()) {
    core.mend();
    return core;
  }
  liveCore(engine).catch(() => {
    // The next call tries again, and says what is wrong.
  });
  const fix =
    'It is being started again: repeat the call after a moment (an await), or make another engine with init().';
  throw new QkvError('crash', 'The engine stopped in an earlier call', { fix });
}

/**
 * The engine's core; a new one from the compiled module where the last one trapped.
 * @param {Engine} engine
 */
export async function liveCore(engine) {
  const state = stateOf(engine);
  if (!state.core.isAlive()) {
    // One for all that wait; of two, the one that is not kept would never be ended.
    state.starting ??= startAgain(state).finally(() => {
      state.starting = null;
    });
    await state.starting;
  }
  await state.core.mend();
  state.ending.check();
  return state.core;
}

/** @param {EngineState} state */
async function startAgain(state) {
  const { compiled, limit, ending } = state;
  const core = await createCore(compiled.module, { limit, pool: compiled.pool });
  try {
    ending.check();
  } catch (error) {
    core.end(/** @type {QkvError} */ (error));
    throw error;
  }
  state.core = core;
}
