/** What a program has made so far, and the oracle: which answers and errors each call may end with, given what happened before
 * it and while it was pending. */
import { factsOf, isRun } from './lonely.js';

/** @typedef {import('../../web/lib/index.js').Engine} Engine */
/** @typedef {import('../../web/lib/index.js').Model} Model */
/** @typedef {import('../../web/lib/index.js').MultiHeadAttention} MultiHeadAttention */
/** @typedef {import('../../web/lib/index.js').NewToken} NewToken */
/** @typedef {import('../../web/lib/index.js').Run} Run */
/** @typedef {import('./lonely.js').Answer} Answer */
/** @typedef {import('./lonely.js').LonelyAnswer} LonelyAnswer */
/** @typedef {import('./programs.js').ModelPlan} ModelPlan */
/** @typedef {() => Promise<LonelyAnswer | Answer>} Right computes the right answer, once the program is over */
/**
 * @typedef {object} ModelState
 * @property {string} name
 * @property {ModelPlan} plan
 * @property {unknown} source by which its worker is known
 * @property {Model | null} model null: dropped, or never there
 * @property {boolean} isDisposed
 * @property {number} kills of its worker
 */
/** @typedef {{ name: string, owner: ModelState, run: Run | null, right: Right, isDisposed: boolean, isLost: boolean }} RunState */
/** @typedef {{ name: string, layer: MultiHeadAttention | null, isDisposed: boolean }} LayerState */
/**
 * @typedef {object} Call
 * @property {string} name
 * @property {ModelState | null} model
 * @property {RunState | null} run
 * @property {AbortController | null} controller
 * @property {boolean} isLong begins with more than it can do at once
 * @property {boolean} isFresh nothing has happened since it began
 * @property {boolean} isPending
 * @property {boolean} isStuck its callback never returns, so only an abort or dispose can end it
 * @property {boolean} mayAnswer nothing stood in the way when it began
 * @property {Set<unknown>} errors codes, and errors of callbacks, that it may end with
 * @property {number | null} abortedAt the turn
 * @property {{ value?: unknown, error?: unknown }} outcome
 * @property {NewToken[]} told
 * @property {Right | null} right null: it is not to be answered at all
 */
/** @typedef {ReturnType<typeof createWorld>} World */

/**
 * @param {Engine} engine
 * @param {number} limit
 */
export function createWorld(engine, limit) {
  const baseline = engine.memory().used;
  /** @type {ModelState[]} */
  const models = [];
  /** @type {RunState[]} */
  const runs = [];
  /** @type {LayerState[]} */
  const layers = [];
  /** @type {Call[]} */
  const calls = [];
  /** @type {string[]} */
  const faults = [];
  const controllers = { a: new AbortController(), b: new AbortController() };
  let isEngineDisposed = false;

  /** @param {Call} call what holds already when it begins */
  function foresee(call) {
    const { model, run, controller, errors } = call;
    if (isEngineDisposed || model?.isDisposed || run?.isDisposed || run?.owner.isDisposed) errors.add('disposed');
    if (controller?.signal.aborted) errors.add('aborted');
    call.mayAnswer &&= errors.size === 0;
    // These may stand in the way and may not.
    if (limit > 0) errors.add('memory');
    const owner = model ?? run?.owner;
    if (owner?.plan.worker && (owner.kills > 0 || run?.isLost)) errors.add('crash').add('worker');
  }

  /**
   * An error that pending calls may end with from now on.
   * @param {(call: Call) => boolean} concerns
   * @param {unknown} error
   */
  function befall(concerns, error) {
    const befallen = calls.filter((call) => call.isPending && concerns(call));
    for (const call of befallen) call.errors.add(error);
    return befallen;
  }

  /**
   * An end that must be heard: by what has just begun at once, by what may have its answer already soon after.
   * @param {(call: Call) => boolean} concerns
   * @param {'disposed' | 'aborted'} code
   */
  function cease(concerns, code) {
    for (const call of befall(concerns, code)) {
      if (call.isFresh && call.isLong) call.mayAnswer = false;
      else expectSilence(call);
    }
  }

  return {
    engine,
    baseline,
    limit,
    models,
    runs,
    layers,
    calls,
    faults,
    controllers,
    turn: 0,
    isOver: false,
    isEngineDisposed: () => isEngineDisposed,
    pending: () => calls.filter(({ isPending }) => isPending),

    /**
     * Begins a call; what comes of it is noted at once and judged when the program is over.
     * @param {Omit<Call, 'isFresh' | 'isPending' | 'isStuck' | 'mayAnswer' | 'errors' | 'abortedAt' | 'outcome' | 'told'>} about
     * @param {(call: Call) => Promise<unknown>} begin
     * @returns {Call}
     */
    begin(about, begin) {
      /** @type {Call} */
      const call = {
        ...about,
        isFresh: true,
        isPending: true,
        isStuck: false,
        mayAnswer: true,
        errors: new Set(),
        abortedAt: null,
        outcome: {},
        told: [],
      };
      foresee(call);
      calls.push(call);
      queueMicrotask(() => {
        call.isFresh = false;
      });
      /** @type {Promise<unknown>} */
      let promise;
      try {
        promise = begin(call);
      } catch (error) {
        faults.push(`${call.name} throws at once instead of rejecting: ${error}`);
        call.isPending = false;
        return call;
      }
      promise.then(
        (value) => {
          call.isPending = false;
          const { model, right } = call;
          call.outcome.value = isRun(value) ? factsOf(value) : value;
          if (!isRun(value) || !model || !right) return;
          runs.push({
            name: `the run of ${call.name}`,
            owner: model,
            run: value,
            right,
            isDisposed: false,
            isLost: false,
          });
        },
        (error) => {
          call.isPending = false;
          call.outcome.error = error ?? new Error('rejects with nothing');
          letGo(error);
        },
      );
      return call;
    },

    befall,

    /** @param {AbortController} controller */
    abort(controller) {
      cease((call) => call.controller === controller, 'aborted');
      for (const call of calls) if (call.isPending && call.controller === controller) call.abortedAt ??= this.turn;
      controller.abort();
      letGo(controller.signal.reason);
    },

    /** @param {ModelState} state */
    disposeModel(state) {
      state.isDisposed = true;
      cease(({ model, run }) => model === state || run?.owner === state, 'disposed');
      state.model?.dispose();
    },

    /** @param {RunState} state */
    disposeRun(state) {
      state.isDisposed = true;
      befall(({ run }) => run === state, 'disposed');
      state.run?.dispose();
    },

    disposeEngine() {
      isEngineDisposed = true;
      cease(() => true, 'disposed');
      engine.dispose();
    },
  };
}

/** What is answered is handed on from one function to the next in fewer microtasks. */
const HANDING_ON = 30;

/** @param {Call} call that is not to be answered any more, but for an answer that is under way */
async function expectSilence(call) {
  for (let i = 0; i < HANDING_ON; i++) await null;
  if (call.isPending) call.mayAnswer = false;
}

/**
 * An error holds the functions that were under way, and with them the model, until its stack is asked for.
 * @param {unknown} error
 */
function letGo(error) {
  for (let one = error; one instanceof Error; one = one.cause) String(one.stack);
}
