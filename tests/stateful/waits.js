/** How programs wait, and what never ends. */

/** @typedef {import('./programs.js').Step} Step */
/** @typedef {import('./world.js').Call} Call */
/** @typedef {import('./world.js').World} World */
/** @template {Step['do']} Name @typedef {Extract<Step, { do: Name }>} StepOf */

/** @param {World} world @param {() => boolean} isSo */
export async function until(world, isSo) {
  while (!isSo() && !world.isOver) await new Promise((turn) => setImmediate(turn));
}

/** Collects what nobody holds, and lets the library hear of it. */
export async function collect() {
  const gc = /** @type {{ gc?: () => void }} */ (globalThis).gc;
  if (!gc) throw new Error('start Node with --expose-gc');
  for (let round = 0; round < 2; round++) {
    gc();
    await new Promise((turn) => setImmediate(turn));
    await new Promise((turn) => setTimeout(turn));
  }
}

/** @param {World} world @param {StepOf<'wait'>} step */
export async function wait(world, step) {
  if (step.for === 'answers') return answers(world);
  if (step.for === 'milliseconds') return new Promise((done) => setTimeout(done, step.count));
  for (let i = 0; i < step.count; i++) {
    if (step.for === 'microtasks') await null;
    else await turn(world);
  }
}

/** @param {World} world */
async function turn(world) {
  await new Promise((done) => setImmediate(done));
  world.turn++;
}

/** An abort is heard at once: within so many turns of the event loop, each of which has room for a slice of every call. */
const HEARD_WITHIN = 1000;
/** A call that is still pending after so many turns and so long never ends. */
const ENDLESS = { turns: 3000, milliseconds: { thread: 2000, worker: 20_000 } };

/**
 * Waits until these calls are over.
 * @param {World} world
 * @param {(call: Call) => boolean} [which] default: all that can end by themselves
 */
export async function answers(world, which = ({ isStuck }) => !isStuck) {
  const start = Date.now();
  for (let turns = 0; ; turns++) {
    const open = world.pending().filter(which);
    if (open.length === 0) return;
    const late = open.find(({ abortedAt }) => abortedAt !== null && world.turn - abortedAt > HEARD_WITHIN);
    if (late) throw new EndlessError(`${late.name}: its abort is not heard`);
    const inWorker = world.models.some(({ plan }) => plan.worker);
    const most = ENDLESS.milliseconds[inWorker ? 'worker' : 'thread'];
    if (turns > ENDLESS.turns && Date.now() - start > most) throw new EndlessError(`${open[0].name}: never ends`);
    await turn(world);
    if (turns > HEARD_WITHIN) await new Promise((done) => setTimeout(done, 1));
  }
}

/** The program cannot go on. */
export class EndlessError extends Error {}
