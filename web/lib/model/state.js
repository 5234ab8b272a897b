/** What all calls of a model in this thread share. */

import { QkvError } from '../checks/errors.js';
import { createEnding } from '../checks/calls.js';
import { createHeldRuns } from '../run/held_runs.js';

/** @typedef {import('../api/model.js').ModelInfo} ModelInfo */
/** @typedef {import('../checks/calls.js').Ending} Ending */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../engine/turns.js').Pause} Pause */
/** @typedef {import('../run/held_runs.js').HeldRuns} HeldRuns */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/**
 * @typedef {object} ModelParts
 * @property {Core} core
 * @property {number} pointer of the model in the engine
 * @property {ModelInfo} info
 * @property {InputLimits} limits
 * @property {Pause} pause
 */
/** @typedef {ModelParts & { runs: HeldRuns, ending: Ending, release: () => void }} ModelState release: gives back all memory */

/** Frees what a caller forgot to dispose; a backstop only, since collection may come late or never. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

/**
 * Each method of the model, and each run, knows this object: when it is collected nobody can use the weights any more.
 * @param {ModelParts} parts
 * @returns {ModelState}
 */
export function createState(parts) {
  const state = { ...parts, ...createMemory(parts.core, parts.pointer) };
  forgotten.register(state, state.release, state.release);
  return state;
}

/**
 * The memory of a model and its runs. Apart from the state, for it must not know who uses it.
 * @param {Core} core
 * @param {number} pointer
 */
function createMemory(core, pointer) {
  const ending = createEnding();
  const runs = createHeldRuns(core, pointer, ending);
  function release() {
    const error = new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' });
    if (!ending.end(error)) return;
    forgotten.unregister(release);
    runs.releaseAll();
    if (core.isAlive()) core.call('qkv_model_free', pointer);
  }
  return { ending, runs, release };
}
