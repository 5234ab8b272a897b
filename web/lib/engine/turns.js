/** Turns: which call computes when. A core computes for one call at a time, in the order in which they came; whoever has more to
 * do (the next token, the next batch of texts) lines up again behind the others. What waits holds no memory of the engine. And the
 * thread is let go after each slice of work, whoever did it: however many calls there are, timers and events get their turn. */

import { createLine } from './line.js';

/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {() => Promise<void>} Pause lets other work of this thread go first */
/** @typedef {ReturnType<typeof createTurns>} Turns */

/** The thread is let go after this many milliseconds of work. */
const LONGEST_SLICE = 4;

/** @param {() => number} [now] in milliseconds */
export function createTurns(now = () => performance.now()) {
  const line = createLine(1);
  /** When this slice of work began. */
  let start = 0;
  /** Whether we have kept the thread since then. */
  let isOurs = false;

  /**
   * A slice begins with the first work since the thread was let go: by a pause of ours, or because there was nothing to do.
   * @param {Pause} pause
   */
  function begin(pause) {
    if (isOurs) return;
    isOurs = true;
    start = now();
    pause().then(() => {
      isOurs = false;
    });
  }

  /**
   * To be called between two steps of a turn: lets the thread go when it is time.
   * @param {Call} call
   * @param {Pause} pause
   */
  async function rest(call, pause) {
    if (isOurs && now() - start >= LONGEST_SLICE) await call.wait(pause());
    begin(pause);
  }

  return {
    rest,

    /**
     * A turn: no other call's work comes between.
     * @template T
     * @param {Call} call
     * @param {Pause} pause
     * @param {() => Promise<T>} work
     */
    async during(call, pause, work) {
      await line.enter(call);
      try {
        await rest(call, pause);
        call.check();
        return await work();
      } finally {
        line.leave();
      }
    },

    /** How many are in line. */
    waiting: line.length,
  };
}
