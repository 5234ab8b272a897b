/** A run that grows with its text. Where its room is used up it is given back and made anew over all tokens so far, with room
 * for as many again: all of them at once have the bits of one after the other. */

import { readInterventions } from './interventions.js';
import { computeLayers, inTurn } from './pass.js';

/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../run/held_runs.js').HeldRun} HeldRun */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./state.js').ModelState} ModelState */
/** @typedef {ReturnType<typeof createGrowing>} Growing */

/** New tokens that there is room for at first; then for twice as many, and so on. */
const FIRST_ROOM = 256;

/**
 * It has no memory before `start`; `release` gives back what it has.
 * @param {ModelState} model
 * @param {Sequence} prompt
 * @param {number} most tokens that may be appended
 * @param {Call} call
 */
export function createGrowing(model, prompt, most, call) {
  const { core, info, limits } = model;
  const interventions = readInterventions({}, { ...info, lengths: [prompt.ids.length] });
  /** @type {number[]} */
  const added = [];
  let room = Math.min(most, FIRST_ROOM);
  let time = 0;
  /** @type {HeldRun | null} */
  let held = null;

  /** Room for what is still to come, over all tokens so far. */
  function hold() {
    const sequences = [longer(prompt, added)];
    held = model.runs.hold({ call: 'generate', sequences, interventions, room: room - added.length });
    return held;
  }

  function release() {
    held?.release();
    held = null;
  }

  /** @param {number} id */
  function append(id) {
    if (held && added.length < room) {
      appendToken(core, held.run, id);
      added.push(id);
      return held;
    }
    release();
    added.push(id);
    room = Math.min(most, room * 2);
    return hold();
  }

  /** @param {() => HeldRun} prepare */
  const compute = (prepare) =>
    inTurn(model, call, async () => {
      time += await computeLayers(model, prepare().run, call);
    });

  return {
    /** Computes the prompt. */
    start: () => compute(hold),
    /** Appends a token and computes it. @param {number} id */
    feed: (id) => compute(() => append(id)),
    /** What the head makes of the last token. */
    logits: () => lastLogits(core, runOf(held), limits.headRows),
    /** The run as it is: its memory is the caller's from here on. */
    finish() {
      const finished = /** @type {HeldRun} */ (held);
      held = null;
      return { held: finished, time };
    },
    release,
  };
}

/** @param {HeldRun | null} held */
const runOf = (held) => /** @type {HeldRun} */ (held).run;

/**
 * @param {Sequence} prompt
 * @param {number[]} added
 * @returns {Sequence}
 */
function longer(prompt, added) {
  const ids = Int32Array.from([...prompt.ids, ...added]);
  const typeIds = new Int32Array(ids.length);
  typeIds.set(prompt.typeIds);
  return { ...prompt, ids, typeIds };
}

/**
 * @param {Core} core
 * @param {number} run
 * @param {number} rows
 */
function lastLogits(core, run, rows) {
  return core.withMemory('generate', rows * 4, (out) => {
    core.check('generate', core.call('qkv_logits', run, 0, -1, out));
    return core.heap.readFloat32(out, rows);
  });
}

/**
 * @param {Core} core
 * @param {number} run
 * @param {number} id
 */
function appendToken(core, run, id) {
  core.withMemory('generate', 4, (at) => {
    core.heap.writeInt32(at, [id]);
    core.check('generate', core.call('qkv_append', run, at, 1));
  });
}
