/** The same model in a worker (of Node): same bits, cancel, crash, recovery. A crash is made from outside: Node says when
 * a worker starts, so the test can end its thread. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { afterEach, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { createEngine } from '../../web/lib/engine/engine.js';
import { loadModel as loadFromSource } from '../../web/lib/index.js';
import { loadWasm } from '../../web/lib/engine/loader.js';
import { assertSameBits, BUNDLED, inTree, qkvError } from './golden.js';
import { TINY_FOLDER, tinyFiles } from './tiny_model.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('node:worker_threads').Worker} Worker */

/** @type {Worker[]} */
const started = [];
process.on('worker', (worker) => started.push(worker));

/** @type {Model[]} */
const models = [];
/** @type {typeof loadModel} */
const load = async (source, options) => {
  const model = await loadModel(source, { worker: true, ...options });
  models.push(model);
  return model;
};
afterEach(() => {
  for (const model of models.splice(0)) model.dispose();
  started.length = 0;
});

const LONG = new Array(500).fill('word').join(' ');

test('every call gives in a worker what it gives in this thread', async () => {
  const [near, far] = [await loadModel(BUNDLED), await load(BUNDLED)];
  assert.equal(started.length, 1);
  assert.deepEqual(far.info, near.info);
  const text = "The animal didn't cross the street";
  assert.deepEqual(await far.tokenize(text, 'b'), await near.tokenize(text, 'b'));
  const input = { batch: [text, /** @type {[string, string]} */ (['a', 'b'])] };
  const options = { ablate: [{ layer: 1, head: 2 }], scale: 0.2, temperature: 2 };
  const [here, there] = [await near.forward(input, options), await far.forward(input, options)];
  assert.deepEqual(there.tokens, here.tokens);
  assert.deepEqual([there.truncated, there.lengths, there.bytes], [here.truncated, here.lengths, here.bytes]);
  assert.ok(there.time > 0);
  for (const sequence of [0, 1]) {
    assert.deepEqual(
      await there.getWeights(4, 7, { sequence, rows: [1, 3] }),
      await here.getWeights(4, 7, { sequence, rows: [1, 3] }),
    );
    assert.deepEqual(
      await there.getStage('q', { layer: 2, head: 1, sequence }),
      await here.getStage('q', { layer: 2, head: 1, sequence }),
    );
    assert.deepEqual(await there.hidden(6, { sequence }), await here.hidden(6, { sequence }));
    assert.deepEqual(await there.overview({ sequence, size: 4 }), await here.overview({ sequence, size: 4 }));
  }
  assert.deepEqual(await there.embedding(), await here.embedding());
  assert.deepEqual(await far.embed(['one', 'two two']), await near.embed(['one', 'two two']));
  near.dispose();
});

test('errors cross with code, got and want', async () => {
  const model = await load(tinyFiles());
  const run = await model.forward({ ids: [1, 2] });
  await assert.rejects(run.getWeights(99, 0), (error) => {
    const { code, got, want } = /** @type {import('qkv').QkvError} */ (error);
    assert.deepEqual([code, got, want], ['range', 99, '0 to 1']);
    return qkvError('range', 'getWeights: layer')(/** @type {Error} */ (error));
  });
  await assert.rejects(run.nextTokens(3), qkvError('unsupported', 'language-model head'));
  await assert.rejects(model.generate({ ids: [1] }), qkvError('unsupported', 'language-model head'));
  await assert.rejects(model.forward({ ids: [73] }), qkvError('range', 'ids[0]'));
  await assert.rejects(model.forward('text'), qkvError('tokenizer'));
  await assert.rejects(
    model.forward({ ids: [1] }, /** @type {object} */ ({ scale: () => 1 })),
    qkvError('argument', 'cannot go to a worker'),
  );
  await assert.rejects(
    model.forward({ ids: [1] }, /** @type {object} */ (/** @type {unknown} */ ([]))),
    qkvError('argument', 'options'),
  );
  await assert.rejects(load({ 'config.json': new Uint8Array() }), qkvError('json'));
  await assert.rejects(load('/no/such/folder'), qkvError('missing', '/no/such/folder'));
  await assert.rejects(load(/** @type {string} */ (/** @type {unknown} */ (7))), qkvError('source'));
});

