/** Carries out the steps of a program. */
import {
  embed,
  flood,
  forward,
  generate,
  held,
  load,
  modelAt,
  pick,
  refused,
  refusedLoad,
  runAt,
  tokenize,
} from './calls.js';
import { lonelyOperator } from './lonely.js';
import { ATTEND, newLayer, PROJECT, REFUSED_ATTEND } from './operators.js';
import { READS, REFUSED_READS } from './table.js';
import { collect, wait } from './waits.js';
import { workerOf } from './workers.js';

/** @typedef {import('./programs.js').Step} Step */
/** @typedef {import('./world.js').World} World */
/** @template {Step['do']} Name @typedef {Extract<Step, { do: Name }>} StepOf */

// ---- runs and layers ------------------------------------------------------------------------------------------------

/** @param {World} world @param {StepOf<'read'>} step */
function read(world, { run: at, what }) {
  const run = runAt(world, at);
  if (!run) return;
  const right = async () => {
    const { reads } = /** @type {import('./lonely.js').LonelyAnswer} */ (await run.right());
    return reads.get(what) ?? { code: 'none', message: 'a lonely model gave no run' };
  };
  const about = { name: `${what} of ${run.name}`, model: null, run, isLong: false, controller: null, right };
  world.begin(about, () => READS[what](held(run.run)));
}

/** @param {World} world @param {StepOf<'refused read'>} step */
function refusedRead(world, { run: at, what }) {
  const run = runAt(world, at);
  if (!run) return;
  const { code, ask } = REFUSED_READS[what];
  const about = { name: `${what} of ${run.name}`, model: null, run, isLong: false, controller: null, right: null };
  const call = world.begin(about, () => ask(held(run.run)));
  call.mayAnswer = false;
  call.errors.add(code);
}

/**
 * Operators are synchronous: they are judged like a call that is over at once.
 * @param {World} world
 * @param {string} name
 * @param {boolean} isDisposed
 * @param {import('./world.js').Right | null} right
 * @param {() => unknown} ask
 */
function operate(world, name, isDisposed, right, ask) {
  const call = world.begin(
    { name, model: null, run: null, isLong: false, controller: null, right },
    () => new Promise(() => {}),
  );
  if (isDisposed) {
    call.errors.add('disposed');
    call.mayAnswer = false;
  }
  try {
    call.outcome.value = ask();
  } catch (error) {
    call.outcome.error = error;
  }
  call.isPending = false;
  return call;
}

/** @param {World} world @param {string} what */
export function attend(world, what) {
  const right = () => lonelyOperator(`attend ${what}`, ATTEND[what]);
  operate(world, `attend ${what}`, false, right, () => ATTEND[what](world.engine));
}

/** @param {World} world @param {string} what */
function refusedAttend(world, what) {
  const call = operate(world, `attend with ${what}`, false, null, () => REFUSED_ATTEND[what](world.engine));
  call.mayAnswer = false;
  call.errors.add('argument');
}

/** @param {World} world */
function makeLayer(world) {
  const name = `layer ${world.layers.length}`;
  const make = () => {
    world.layers.push({ name, layer: newLayer(world.engine), isDisposed: false });
    return 'made';
  };
  operate(world, `new ${name}`, false, async () => ({ value: 'made' }), make);
}

/** @param {World} world @param {StepOf<'project'>} step */
function project(world, { layer: at, what }) {
  const state = pick(
    world.layers.filter(({ layer }) => layer !== null),
    at,
  );
  if (!state) return;
  const right = () => lonelyOperator(`project ${what}`, (engine) => PROJECT[what](newLayer(engine)));
  operate(world, `${state.name} projects ${what}`, state.isDisposed, right, () => PROJECT[what](held(state.layer)));
}

// ---- ends -----------------------------------------------------------------------------------------------------------

/** @param {World} world @param {StepOf<'abort'>} step */
function abort(world, { signal, renew }) {
  world.abort(world.controllers[signal]);
  if (renew) world.controllers[signal] = new AbortController();
}

/** @param {World} world @param {StepOf<'dispose'>} step */
function dispose(world, { what, at }) {
  if (what === 'model') {
    const state = modelAt(world, at);
    if (state) world.disposeModel(state);
    return;
  }
  if (what === 'run') {
    const state = runAt(world, at);
    if (state) world.disposeRun(state);
    return;
  }
  const state = pick(
    world.layers.filter(({ layer }) => layer !== null),
    at,
  );
  if (!state) return;
  state.isDisposed = true;
  state.layer?.dispose();
}

/** Only our own reference goes: what is still pending may be answered. @param {World} world @param {StepOf<'forget'>} step */
function forget(world, { what, at }) {
  if (what === 'model') {
    const state = modelAt(world, at);
    if (state) state.model = null;
  } else if (what === 'run') {
    const state = runAt(world, at);
    if (state) state.run = null;
  } else {
    const state = pick(
      world.layers.filter(({ layer }) => layer !== null),
      at,
    );
    if (state) state.layer = null;
  }
}

/** @param {World} world @param {StepOf<'kill'>} step */
function kill(world, { model: at }) {
  const state = pick(
    world.models.filter(({ plan }) => plan.worker),
    at,
  );
  const worker = state && workerOf(state.source);
  if (!worker) return;
  state.kills++;
  for (const run of world.runs) if (run.owner === state) run.isLost = true;
  for (const code of ['crash', 'worker']) {
    world.befall(
      ({ model, run, name }) => model === state || run?.owner === state || name === `load of ${state.name}`,
      code,
    );
  }
  worker.terminate();
}

/**
 * @param {World} world
 * @param {Step} step
 * @returns {unknown} a promise where the step waits for something
 */
export function perform(world, step) {
  switch (step.do) {
    case 'load':
      return void load(world, step.plan, step.signal, step.hear);
    case 'forward': {
      const model = modelAt(world, step.model);
      return void (model && forward(world, model, step.input, step.options, step.signal, step.trap));
    }
    case 'generate':
      return generate(world, step);
    case 'embed':
      return embed(world, step);
    case 'tokenize':
      return tokenize(world, step);
    case 'read':
      return read(world, step);
    case 'flood':
      return flood(world, step);
    case 'refused':
      return refused(world, step);
    case 'refused load':
      return refusedLoad(world, step);
    case 'refused read':
      return refusedRead(world, step);
    case 'refused attend':
      return refusedAttend(world, step.what);
    case 'attend':
      return attend(world, step.what);
    case 'layer':
      return makeLayer(world);
    case 'project':
      return project(world, step);
    case 'abort':
      return abort(world, step);
    case 'dispose':
      return dispose(world, step);
    case 'dispose engine':
      return world.disposeEngine();
    case 'forget':
      return forget(world, step);
    case 'kill':
      return kill(world, step);
    case 'collect':
      return collect();
    case 'wait':
      return wait(world, step);
  }
}
