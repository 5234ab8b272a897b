/** The memory of a model's runs: which of them hold some, and how each gives it back, once. It knows nothing of the objects
 * that callers have, so that their being forgotten can be noticed. */

import { QkvError } from '../checks/errors.js';
import { newRun } from './new_run.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('./new_run.js').RunRequest} RunRequest */
/** @typedef {ReturnType<typeof createHeldRuns>} HeldRuns */
/**
 * The memory of one run.
 * @typedef {object} HeldRun
 * @property {number} run
 * @property {number} bytes
 * @property {() => void} release gives the memory back; a second call does nothing
 * @property {() => void} check throws once the memory was given back, by this run or with its model
 * @property {(owner: object) => void} releaseWith gives the memory back when this object is collected
 */

/** Frees what a caller forgot to dispose; a backstop only, since collection may come late or never. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

/**
 * @param {Core} core
 * @param {number} model
 * @param {import('../checks/calls.js').Ending} ending of the model
 */
export function createHeldRuns(core, model, ending) {
  /** @type {Set<() => void>} */
  const releases = new Set();
  return {
    /**
     * A run's memory, which goes with the run, with the model, or when what is to be made of it fails.
     * @param {RunRequest} request
     * @returns {HeldRun}
     */
    hold(request) {
      const { run, bytes } = newRun(core, model, request);
      const release = () => {
        if (!releases.delete(release)) return;
        forgotten.unregister(release);
        if (core.isAlive()) core.call('qkv_run_free', run);
      };
      const { call } = request;
      const check = () => {
        ending.check();
        if (releases.has(release)) return;
        throw new QkvError('disposed', 'This run was disposed', { fix: `Call model.${call} again.` });
      };
      const releaseWith = (/** @type {object} */ owner) => forgotten.register(owner, release, release);
      releases.add(release);
      return { run, bytes, release, check, releaseWith };
    },

    releaseAll() {
      for (const release of releases) release();
    },
  };
}