test('dispose twice is harmless, and later calls are refused', async () => {
  const model = await load(tinyFiles());
  const run = await model.forward({ ids: [1, 2] });
  const other = await model.forward({ ids: [1, 2] });
  run.dispose();
  run.dispose();
  await assert.rejects(run.getWeights(0, 0), qkvError('disposed', 'run'));
  const pending = other.getWeights(0, 0);
  model.dispose();
  model.dispose();
  await assert.rejects(pending, qkvError('disposed'));
  await assert.rejects(model.forward({ ids: [1] }), qkvError('disposed', 'model'));
  await assert.rejects(other.overview(), qkvError('disposed', 'model'));
});

test('two loads at once, and many calls at once, do not disturb each other', async () => {
  const [one, two] = await Promise.all([load(tinyFiles()), load(TINY_FOLDER)]);
  assert.equal(started.length, 2);
  const runs = await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 ? one : two).forward({ ids: [i + 1, i + 2] })),
  );
  const alone = await loadModel(tinyFiles());
  for (const [i, run] of runs.entries()) {
    const expected = await alone.forward({ ids: [i + 1, i + 2] });
    assertSameBits((await run.hidden(2)).data, (await expected.hidden(2)).data, `run ${i}`);
  }
});

test('an engine lends its module and ceiling to the worker', async () => {
  const engine = await init({ memoryLimit: 50_000 });
  await assert.rejects(load(tinyFiles(), { engine }), qkvError('memory', 'MB are available'));
});

test('progress counts bytes up to the whole file', async () => {
  /** @type {{ phase: string, file: string | null, loaded: number, total: number | null }[]} */
  const seen = [];
  await load(BUNDLED, { onProgress: (progress) => seen.push(progress) });
  const download = seen.filter(({ phase }) => phase === 'download');
  assert.ok(download.length > 10);
  assert.deepEqual(download[0], { phase: 'download', file: 'model.safetensors', loaded: 0, total: 28_665_456 });
  assert.equal(download.at(-1)?.loaded, 28_665_456);
  assert.ok(download.every(({ loaded }, i) => i === 0 || loaded > download[i - 1].loaded));
  assert.equal(seen.at(-1)?.phase, 'load');
});

/** Enough texts that computing them takes seconds on any machine. */
const MANY = { batch: new Array(24).fill(LONG) };

test('forward can be cancelled before, at once and between layers, and the model stays', async () => {
  const model = await load(BUNDLED);
  await assert.rejects(model.forward('x', { signal: AbortSignal.abort() }), qkvError('aborted'));
  for (const wait of [0, 5, 20]) {
    const controller = new AbortController();
    const long = model.forward(MANY, { signal: controller.signal });
    setTimeout(() => controller.abort(), wait);
    await assert.rejects(long, qkvError('aborted'));
    const next = await model.forward('the next text is computed');
    assert.equal((await next.getWeights(0, 0)).rows, next.tokens.length);
  }
  assert.equal(started.length, 1);
});

test('a cancelled forward ends in the worker too: a short text after ten long ones does not wait for them', async () => {
  const model = await load(BUNDLED);
  /** @type {string[]} what the worker answers, heard beside the client, for which an aborted call is over */
  const answers = [];
  const answered = new Promise((resolve) => {
    started[0].on('message', (message) => {
      answers.push('result' in message ? 'computed' : message.error.code);
      if (answers.length === 11) resolve(null);
    });
  });
  let count = 0;
  const posted = new Promise((resolve) => {
    const [worker] = started;
    const { postMessage } = worker;
    worker.postMessage = (...message) => {
      postMessage.apply(worker, message);
      if (++count === 10) resolve(null);
    };
  });
  const controller = new AbortController();
  const long = Promise.allSettled(Array.from({ length: 10 }, () => model.forward(LONG, { signal: controller.signal })));
  await posted;
  controller.abort();
  await model.forward('short');
  await answered;
  // One is the short text; a long one or two may have been computed while the signal was on its way.
  assert.ok(answers.filter((answer) => answer === 'computed').length <= 3, `${answers}`);
  for (const result of await long) assert.equal(result.status === 'rejected' && result.reason.code, 'aborted');
});

