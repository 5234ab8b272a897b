/** The client's side of a worker, against workers that a test makes: one that loops, one that is slow, one that is gone. */
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { withCall } from '../../../web/lib/checks/calls.js';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { connect } from '../../../web/lib/worker/client.js';
import { createHeartbeat } from '../../../web/lib/worker/heartbeat.js';
import { createWorkers } from '../../../web/lib/worker/workers.js';
import { qkvError } from '../../api/golden.js';

/** @typedef {import('../../../web/lib/worker/spawn.js').Handlers} Handlers */
/** @typedef {import('../../../web/lib/worker/client.js').ConnectOptions} ConnectOptions */

const OVER = new QkvError('disposed', 'over');
const HANG = { timeout: 60_000 };
/** @type {Worker[]} */
const threads = [];
afterEach(() => Promise.all(threads.splice(0).map((thread) => thread.terminate())));

/**
 * A worker that runs this.
 * @param {string} code with `port`
 * @returns {NonNullable<ConnectOptions['spawn']>}
 */
const spawning = (code) => (handlers) => {
  const text = `const port = require('node:worker_threads').parentPort; ${code}`;
  const worker = new Worker(text, { eval: true });
  threads.push(worker);
  worker.on('message', handlers.onMessage);
  worker.on('exit', (exit) => handlers.onFailure(`it ended with code ${exit}`));
  return { port: worker, end: () => void worker.terminate(), hold: () => worker.ref(), release: () => worker.unref() };
};

/** A port that only takes notes; the test answers. */
function notes() {
  /** @type {any[]} */
  const sent = [];
  /** @type {Handlers | null} */
  let handlers = null;
  const port = /** @type {Worker} */ (/** @type {unknown} */ ({ postMessage: (/** @type {any} */ m) => sent.push(m) }));
  /** @type {NonNullable<ConnectOptions['spawn']>} */
  const spawn = (given) => {
    handlers = given;
    return { port, end: () => sent.push('end'), hold: () => {}, release: () => {} };
  };
  const say = (/** @type {any} */ message) => /** @type {Handlers} */ (handlers).onMessage(message);
  return { sent, spawn, say, lose: (/** @type {string} */ what) => handlers?.onFailure(what) };
}

/**
 * @param {ReturnType<typeof connect>} connection
 * @param {string} method
 * @param {AbortSignal} [signal]
 * @param {object} [extras]
 */
const ask = (connection, method, signal, extras = {}) =>
  withCall([], signal, (call) => connection.request(method, [], { call, ...extras }));

const turn = () => new Promise((go) => setImmediate(go));

test('a worker that loops is given up: pending calls are told, and the thread is ended', HANG, async () => {
  /** @type {unknown[]} */
  const crashes = [];
  const spawn = spawning("port.postMessage({ ready: true }); port.once('message', () => { for (;;); });");
  const connection = connect({ onCrash: (error) => crashes.push(error), spawn, beat: { every: 20, most: 5 } });
  // A thread that nobody waits for lets the process end, and this test with it.
  const awake = setInterval(() => {}, 1000);
  const ended = new Promise((resolve) => threads[0].on('exit', resolve));
  const calls = [ask(connection, 'forward'), ask(connection, 'embed')].map((call) =>
    assert.rejects(call, qkvError('timeout', 'has said nothing for 0.1 seconds')),
  );
  await Promise.all(calls);
  await ended;
  clearInterval(awake);
  assert.equal(crashes.length, 1);
  await assert.rejects(ask(connection, 'forward'), qkvError('timeout'));
});

test('a worker that looks up now and then may take as long as it likes', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const { sent, spawn, say } = notes();
    const connection = connect({ onCrash: assert.fail, spawn });
    const call = ask(connection, 'embed');
    await turn();
    // It misses most beats, and answers one in ten of them; an hour in all.
    for (let beat = 1; beat <= 720; beat++) {
      mock.timers.tick(5000);
      if (beat % 10 === 0) say({ pong: sent.at(-1).ping });
    }
    assert.equal(sent.filter((message) => 'ping' in message).length, 720);
    say({ id: sent[0].id, result: 'done' });
    assert.equal(await call, 'done');
    mock.timers.tick(60_000);
    assert.equal(sent.length, 721, 'nothing is asked when nothing is due');
    connection.end(OVER);
  } finally {
    mock.timers.reset();
  }
});

test('beats are counted, not seconds; an answer begins anew, and nothing is asked when nothing is due', () => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  try {
    let asked = 0;
    /** @type {number[]} */
    const silences = [];
    const beat = { every: 1000, most: 3 };
    const heartbeat = createHeartbeat({ ask: () => asked++, onSilence: (seconds) => silences.push(seconds), beat });
    mock.timers.tick(10_000);
    assert.equal(asked, 0);
    heartbeat.start();
    heartbeat.start();
    mock.timers.tick(3000);
    assert.deepEqual([asked, silences], [3, []]);
    heartbeat.heard();
    mock.timers.tick(3000);
    assert.deepEqual([asked, silences], [6, []]);
    heartbeat.stop();
    mock.timers.tick(10_000);
    heartbeat.start();
    mock.timers.tick(3000);
    assert.deepEqual([asked, silences], [9, []]);
    mock.timers.tick(1000);
    assert.deepEqual([asked, silences], [9, [3]]);
    mock.timers.tick(10_000);
    assert.deepEqual(silences, [3]);
  } finally {
    mock.timers.reset();
  }
});

