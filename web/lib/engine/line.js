/** A line of calls in front of something that only so many may use at once, in the order in which they came. A call that ends
 * while it waits is out of the line. */

/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {{ go: () => void, fail: (error: unknown) => void }} Waiting */

/** @param {number} most that are inside at once */
export function createLine(most) {
  /** Those outside, the first one first. @type {Set<Waiting>} */
  const waiting = new Set();
  let inside = 0;

  /** Whoever is inside goes, and the next comes in. */
  function leave() {
    const [next] = waiting;
    if (!next) {
      inside--;
      return;
    }
    waiting.delete(next);
    next.go();
  }

  return {
    leave,

    /** Comes back when the call is inside. @param {Call} call */
    async enter(call) {
      if (inside < most) {
        inside++;
        return;
      }
      const place = { go: () => {}, fail: (/** @type {unknown} */ _error) => {} };
      const turn = /** @type {Promise<void>} */ (
        new Promise((resolve, reject) => Object.assign(place, { go: resolve, fail: reject }))
      );
      waiting.add(place);
      try {
        await call.wait(turn);
      } catch (error) {
        // Its turn and its end may have come at the same time: then it is inside, and must leave.
        if (!waiting.delete(place)) leave();
        throw error;
      }
    },

    /** Ends all that wait with an error, because what they wait for is gone. @param {unknown} error */
    end(error) {
      const failed = [...waiting];
      waiting.clear();
      inside = Number.NEGATIVE_INFINITY;
      for (const { fail } of failed) fail(error);
    },

    /** How many wait. */
    length: () => waiting.size,
  };
}
