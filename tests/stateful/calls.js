/** Calls of models, and what their callbacks do meanwhile. */
import { loadModel } from '../../web/lib/index.js';
import { factsOf, lonely } from './lonely.js';
import { filesOf, GENERATE, INPUTS, OPTIONS, REFUSED, REFUSED_GENERATE, REFUSED_LOADS, TEXTS } from './table.js';
import { answers, until } from './waits.js';

/** @typedef {import('./programs.js').Hear} Hear */
/** @typedef {import('./programs.js').ModelPlan} ModelPlan */
/** @typedef {import('./programs.js').Step} Step */
/** @typedef {import('./programs.js').Trap} Trap */
/** @typedef {import('./world.js').Call} Call */
/** @typedef {import('./world.js').ModelState} ModelState */
/** @typedef {import('./world.js').World} World */
/** @template {Step['do']} Name @typedef {Extract<Step, { do: Name }>} StepOf */

/** A callback's own error, which comes back as it is. */
class CallbackError extends Error {}

/** @template T @param {T[]} list @param {number} number @returns {T | undefined} */
export const pick = (list, number) => (list.length > 0 ? list[number % list.length] : undefined);

/** @template T @param {T | null} value @returns {T} */
export function held(value) {
  if (value === null) throw new Error('a step uses what was dropped');
  return value;
}

/** @param {World} world @param {number} number */
export const modelAt = (world, number) =>
  pick(
    world.models.filter(({ model }) => model !== null),
    number,
  );

/** @param {World} world @param {number} number */
export const runAt = (world, number) =>
  pick(
    world.runs.filter(({ run }) => run !== null),
    number,
  );

/** @param {World} world @param {'a' | 'b' | null} name */
const controllerOf = (world, name) => (name === null ? null : world.controllers[name]);

/**
 * What a callback or a property does beside its work. The oracle hears of it first.
 * @param {World} world
 * @param {Call} call
 * @param {string} way
 */
function interfere(world, call, way) {
  if (way === 'aborts' && call.controller) world.abort(call.controller);
  if (way === 'disposes' && call.model?.model) world.disposeModel(call.model);
  if (way === 'ends') world.disposeEngine();
  if (way === 'starts' && call.model?.model) return forward(world, call.model, 'ids', 'plain', null, null);
  return null;
}

/**
 * @param {World} world
 * @param {Call} call
 * @param {Hear} hear
 * @param {boolean} [mayComeAgain] a worker that starts again loads its model again, and tells
 * @returns {() => unknown} to be called each time
 */
function callback(world, call, { way, at }, mayComeAgain = false) {
  let times = 0;
  return () => {
    if (!call.isPending && !mayComeAgain) world.faults.push(`${call.name}: its callback is called when it is over`);
    if (times++ !== at || way === 'quiet') return undefined;
    if (way === 'late') return new Promise((done) => setImmediate(done));
    if (way === 'never') {
      call.isStuck = true;
      return new Promise(() => {});
    }
    if (way === 'throws' || way === 'rejects') {
      const error = new CallbackError(`of ${call.name}`);
      call.errors.add(error);
      call.mayAnswer = false;
      if (way === 'throws') throw error;
      return Promise.reject(error);
    }
    if (way !== 'asks') return void interfere(world, call, way);
    const asked = call.model?.model ? forward(world, call.model, 'ids', 'plain', null, null) : null;
    return asked && until(world, () => !asked.isPending);
  };
}

// ---- models ---------------------------------------------------------------------------------------------------------

/**
 * @param {World} world
 * @param {ModelPlan} plan
 * @param {'a' | 'b' | null} signal
 * @param {Hear} hear
 */
export function load(world, plan, signal, hear) {
  const source = filesOf(plan.kind);
  const name = `model ${world.models.length} (${plan.kind}${plan.worker ? ', worker' : ''})`;
  /** @type {ModelState} */
  const state = { name, plan, source, model: null, isDisposed: false, kills: 0 };
  world.models.push(state);
  const controller = controllerOf(world, signal);
  const about = {
    name: `load of ${name}`,
    model: null,
    run: null,
    isLong: true,
    controller,
    right: async () => ({ value: 'loaded' }),
  };
  return world.begin(about, (call) => {
    const onProgress = callback(world, call, hear, plan.worker);
    const options = { engine: world.engine, worker: plan.worker, onProgress, signal: controller?.signal };
    return loadModel(source, options).then((model) => {
      state.model = model;
      return 'loaded';
    });
  });
}

/**
 * @param {World} world
 * @param {ModelState} model
 * @param {string} input
 * @param {string} options
 * @param {'a' | 'b' | null} signal
 * @param {Trap | null} trap
 */
export function forward(world, model, input, options, signal, trap) {
  const controller = controllerOf(world, signal);
  const given = OPTIONS[options];
  const right = () =>
    lonely(`forward ${input} ${options}`, model.plan.kind, (alone) => alone.forward(INPUTS[input], given));
  const name = `${model.name}.forward(${input}, ${options})`;
  return world.begin({ name, model, run: null, isLong: true, controller, right }, (call) => {
    const [place, way] = trap?.split(' ') ?? [];
    const what = place === 'input' ? trapped(world, call, way, INPUTS[input]) : INPUTS[input];
    const asked = { ...given, signal: controller?.signal };
    const how =
      place === 'options' ? trapped(world, call, way, { ...asked, temperature: given.temperature ?? 1 }) : asked;
    return held(model.model).forward(what, how);
  });
}

