/** Notices a worker that says nothing any more: one that loops, or that a browser has ended without a word. While answers are
 * due it is asked at every beat whether it is there, which it answers between two layers, tokens or files. Beats are counted
 * and not seconds: a machine that slept, or a page whose thread was busy, has missed one beat and not many. */

/** @typedef {{ every: number, most: number }} Beat every: milliseconds; most: beats in a row without an answer */
/** @typedef {ReturnType<typeof createHeartbeat>} Heartbeat */

/**
 * A minute. The longest that a worker computes without looking up is one layer of the longest text, or the overview of one,
 * or the reading of a large tokenizer.json: seconds on a desk, several times that on a phone.
 * @type {Beat}
 */
export const BEAT = { every: 5000, most: 12 };

/**
 * @param {object} parts
 * @param {() => void} parts.ask
 * @param {(seconds: number) => void} parts.onSilence
 * @param {Beat} [parts.beat]
 */
export function createHeartbeat({ ask, onSilence, beat = BEAT }) {
  /** @type {ReturnType<typeof setInterval> | null} */
  let timer = null;
  let missed = 0;

  function stop() {
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  function tick() {
    // A beat that was on its way when it stopped.
    if (timer === null) return;
    if (missed >= beat.most) {
      stop();
      onSilence((beat.every * beat.most) / 1000);
      return;
    }
    missed++;
    ask();
  }

  return {
    stop,

    /** Answers are due. */
    start() {
      if (timer !== null) return;
      missed = 0;
      timer = setInterval(tick, beat.every);
      // It does not keep a Node process alive; the worker does, while answers are due.
      if (typeof timer === 'object') /** @type {{ unref?: () => void }} */ (timer).unref?.();
    },

    /** Anything that came from the worker. */
    heard() {
      missed = 0;
    },
  };
}
