/** Calls in an order nobody meant: what is disposed, aborted or lost while a call waits, and many calls at once. Each way in
 * this thread and in a worker. Nothing here measures time: limits are there so that a hang is a failure. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { init, loadModel, MultiHeadAttention } from 'qkv';
import { BUNDLED, qkvError } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';
import { TINY, tinyFiles } from './tiny_model.js';

/** @typedef {import('qkv').Model} Model */

/** @type {Model[]} */
const models = [];
/** @type {typeof loadModel} */
const load = async (source, options) => {
  const model = await loadModel(source, options);
  models.push(model);
  return model;
};
afterEach(() => {
  for (const model of models.splice(0)) model.dispose();
});

/** Far longer than anything here takes. */
const HANG = { timeout: 60_000 };
const MODES = /** @type {const} */ ([
  ['in this thread', false],
  ['in a worker', true],
]);
const decoder = () => decoderFiles('llama', { eos_token_id: null });
const LONG = new Array(500).fill('word').join(' ');

/** What a promise comes to, as a code. @param {Promise<unknown>} promise */
const codeOf = (promise) =>
  promise.then(
    () => 'resolved',
    (error) => error.code ?? error,
  );

test('a forward whose model is disposed at once is refused, and the engine goes on', HANG, async () => {
  const engine = await init();
  const other = await load(tinyFiles(), { engine });
  const expected = (await (await other.forward({ ids: [1, 2, 3] })).hidden(2)).data;
  const idle = engine.memory().used;
  const model = await load(tinyFiles(), { engine });
  const one = codeOf(model.forward({ ids: [1, 2, 3] }));
  const many = Array.from({ length: 200 }, () => codeOf(model.forward({ ids: [1, 2, 3] })));
  const rest = [codeOf(model.embed([])), codeOf(model.tokenize('x'))];
  model.dispose();
  const layer = new MultiHeadAttention(engine, parametersOf(64));
  assert.equal(await one, 'disposed');
  assert.deepEqual(new Set(await Promise.all(many)), new Set(['disposed']));
  await Promise.all(rest);
  layer.dispose();
  assert.equal(engine.memory().used, idle, 'nothing of the runs is left');
  const again = await other.forward({ ids: [1, 2, 3] });
  assert.deepEqual((await again.hidden(2)).data, expected);
});

/** @param {number} width */
function parametersOf(width) {
  const tensor = (/** @type {number[]} */ ...shape) => ({
    data: new Float32Array(shape.reduce((a, b) => a * b, 1)),
    shape,
  });
  const parameters = {
    in_proj_weight: tensor(3 * width, width),
    in_proj_bias: tensor(3 * width),
    'out_proj.weight': tensor(width, width),
    'out_proj.bias': tensor(width),
  };
  return { embedDim: width, numHeads: 4, parameters };
}

for (const [where, worker] of MODES) {
  test(`a model that is disposed while it computes, embeds or writes refuses each, ${where}`, HANG, async () => {
    const engine = await init();
    const model = await load(BUNDLED, { engine, worker });
    const writer = await load(decoder(), { engine, worker });
    /** @type {(model: Model) => Promise<unknown>[]} */
    const calls = (made) => [
      codeOf(model.forward(LONG)),
      codeOf(model.forward({ batch: [LONG, LONG] })),
      codeOf(model.embed(new Array(20).fill(LONG), { onProgress: () => made.dispose() })),
    ];
    const writing = writer.generate({ ids: [1, 2] }, { maxNewTokens: 40, onToken: () => void writer.dispose() });
    assert.equal(await codeOf(writing), 'disposed');
    const computing = calls(model);
    setTimeout(() => model.dispose());
    assert.deepEqual(new Set(await Promise.all(computing)), new Set(['disposed']));
    if (!worker) assert.equal(engine.memory().used, 0);
  });

  test(`an engine that is disposed ends its models, and every call of them, ${where}`, HANG, async () => {
    const engine = await init();
    const [idle, busy] = [await load(tinyFiles(), { engine, worker }), await load(decoder(), { engine, worker })];
    const run = await idle.forward({ ids: [1, 2] });
    const waiting = codeOf(busy.generate({ ids: [1] }, { maxNewTokens: 20, onToken: () => new Promise(() => {}) }));
    const loading = codeOf(loadModel(BUNDLED, { engine, worker, onProgress: () => engine.dispose() }));
    assert.equal(await loading, 'disposed');
    assert.equal(await waiting, 'disposed');
    for (const call of [idle.forward({ ids: [1] }), busy.embed(['x']), run.getWeights(0, 0)]) {
      assert.equal(await codeOf(call), 'disposed');
    }
    assert.equal(await codeOf(loadModel(tinyFiles(), { engine, worker })), 'disposed');
  });

  test(`what a callback throws or rejects with is what the call rejects with, ${where}`, HANG, async () => {
    const mine = new Error('mine');
    const throwing = () => {
      throw mine;
    };
    const rejecting = async () => {
      await new Promise((go) => setTimeout(go, 5));
      throw mine;
    };
    const engine = await init();
    const model = await load(BUNDLED, { engine, worker });
    const writer = await load(decoder(), { engine, worker });
    const idle = engine.memory().used;
    for (const callback of [throwing, rejecting]) {
      const load = loadModel(tinyFiles(), { engine, worker, onProgress: callback });
      await assert.rejects(load, (error) => error === mine, 'load');
      const fromFolder = loadModel(BUNDLED, { engine, worker, onProgress: callback });
      await assert.rejects(fromFolder, (error) => error === mine, 'load from a folder');
      await assert.rejects(model.embed(['one', LONG], { onProgress: callback }), (error) => error === mine, 'embed');
      const writing = writer.generate({ ids: [1] }, { onToken: callback, maxNewTokens: 3 });
      await assert.rejects(writing, (error) => error === mine, 'generate');
    }
    assert.equal(engine.memory().used, idle);
    assert.equal((await model.embed(['still here'])).length, 1);
  });

  test(`generate hears its signal while onToken is pending, ${where}`, HANG, async () => {
    const writer = await load(decoder(), { worker });
    const controller = new AbortController();
    let told = 0;
    const onToken = () => {
      told++;
      setTimeout(() => controller.abort(), 1);
      return new Promise(() => {});
    };
    const writing = writer.generate({ ids: [1] }, { maxNewTokens: 5, onToken, signal: controller.signal });
    await assert.rejects(writing, qkvError('aborted'));
    assert.equal(told, 1);
    assert.equal((await writer.generate({ ids: [1] }, { maxNewTokens: 2 })).lengths[0], 3);
  });

  test(`many calls at once: the thread is let go between them, ${where}`, HANG, async () => {
    const model = await load(tinyFiles(), { worker });
    const order = /** @type {number[]} */ ([]);
    let turns = 0;
    const all = Array.from({ length: 3000 }, (_, i) =>
      model.forward({ ids: [1 + (i % 50), 2, 3] }).then((run) => {
        order.push(turns);
        run.dispose();
      }),
    );
    let isOver = false;
    const done = Promise.all(all).then(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise((go) => setTimeout(go));
      turns++;
    }
    await done;
    // The event loop came round between them, and no turn of it had more than a small part.
    assert.ok(turns > 20, `${turns} turns of the event loop`);
    const most = Math.max(...[...new Set(order)].map((turn) => order.filter((one) => one === turn).length));
    assert.ok(most < 1000, `${most} of 3,000 in one turn of the event loop`);
  });
}