test('an answer that waits behind the timer counts, where this thread slept past the time; none ends the worker', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    /** @type {unknown[]} */
    const crashes = [];
    const { sent, spawn, say } = notes();
    const connection = connect({ onCrash: (error) => crashes.push(error), spawn });
    const cancelled = async () => {
      const stop = new AbortController();
      const call = ask(connection, 'forward', stop.signal);
      await turn();
      stop.abort();
      await assert.rejects(call, qkvError('aborted'));
      return sent.findLast((message) => message.method === 'forward').id;
    };
    const id = await cancelled();
    mock.timers.tick(10_000);
    say({ id, error: new QkvError('aborted', 'Cancelled').toJSON() });
    mock.timers.tick(60_000);
    assert.deepEqual(crashes, []);
    await cancelled();
    mock.timers.tick(10_000);
    assert.deepEqual(crashes, []);
    mock.timers.tick(1000);
    assert.equal(crashes.length, 1);
  } finally {
    mock.timers.reset();
  }
});

test('the run of a call that was cancelled is given back when it comes', async () => {
  const { sent, spawn, say } = notes();
  const connection = connect({ onCrash: assert.fail, spawn });
  for (const method of ['forward', 'generate']) {
    sent.length = 0;
    const controller = new AbortController();
    const call = assert.rejects(ask(connection, method, controller.signal), qkvError('aborted'));
    await turn();
    const [{ id }] = sent;
    controller.abort();
    await call;
    assert.deepEqual(sent.slice(1), [{ abort: id }]);
    say({ id, result: { run: 7, tokens: [] } });
    await turn();
    const { method: dropped, run } = sent[2];
    assert.deepEqual([dropped, run, sent.length], ['dispose', 7, 3]);
  }
  connection.end(OVER);
});

test('a run that came is given back when onToken is still busy and the call is cancelled', async () => {
  const { sent, spawn, say } = notes();
  const connection = connect({ onCrash: assert.fail, spawn });
  const controller = new AbortController();
  const onToken = () => new Promise(() => {});
  const call = assert.rejects(ask(connection, 'generate', controller.signal, { onToken }), qkvError('aborted'));
  await turn();
  const [{ id }] = sent;
  say({ id, token: { id: 1, text: 'a', index: 0, special: false } });
  say({ id, result: { run: 3, tokens: [] } });
  await turn();
  controller.abort();
  await call;
  await turn();
  assert.deepEqual(
    sent.slice(1).map(({ method, run }) => [method, run]),
    [['dispose', 3]],
  );
});

test('few forwards are with the worker at once; those that are cancelled in line never go there', async () => {
  const { sent, spawn, say } = notes();
  const connection = connect({ onCrash: assert.fail, spawn });
  const controller = new AbortController();
  const calls = Array.from({ length: 40 }, (_, i) =>
    ask(connection, 'forward', i >= 20 ? controller.signal : undefined),
  );
  const settled = Promise.allSettled(calls);
  await turn();
  assert.equal(sent.length, 16);
  controller.abort();
  for (let answered = 0; answered < 20; answered++) {
    say({ id: sent[answered].id, result: { run: answered, tokens: [] } });
    await turn();
  }
  assert.equal(sent.length, 20);
  const states = (await settled).map(({ status }) => status);
  assert.deepEqual([states.indexOf('rejected'), states.lastIndexOf('fulfilled')], [20, 19]);
});

test('when the worker is lost, calls with it and calls in line fail alike', async () => {
  const { sent, spawn, say, lose } = notes();
  let crashes = 0;
  const connection = connect({ onCrash: () => crashes++, spawn });
  say({ ready: true });
  const calls = Array.from({ length: 20 }, () =>
    assert.rejects(ask(connection, 'forward'), qkvError('crash', 'it ended with code 1')),
  );
  await turn();
  lose('it ended with code 1');
  await Promise.all(calls);
  assert.deepEqual([crashes, sent.at(-1)], [1, 'end']);
});

test('an exception of the worker fails one call; only a crash of the engine ends it', async () => {
  const { sent, spawn, say } = notes();
  let crashes = 0;
  const connection = connect({ onCrash: () => crashes++, spawn });
  for (const code of ['internal', 'argument', 'memory', 'worker']) {
    const call = assert.rejects(
      ask(connection, 'forward'),
      qkvError(/** @type {import('../../../web/lib/checks/errors.js').ErrorCode} */ (code)),
    );
    await turn();
    say({ id: sent.at(-1).id, error: { code, what: 'it', message: 'it' } });
    await call;
  }
  assert.ok(connection.isAlive());
  const call = assert.rejects(ask(connection, 'forward'), qkvError('crash'));
  await turn();
  say({ id: sent.at(-1).id, error: { code: 'crash', what: 'it', message: 'it' } });
  await call;
  assert.deepEqual([connection.isAlive(), crashes], [false, 1]);
});

test('a call that waits for a worker to load again hears its signal, and the load goes on for others', async () => {
  let loads = 0;
  /** @type {(info: any) => void} */
  let loaded = () => {};
  const connection = /** @type {ReturnType<typeof connect>} */ (
    /** @type {unknown} */ ({
      request: () => {
        loads++;
        return new Promise((resolve) => {
          loaded = resolve;
        });
      },
      end: assert.fail,
    })
  );
  const workers = createWorkers(/** @type {any} */ ({}), undefined, null, () => connection);
  const controller = new AbortController();
  const first = withCall([], controller.signal, (call) => workers.get(call));
  const second = withCall([], undefined, (call) => workers.get(call));
  controller.abort();
  await assert.rejects(first, qkvError('aborted'));
  loaded({});
  assert.equal(await second, connection);
  assert.equal(loads, 1);
});
