/** Plays a program from beginning to end and says what was wrong about it. */
import { isDeepStrictEqual } from 'node:util';
import { init, QkvError } from '../../web/lib/index.js';
import { ERROR_CODES } from '../../web/lib/checks/errors.js';
import { sizeOf } from './lonely.js';
import { ATTEND } from './operators.js';
import { forward, load } from './calls.js';
import { attend, perform } from './steps.js';
import { answers, collect, EndlessError } from './waits.js';
import { endWorkers, livingWorkers } from './workers.js';
import { createWorld } from './world.js';

/** @typedef {import('./lonely.js').Answer} Answer */
/** @typedef {import('./lonely.js').LonelyAnswer} LonelyAnswer */
/** @typedef {import('./programs.js').Program} Program */
/** @typedef {import('./world.js').Call} Call */
/** @typedef {import('./world.js').World} World */
/** @typedef {{ faults: string[], calls: number }} Played */

const QUIET = /** @type {const} */ ({ way: 'quiet', at: 0 });

/** What a layer of the library takes for the time, in milliseconds: slices of 4 end where the program says so. */
const clock = { now: 0, leap: 0 };

/** Must be called before the library is used. */
export function takeTheClock() {
  performance.now = () => {
    clock.now += clock.leap;
    return clock.now;
  };
}

/** @type {string[]} errors that nobody caught */
let strays = [];
/** @param {unknown} error */
const takeStray = (error) => void strays.push(`nobody catches ${error instanceof Error ? error.stack : error}`);

/**
 * @param {Program} program
 * @returns {Promise<Played>}
 */
export async function play(program) {
  strays = [];
  process.on('uncaughtException', takeStray).on('unhandledRejection', takeStray);
  clock.leap = program.clock === 'leaping' ? 5 : 0;
  const threads = program.threads > 1 ? { threads: program.threads } : {};
  const engine = await init(program.limit > 0 ? { ...threads, memoryLimit: program.limit } : threads);
  const workersOfEngine = livingWorkers();
  // Plans of operators stay, so they are made before the memory is looked at.
  for (const ask of Object.values(ATTEND)) ask(engine);
  const world = createWorld(engine, program.limit);
  try {
    for (const plan of program.models) load(world, plan, null, QUIET);
    await answers(world);
    for (const step of program.steps) {
      // What a step does not wait for must begin in the same turn as the next step.
      const waiting = perform(world, step);
      if (waiting instanceof Promise) await waiting;
    }
    await answers(world);
    await freeStuck(world);
    await proveLife(world);
    await giveBack(world, workersOfEngine);
  } catch (error) {
    world.faults.push(
      error instanceof EndlessError ? error.message : `the test fails: ${/** @type {Error} */ (error).stack}`,
    );
  }
  world.isOver = true;
  clock.leap = 0;
  if (!world.isEngineDisposed()) world.disposeEngine();
  for (let turn = 0; turn < 3; turn++) await new Promise((done) => setImmediate(done));
  await endWorkers();
  process.off('uncaughtException', takeStray).off('unhandledRejection', takeStray);
  for (const call of world.calls) {
    const fault = await faultOf(call);
    if (fault !== null) world.faults.push(fault);
  }
  return { faults: [...world.faults, ...strays], calls: world.calls.length };
}

/**
 * Calls whose callback never returns end with an abort, and where there is no signal with their model.
 * @param {World} world
 */
async function freeStuck(world) {
  for (const { isPending, controller } of [...world.calls]) if (isPending && controller) world.abort(controller);
  await answers(world, ({ controller }) => controller !== null);
  for (const { isPending, model } of [...world.calls]) if (isPending && model?.model) world.disposeModel(model);
  await answers(world, ({ model }) => model !== null && model.model !== null);
  // A load without a signal ends with its engine, as does a call of a model that nobody has any more.
  if (world.pending().length > 0) world.disposeEngine();
  await answers(world, () => true);
}

/**
 * What was not disposed still computes, and the right numbers: models, runs and the operators.
 * @param {World} world
 */
async function proveLife(world) {
  for (const state of world.models) {
    if (state.model === null) continue;
    let call = forward(world, state, 'ids', 'plain', null, null);
    await answers(world);
    if (call.outcome.error !== undefined && state.kills === 1) {
      call = forward(world, state, 'ids', 'plain', null, null);
      await answers(world);
      if (call.outcome.error !== undefined && !state.isDisposed && !world.isEngineDisposed() && world.limit === 0) {
        world.faults.push(`${state.name} does not come back after its worker stopped once`);
      }
    }
  }
  for (const run of world.runs)
    if (run.run) perform(world, { do: 'read', run: world.runs.indexOf(run), what: 'hidden' });
  await answers(world);
  attend(world, 'weights');
}