test('a call is cancelled while its worker loads the model again: at once, not behind the load', HANG, async () => {
  /** @type {import('node:worker_threads').Worker[]} */
  const started = [];
  const note = (/** @type {import('node:worker_threads').Worker} */ worker) => started.push(worker);
  process.on('worker', note);
  const model = await load(BUNDLED, { worker: true });
  await started[0].terminate();
  const controller = new AbortController();
  let isLoaded = false;
  process.once('worker', (worker) => {
    worker.on('message', (message) => {
      isLoaded ||= 'result' in message;
    });
    setImmediate(() => controller.abort());
  });
  await assert.rejects(model.forward('one', { signal: controller.signal }), qkvError('aborted'));
  assert.ok(!isLoaded, 'it waited for the load');
  assert.equal((await model.forward('two')).lengths.length, 1);
  assert.equal(started.length, 2);
  process.off('worker', note);
});

test('calls that wait hold no memory: of 1,000 at once a few runs are there at a time', HANG, async () => {
  const engine = await init();
  const model = await load(tinyFiles(), { engine });
  const idle = engine.memory().used;
  const probe = await model.forward({ ids: new Int32Array(TINY.positions) });
  const { bytes } = probe;
  probe.dispose();
  let largest = 0;
  const all = Array.from({ length: 1000 }, async () => {
    const run = await model.forward({ ids: new Int32Array(TINY.positions) });
    largest = Math.max(largest, engine.memory().used - idle);
    run.dispose();
  });
  assert.equal(engine.memory().used, idle, 'nothing is reserved by asking');
  await Promise.all(all);
  assert.ok(largest < 8 * bytes, `${largest} bytes, a run has ${bytes}`);
  assert.equal(engine.memory().used, idle);
});

test('a text that is written and texts that are computed take turns', HANG, async () => {
  const writer = await load(decoder(), {});
  /** @type {string[]} */
  const seen = [];
  const writing = writer.generate({ ids: [1] }, { maxNewTokens: 10, onToken: () => void seen.push('token') });
  const forwards = Array.from({ length: 10 }, async () => {
    await writer.forward({ ids: [1, 2] });
    seen.push('forward');
  });
  await Promise.all([writing, ...forwards]);
  const first = seen.slice(0, 12);
  assert.ok(first.includes('token') && first.includes('forward'), `${seen}`);
  assert.ok(seen.lastIndexOf('token') > seen.indexOf('forward'), `${seen}`);
});

test('what is given to a call may be changed behind it', HANG, async () => {
  const model = await load(tinyFiles());
  const ids = Int32Array.of(1, 2, 3);
  const mask = { allow: { data: Uint8Array.of(1, 1, 0), shape: [3] } };
  const expected = await (await model.forward({ ids: [1, 2, 3] }, { mask: structuredClone(mask) })).hidden(2);
  const blocking = model.forward({ ids: [5] });
  const options = { mask, temperature: 1 };
  const pending = model.forward({ ids }, options);
  ids.fill(9);
  mask.allow.data.fill(1);
  options.temperature = 5;
  assert.deepEqual(await (await pending).hidden(2), expected);
  await blocking;
});