test('embed can be cancelled between its batches', async () => {
  const model = await load(BUNDLED);
  const controller = new AbortController();
  const texts = new Array(40).fill(new Array(100).fill('word').join(' '));
  const onProgress = () => controller.abort();
  await assert.rejects(model.embed(texts, { signal: controller.signal, onProgress }), qkvError('aborted'));
  assert.equal((await model.embed(['still here'])).length, 1);
});

test('loading can be cancelled before, while the weights come and while the server is silent', async () => {
  await assert.rejects(load(BUNDLED, { signal: AbortSignal.abort() }), qkvError('aborted'));
  const controller = new AbortController();
  const onProgress = () => controller.abort();
  await assert.rejects(load(BUNDLED, { signal: controller.signal, onProgress }), qkvError('aborted'));
  const late = new AbortController();
  const silent = createServer(() => late.abort());
  await new Promise((done) => silent.listen(0, '127.0.0.1', () => done(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (silent.address());
  await assert.rejects(load(`http://127.0.0.1:${port}/`, { signal: late.signal }), qkvError('aborted'));
  silent.close();
  silent.closeAllConnections();
});

test('when the worker dies all pending calls fail, runs are lost, and the next call brings the model back', async () => {
  const model = await load(BUNDLED);
  const before = await model.forward('The animal was tired');
  const expected = await before.embedding();
  const pending = [model.forward(LONG), before.getWeights(0, 0), model.tokenize('x'), model.embed(['x'])];
  const settled = Promise.allSettled(pending);
  await started[0].terminate();
  for (const result of await settled) {
    if (result.status === 'rejected') qkvError('crash', 'the next call starts a new worker')(result.reason);
  }
  assert.equal((await settled)[0].status, 'rejected');
  await assert.rejects(before.getWeights(0, 0), qkvError('crash'));
  before.dispose();
  const [one, two] = await Promise.all([model.forward('The animal was tired'), model.forward('two at once')]);
  assert.deepEqual(await one.embedding(), expected);
  assert.equal((await two.getWeights(0, 0)).rows, two.tokens.length);
  assert.equal(started.length, 2);
});

test('a worker that dies while loading fails the load', async () => {
  const loading = load(BUNDLED, { onProgress: () => started[0].terminate() });
  await assert.rejects(loading, qkvError('crash'));
});

test('crashes that are apart do not add up, two in a row end the model', async () => {
  const model = await load(tinyFiles());
  for (let i = 0; i < 3; i++) {
    await started[i].terminate();
    await model.forward({ ids: [1] });
  }
  const dying = (/** @type {number} */ i) => {
    process.once('worker', (worker) => setImmediate(() => worker.terminate()));
    return started[i].terminate();
  };
  await dying(3);
  // It ends before it is ready, or just after.
  await assert.rejects(model.forward({ ids: [1] }), ({ code }) => ['worker', 'crash'].includes(code));
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', '2 times in a row', 'given up'));
  assert.equal(started.length, 5);
});

test('a model that nobody disposed does not keep the process alive', () => {
  const script = `
    const { loadModel } = await import('qkv');
    const model = await loadModel(${JSON.stringify(TINY_FOLDER)}, { worker: true });
    const run = await model.forward({ ids: [1, 2] });
    console.log((await run.getWeights(0, 0)).rows);`;
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: 300_000, cwd: inTree('.') });
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  assert.deepEqual([stdout, status], ['2\n', 0]);
});

test('a thread that is lost in a worker ends the worker; the next call starts another one', async () => {
  const pool = { threads: 2, address: new URL('./stopping_thread.js', import.meta.url).href };
  const engine = await createEngine({ ...(await loadWasm({ threads: 2 })), pool });
  const model = await loadFromSource(BUNDLED, { engine, worker: true });
  models.push(model);
  const before = started.length;
  await assert.rejects(model.forward(LONG), qkvError('crash', 'A thread of the engine stopped'));
  assert.ok((await model.tokenize('still here')).length > 0);
  assert.equal(started.length, before + 1);
  engine.dispose();
});