/** What a block of memory may take beside what it holds. */
const SLACK = 2048;

/**
 * Memory and workers come back: of runs and layers, then of models.
 * @param {World} world
 * @param {number} workersOfEngine
 */
async function giveBack(world, workersOfEngine) {
  const { runs, layers, models, engine, baseline } = world;
  // An engine takes its models along.
  if (world.isEngineDisposed()) return expectWorkers(0, false, 'when the engine is disposed');
  const isForgotten = [...runs.map(({ run }) => run), ...layers.map(({ layer }) => layer)].includes(null);
  for (const run of runs) if (run.run) world.disposeRun(run);
  for (const { layer } of layers) layer?.dispose();
  const alive = models.filter(({ isDisposed, plan, model }) => model !== null && !isDisposed && !plan.worker);
  // Models that were forgotten may be there still.
  const forgotten = models.filter(({ isDisposed, plan, model }) => model === null && !isDisposed && !plan.worker);
  let most = baseline + SLACK;
  for (const { plan } of [...alive, ...forgotten]) most += (await sizeOf(plan.kind)) + SLACK;
  await expectUsed(world, most, isForgotten, 'when all runs and layers are given back');
  for (const state of models) if (state.model) world.disposeModel(state);
  const areForgotten = isForgotten || forgotten.length > 0 || models.some(({ model }) => model === null);
  await expectUsed(world, baseline, areForgotten, 'when all is given back');
  await expectWorkers(workersOfEngine, areForgotten, 'when all models are given back');
  engine.dispose();
  await expectWorkers(0, false, 'when the engine is disposed');
}

/** Collections until a thing that was forgotten must be given back. */
const COLLECTIONS = 6;

/**
 * @param {World} world
 * @param {number} most bytes
 * @param {boolean} isForgotten something has to be collected first
 * @param {string} when
 */
async function expectUsed(world, most, isForgotten, when) {
  const used = () => world.engine.memory().used;
  for (let i = 0; i < COLLECTIONS && isForgotten && used() > most; i++) await collect();
  if (used() > most) world.faults.push(`${used() - most} bytes more are used than should be ${when}`);
}

/**
 * @param {number} most
 * @param {boolean} isForgotten
 * @param {string} when
 */
async function expectWorkers(most, isForgotten, when) {
  // Node tells of their end some time later.
  for (let i = 0; i < 400 && livingWorkers() > most; i++) {
    if (isForgotten && i < COLLECTIONS) await collect();
    await new Promise((done) => setTimeout(done, 10));
  }
  if (livingWorkers() > most) throw new EndlessError(`${livingWorkers() - most} workers live on ${when}`);
}

// ---- judging --------------------------------------------------------------------------------------------------------

/** Codes that say that something is wrong with the library. */
const OURS = new Set(['crash', 'internal']);

/** @param {Call} call @returns {Promise<string | null>} */
async function faultOf(call) {
  const { name, outcome, errors, mayAnswer, isPending } = call;
  if (isPending) return `${name}: is still pending`;
  const { error, value } = outcome;
  const expected = [...errors].map((one) => (one instanceof Error ? one.message : one)).join(', ') || 'an answer';
  if (error !== undefined && isAllowed(error, errors)) return null;
  if (error === undefined && !mayAnswer) return `${name}: is answered, where ${expected} is due`;
  if (call.right === null) return `${name}: ends with ${said(error)}, where ${expected} is due`;
  const right = await call.right();
  if (error !== undefined) {
    const { code, message } = /** @type {QkvError} */ (error);
    const isKnown = code in ERROR_CODES && !OURS.has(code);
    const isSame = isKnown && code === right.code && message === right.message;
    return isSame ? null : `${name}: ends with ${said(error)}, where ${right.code ?? expected} is due`;
  }
  if (right.code !== undefined) return `${name}: is answered, where ${right.code} is due`;
  if (!isDeepStrictEqual(value, right.value)) return `${name}: is answered in another way than by a model alone`;
  const told = 'told' in right && call.told.length > 0 ? right.told : [];
  return isDeepStrictEqual(call.told, told) ? null : `${name}: onToken hears other tokens than of a model alone`;
}

/** @param {unknown} error @param {Set<unknown>} errors */
function isAllowed(error, errors) {
  return errors.has(error) || (error instanceof QkvError && errors.has(error.code));
}

/** @param {unknown} error */
const said = (error) =>
  error instanceof QkvError ? `${error.code} (${error.message})` : `${/** @type {Error} */ (error)?.stack}`;
