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

/**
 * @param {ModelParts} parts
 * @returns {ModelState}
 */
export function createState(parts) {
  return { ...parts, ...createMemory(parts.core, parts.pointer) };
}

/**
 * The memory of a model and its runs. Apart from the state, for it must not know who uses it.
 * @param {Core} core
 * @param {number} pointer
 */
function createMemory(core, pointer) {
  const ending = createEnding();
  const runs = createHeldRuns(core, pointer, ending);
  return {
    ending,
    runs,
    release() {
      const error = new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' });
      if (!ending.end(error)) return;
      runs.releaseAll();
      if (core.isAlive()) core.call('qkv_model_free', pointer);
    },
  };
}