/**
 * @template T
 * @param {World} world
 * @param {Call} call
 * @param {string} way
 * @param {T} argument
 * @returns {T} a copy, one property of which does more than it says
 */
function trapped(world, call, way, argument) {
  if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) return argument;
  const copy = /** @type {T & object} */ ({ ...argument });
  const [key, value] = /** @type {[string, unknown]} */ (Object.entries(copy).at(-1));
  let isSprung = false;
  const get = () => {
    if (isSprung) return value;
    isSprung = true;
    if (way === 'throws') {
      const error = new CallbackError(`of ${call.name}`);
      // A message to a worker is refused by its own words.
      call.errors.add(error).add('argument');
      call.mayAnswer = false;
      throw error;
    }
    interfere(world, call, way);
    return value;
  };
  return Object.defineProperty(copy, key, { get, enumerable: true });
}

/** @param {World} world @param {StepOf<'refused load'>} step */
export function refusedLoad(world, { what, worker }) {
  const { code, source, options } = REFUSED_LOADS[what];
  const about = {
    name: `load of ${what}${worker ? ', worker' : ''}`,
    model: null,
    run: null,
    isLong: true,
    controller: null,
    right: null,
  };
  const call = world.begin(about, () =>
    loadModel(/** @type {any} */ (source()), { engine: world.engine, worker, ...options }),
  );
  call.mayAnswer = false;
  call.errors.add(code);
}

/** @param {World} world @param {StepOf<'generate'>} step */
export function generate(world, { model: at, input, options, signal, hear }) {
  const model = modelAt(world, at);
  if (!model) return;
  const controller = controllerOf(world, signal);
  const [text, given] = [/** @type {any} */ (INPUTS[input]), GENERATE[options]];
  const right = () =>
    lonely(`generate ${input} ${options}`, model.plan.kind, (alone, onToken) =>
      alone.generate(text, { ...given, onToken }),
    );
  const name = `${model.name}.generate(${input}, ${options})`;
  world.begin({ name, model, run: null, isLong: true, controller, right }, (call) => {
    const heard = callback(world, call, hear);
    const onToken = (/** @type {import('./world.js').NewToken} */ token) => {
      call.told.push(token);
      return heard();
    };
    return held(model.model).generate(text, { ...given, onToken, signal: controller?.signal });
  });
}

/** @param {World} world @param {StepOf<'embed'>} step */
export function embed(world, { model: at, texts, signal, hear }) {
  const model = modelAt(world, at);
  if (!model) return;
  const controller = controllerOf(world, signal);
  const right = () => lonely(`embed ${texts}`, model.plan.kind, (alone) => alone.embed(TEXTS[texts]));
  world.begin({ name: `${model.name}.embed(${texts})`, model, run: null, isLong: true, controller, right }, (call) => {
    const onProgress = callback(world, call, hear);
    return held(model.model).embed(TEXTS[texts], { onProgress, signal: controller?.signal });
  });
}

/** @param {World} world @param {StepOf<'tokenize'>} step */
export function tokenize(world, { model: at, text }) {
  const model = modelAt(world, at);
  if (!model) return;
  const right = () => lonely(`tokenize ${text}`, model.plan.kind, (alone) => alone.tokenize(text));
  const about = { name: `${model.name}.tokenize('${text}')`, model, run: null, isLong: false, controller: null, right };
  world.begin(about, () => held(model.model).tokenize(text));
}

/** @param {World} world @param {StepOf<'refused'>} step */
export function refused(world, { model: at, what }) {
  const model = modelAt(world, at);
  if (!model) return;
  const { code, ask } = REFUSED[what] ?? REFUSED_GENERATE[what];
  const about = { name: `${model.name}: ${what}`, model, run: null, isLong: false, controller: null, right: null };
  const call = world.begin(about, () => ask(held(model.model)));
  call.mayAnswer = false;
  call.errors.add(code);
  // What is wrong with the options may be said before the model is asked whether it writes.
  if (what in REFUSED_GENERATE && model.plan.kind === 'bert') call.errors.add('unsupported');
}

/**
 * Many calls at once whose runs are given up as they come: memory for a few of them is enough.
 * @param {World} world
 * @param {StepOf<'flood'>} step
 */
export async function flood(world, { model: at, count }) {
  const model = modelAt(world, at);
  if (!model) return;
  const isAlone = world.pending().length === 0 && !model.plan.worker && !world.isEngineDisposed();
  const before = isAlone ? world.engine.memory().used : 0;
  let most = 0;
  let bytes = 0;
  const calls = Array.from({ length: count }, (_, i) => {
    const right = () => lonely('forward ids plain', model.plan.kind, (alone) => alone.forward({ ids: [1, 2, 3] }));
    const about = {
      name: `${model.name}.forward of flood, ${i}`,
      model,
      run: null,
      isLong: true,
      controller: null,
      right,
    };
    return world.begin(about, async () => {
      const run = await held(model.model).forward({ ids: [1, 2, 3] });
      bytes = run.bytes;
      if (isAlone) most = Math.max(most, world.engine.memory().used - before);
      run.dispose();
      return factsOf(run);
    });
  });
  await answers(world, (call) => calls.includes(call));
  if (most > MOST_AT_ONCE * bytes) {
    world.faults.push(
      `${count} forwards at once hold ${most} bytes, ${(most / bytes).toFixed(1)} times those of a run`,
    );
  }
}

/** Runs that may be held while all but one of them wait: as many as answers are under way. */
const MOST_AT_ONCE = 8;
