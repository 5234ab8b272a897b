/** The forward pass: a loop over the layers of a run that lets the thread go now and then, so that a signal can cancel it and
 * other calls are heard. */

/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('./state.js').ModelState} ModelState */
/** @typedef {import('../run/held_runs.js').HeldRun} HeldRun */
/** @typedef {import('../run/new_run.js').RunRequest} RunRequest */

/**
 * Computes all layers of a run, or what was appended to it, in a turn that the caller has.
 * @param {ModelState} model
 * @param {number} run
 * @param {Call} call
 * @returns {Promise<number>} milliseconds in the engine
 */
export async function computeLayers({ core, info, pause }, run, call) {
  let time = 0;
  for (let layer = 0; layer < info.layers; layer++) {
    const start = performance.now();
    core.check('forward', core.call('qkv_forward', run, layer, layer + 1));
    time += performance.now() - start;
    await core.turns.rest(call, pause);
  }
  return time;
}

/**
 * A turn of the model's core, with all threads there.
 * @template T
 * @param {ModelState} model
 * @param {Call} call
 * @param {() => Promise<T>} work
 */
export function inTurn({ core, pause }, call, work) {
  return core.turns.during(call, pause, async () => {
    const mending = core.mend();
    if (mending) await call.wait(mending);
    return work();
  });
}

/**
 * What is made of a new run that was computed, in a turn of its own. Where anything fails the run's memory is given back.
 * @template T
 * @param {ModelState} model
 * @param {Call} call
 * @param {() => RunRequest} prepare makes the request when its turn has come
 * @param {(held: HeldRun, request: RunRequest, time: number) => T} finish
 */
export function computeRun(model, call, prepare, finish) {
  return inTurn(model, call, async () => {
    const request = prepare();
    const held = model.runs.hold(request);
    try {
      return finish(held, request, await computeLayers(model, held.run, call));
    } catch (error) {
      held.release();
      throw error;
    }
  });
}
