/** Who computes when: order, slices and ends, with a clock that the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCall, createEnding, withCall } from '../../../web/lib/checks/calls.js';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { createTurns } from '../../../web/lib/engine/turns.js';
import { qkvError } from '../../api/golden.js';

/** A clock, and a pause that counts. */
function world() {
  const state = { now: 0, pauses: 0, isBusy: false };
  const pause = async () => {
    state.pauses++;
    await new Promise((go) => setImmediate(() => go(null)));
  };
  return { state, pause: /** @type {() => Promise<void>} */ (pause), turns: createTurns(() => state.now) };
}

/** @param {AbortSignal} [signal] */
const call = (signal) => createCall([], signal);

test('one computes at a time, in the order of asking', async () => {
  const { state, pause, turns } = world();
  /** @type {number[]} */
  const order = [];
  const works = Array.from({ length: 50 }, (_, i) =>
    turns.during(call(), pause, async () => {
      assert.ok(!state.isBusy);
      state.isBusy = true;
      await null;
      await null;
      state.isBusy = false;
      order.push(i);
    }),
  );
  assert.equal(turns.waiting(), 49);
  await Promise.all(works);
  assert.deepEqual(
    order,
    Array.from({ length: 50 }, (_, i) => i),
  );
});

test('the thread is let go after each slice, however many calls the slice is made of', async () => {
  for (const [calls, steps] of [
    [3000, 1],
    [300, 10],
    [1, 3000],
  ]) {
    const { state, pause, turns } = world();
    const works = Array.from({ length: calls }, () => {
      const mine = call();
      return turns.during(mine, pause, async () => {
        for (let step = 0; step < steps; step++) {
          state.now += 1;
          await turns.rest(mine, pause);
        }
      });
    });
    await Promise.all(works);
    // 3,000 milliseconds in slices of 4; for each slice one pause waits, and one looks whether the thread was free.
    assert.ok(state.pauses >= 600 && state.pauses <= 1600, `${calls} calls: ${state.pauses} pauses`);
  }
});

test('a slice begins anew when the thread was free meanwhile', async () => {
  const { state, pause, turns } = world();
  for (let i = 0; i < 20; i++) {
    await turns.during(call(), pause, async () => {
      state.now += 3;
    });
    await new Promise((go) => setImmediate(go));
    state.now += 1000;
  }
  // Only those that look whether the thread was free.
  assert.equal(state.pauses, 20);
});

test('a call after the other without a rest between them counts as one', async () => {
  const { state, pause, turns } = world();
  let others = 0;
  const timer = setInterval(() => others++, 0);
  for (let i = 0; i < 400; i++) {
    await turns.during(call(), pause, async () => {
      state.now += 1;
    });
  }
  clearInterval(timer);
  assert.ok(state.pauses > 100 && others > 0, `${state.pauses} pauses, ${others} timers`);
});

test('a call that ends while it waits, or just when its turn comes, leaves the line in order', async () => {
  const { pause, turns } = world();
  const controllers = [new AbortController(), new AbortController()];
  /** @type {() => void} */
  let finish = () => {};
  /** @type {Promise<void>} */
  const busy = new Promise((resolve) => {
    finish = resolve;
  });
  const first = turns.during(call(), pause, () => busy);
  const second = turns.during(call(controllers[0].signal), pause, async () => assert.fail('it was cancelled'));
  const third = turns.during(call(controllers[1].signal), pause, async () => assert.fail('it was cancelled'));
  const fourth = turns.during(call(), pause, async () => 'its turn');
  controllers[0].abort();
  await assert.rejects(second, qkvError('aborted'));
  finish();
  await first;
  controllers[1].abort();
  await assert.rejects(third, qkvError('aborted'));
  assert.equal(await fourth, 'its turn');
  assert.equal(await turns.during(call(), pause, async () => 'free again'), 'free again');
});

test('a wait hears the end of anything, and looks again before it comes back', async () => {
  const ending = createEnding();
  const error = new QkvError('disposed', 'It');
  const forever = new Promise(() => {});
  const waiting = withCall([ending], undefined, (own) => own.wait(forever));
  const settledToo = withCall([ending], undefined, (own) => own.wait(Promise.resolve(5)));
  ending.end(error);
  await assert.rejects(waiting, (got) => got === error);
  await assert.rejects(settledToo, (got) => got === error);
  await assert.rejects(
    withCall([ending], undefined, async () => assert.fail('it has ended')),
    (got) => got === error,
  );
});

test('what callbacks throw or reject with ends the call; nothing is left that nobody catches', async () => {
  const mine = new Error('mine');
  const late = async () => {
    await new Promise((go) => setImmediate(go));
    throw mine;
  };
  const throwing = () => {
    throw mine;
  };
  for (const callback of [late, throwing]) {
    const work = withCall([], undefined, async (own) => {
      own.tell(callback, 1);
      await own.told();
    });
    await assert.rejects(work, (got) => got === mine);
  }
  const failing = withCall([], AbortSignal.abort(), (own) => own.wait(Promise.reject(mine)));
  await assert.rejects(failing, qkvError('aborted'));
  await assert.rejects(
    withCall([], undefined, async (own) => {
      const controller = new AbortController();
      const stopped = createCall([], controller.signal);
      controller.abort();
      await assert.rejects(stopped.wait(Promise.reject(mine)), qkvError('aborted'));
      own.fail(mine);
      await own.wait(Promise.resolve());
    }),
    (got) => got === mine,
  );
  await new Promise((go) => setTimeout(go));
});
