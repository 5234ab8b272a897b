/** Several threads: the bits of one, one thread where memory cannot be shared, and what happens when a thread ends. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { init, loadModel, MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { assertSameBits, BUNDLED, inTree, qkvError, randomIds, seeded } from './golden.js';
import { tinyFiles } from './tiny_model.js';
import { VOCAB, wideDecoderFiles } from './wide_decoder.js';

/** @typedef {import('node:worker_threads').Worker} NodeWorker */

const COUNTS = [1, 2, 3, 8];
const TEXTS = [
  'A river bank',
  'The animal did not cross the street because it was too tired. '.repeat(12),
  'one',
  'Attention is all you need, they said, and then they added layers of other things to it.',
];

/**
 * The workers that are started while something is done, and what they are made to run instead of thread.js.
 * @template T
 * @param {() => Promise<T>} action
 * @param {{ isSilent: boolean } | null} [stopping] runs stopping_thread.js
 */
async function watchWorkers(action, stopping = null) {
  const builtin = process.getBuiltinModule('node:worker_threads');
  const Original = builtin.Worker;
  /** @type {NodeWorker[]} */
  const workers = [];
  builtin.Worker = class extends Original {
    /** @param {ConstructorParameters<typeof Original>} args */
    constructor(...[address, options]) {
      const script = new URL('./stopping_thread.js', import.meta.url);
      super(stopping ? script : address, stopping ? { ...options, workerData: stopping } : options);
      workers.push(this);
    }
  };
  try {
    return { result: await action(), workers };
  } finally {
    builtin.Worker = Original;
  }
}

/** @param {NodeWorker} worker */
const ending = (worker) => new Promise((resolve) => worker.once('exit', resolve));

/**
 * All that is compared, in one array.
 * @param {number} threads
 * @param {(engine: import('qkv').Engine) => Promise<Float32Array[]>} tell
 */
async function tellWith(threads, tell) {
  const engine = await init({ threads });
  assert.equal(engine.info.threads, threads);
  try {
    return await tell(engine);
  } finally {
    engine.dispose();
  }
}

/**
 * @param {string} what
 * @param {(engine: import('qkv').Engine) => Promise<Float32Array[]>} tell
 */
async function assertSameForAll(what, tell) {
  const [one, ...others] = COUNTS;
  const expected = await tellWith(one, tell);
  for (const threads of others) {
    const actual = await tellWith(threads, tell);
    assert.equal(actual.length, expected.length);
    actual.forEach((values, i) => {
      assertSameBits(values, expected[i], `${what}, ${threads} threads, array ${i}`);
    });
  }
}

/** @param {import('qkv').Run} run */
async function numbersOf(run) {
  const { thumbnails, stats } = await run.overview();
  const statistics = Float32Array.from(stats.flatMap((one) => Object.values(one)));
  return [thumbnails, statistics, (await run.hidden(2)).data, (await run.getWeights(1, 1)).data];
}

test('the bundled model has the same bits with 1, 2, 3 and 8 threads', async () => {
  await assertSameForAll('minilm', async (engine) => {
    const model = await loadModel(BUNDLED, { engine });
    const arrays = [];
    for (const length of [1, 16, 70, 200]) {
      const run = await model.forward({ ids: randomIds(seeded(length), length, model.info.vocab) });
      arrays.push((await run.hidden(6)).data, (await run.getStage('output', { layer: 5 })).data);
      arrays.push(...(await numbersOf(run)), await run.embedding());
      run.dispose();
    }
    return [...arrays, ...(await model.embed(TEXTS))];
  });
});

test('a decoder does, at once and token by token, in every precision', async () => {
  for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
    await assertSameForAll(precision, async (engine) => {
      const model = await loadModel(wideDecoderFiles(), { engine, precision });
      const ids = randomIds(seeded(3), 40, VOCAB);
      const run = await model.generate({ ids }, { maxNewTokens: 12, temperature: 1, seed: 9 });
      const tokens = Float32Array.from(run.tokens, ({ id }) => id);
      return [tokens, await run.logits(), await run.logits({ position: 20 }), ...(await numbersOf(run))];
    });
  }
});

test('the operators do', async () => {
  await assertSameForAll('operators', async (engine) => {
    const random = seeded(8);
    const numbers = (/** @type {number[]} */ ...shape) => ({
      data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => random() - 0.5),
      shape,
    });
    const given = { query: numbers(2, 6, 90, 24), key: numbers(2, 2, 70, 24), value: numbers(2, 2, 70, 16) };
    const masked = scaledDotProductAttention(engine, { ...given, causal: true, returns: 'masked' });
    const single = scaledDotProductAttention(engine, {
      ...{ query: numbers(1, 1, 300, 32), key: numbers(1, 1, 300, 32), value: numbers(1, 1, 300, 32) },
      returns: 'weights',
    });
    const parameters = {
      in_proj_weight: numbers(288, 96),
      in_proj_bias: numbers(288),
      'out_proj.weight': numbers(96, 96),
      'out_proj.bias': numbers(96),
    };
    const attention = new MultiHeadAttention(engine, { embedDim: 96, numHeads: 6, parameters });
    const x = numbers(1, 120, 96);
    const { output } = attention.forward(x, x, x);
    return [masked.output, masked.masked, single.output, single.weights, output].map(({ data }) => data);
  });
});

test('200 forwards of any length: the same bits, and no more memory than the longest takes', async () => {
  const engine = await init({ threads: 3 });
  const model = await loadModel(BUNDLED, { engine });
  const random = seeded(1);
  const inputs = [5, 30, 77, 128].map((length) => randomIds(random, length, model.info.vocab));
  const expected = [];
  for (const ids of inputs) {
    const run = await model.forward({ ids });
    expected.push((await run.hidden(6)).data);
    run.dispose();
  }
  const before = engine.memory();
  for (let i = 0; i < 200; i++) {
    const which = Math.floor(random() * inputs.length);
    const run = await model.forward({ ids: inputs[which] });
    assertSameBits((await run.hidden(6)).data, expected[which], `forward ${i}`);
    run.dispose();
  }
  assert.deepEqual(engine.memory(), before);
  engine.dispose();
});

test('a model in a worker has threads of its own there', async () => {
  const ids = randomIds(seeded(6), 100, 30_000);
  const alone = await loadModel(BUNDLED);
  const expected = (await (await alone.forward({ ids })).hidden(6)).data;
  const engine = await init({ threads: 2 });
  const model = await loadModel(BUNDLED, { engine, worker: true });
  const run = await model.forward({ ids });
  assertSameBits((await run.hidden(6)).data, expected, 'in a worker');
  model.dispose();
  engine.dispose();
});

test('threads: how many there are', async () => {
  const { result: engine, workers } = await watchWorkers(() => init({ threads: 'auto' }));
  assert.ok(engine.info.threads >= 1 && engine.info.threads <= 4);
  assert.equal(workers.length, engine.info.threads - 1);
  engine.dispose();
  assert.equal((await init()).info.threads, 1);
  assert.equal((await watchWorkers(() => init({ threads: 1 }))).workers.length, 0);
  const most = await init({ threads: 16 });
  assert.equal(most.info.threads, 16);
  most.dispose();
});

test('a module without shared memory computes with one thread, one with it may be handed in', async () => {
  const plain = readFileSync(new URL(import.meta.resolve('qkv/qkv.wasm')));
  assert.equal((await init({ wasm: plain, threads: 2 })).info.threads, 1);
  const wasm = readFileSync(new URL(import.meta.resolve('qkv/qkv-threads.wasm')));
  assert.equal((await init({ wasm })).info.threads, 1);
  const engine = await init({ wasm, threads: 2, variant: 'simd' });
  assert.deepEqual([engine.info.threads, engine.info.variant, engine.info.wasmBytes], [2, 'simd', wasm.length]);
  engine.dispose();
});

test('where memory cannot be shared there is one thread, without a word', async () => {
  for (const [name, value] of /** @type {const} */ ([
    ['SharedArrayBuffer', undefined],
    ['crossOriginIsolated', false],
  ])) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    try {
      const engine = await init({ threads: 2 });
      assert.equal(engine.info.threads, 1, name);
      const model = await loadModel(tinyFiles(), { engine });
      assert.equal((await model.forward({ ids: [1, 2] })).tokens.length, 2);
    } finally {
      if (before) Object.defineProperty(globalThis, name, before);
      else Reflect.deleteProperty(globalThis, name);
    }
  }
  assert.equal(typeof SharedArrayBuffer, 'function');
});

test('where no worker can be started there is one thread', async () => {
  const builtin = process.getBuiltinModule('node:worker_threads');
  const Original = builtin.Worker;
  builtin.Worker = class extends Original {
    constructor() {
      super('throw new Error("never evaluated")', { eval: false });
    }
  };
  try {
    const engine = await init({ threads: 2 });
    assert.equal(engine.info.threads, 1);
    const model = await loadModel(tinyFiles(), { engine });
    assert.equal((await model.forward({ ids: [1, 2] })).tokens.length, 2);
  } finally {
    builtin.Worker = Original;
  }
});

/**
 * Forwards until a thread has stopped in one; it may take a while until that thread gets a part.
 * @param {import('qkv').Model} model
 * @param {Int32Array} ids
 */
async function forwardUntilStopped(model, ids) {
  for (let i = 0; i < 500; i++) {
    const run = await model.forward({ ids });
    run.dispose();
  }
}

test('a thread that stops in the middle of its work is an error, not a hang; the next call has all threads again', async () => {
  const ids = randomIds(seeded(2), 128, 30_000);
  const { result: engine } = await watchWorkers(() => init({ threads: 2 }), { isSilent: true });
  const model = await loadModel(BUNDLED, { engine });
  await assert.rejects(
    forwardUntilStopped(model, ids),
    qkvError('crash', 'A thread of the engine stopped in forward', 'Try again'),
  );
  assert.equal(engine.info.threads, 1);
  const alone = await loadModel(BUNDLED);
  const expected = (await (await alone.forward({ ids })).hidden(6)).data;
  const used = engine.memory().used;
  for (let i = 0; i < 3; i++) {
    const run = await model.forward({ ids });
    assert.equal(engine.info.threads, 2);
    assertSameBits((await run.hidden(6)).data, expected, 'the next call');
    run.dispose();
  }
  assert.equal(engine.memory().used, used);
  engine.dispose();
});

test('a thread that was lost between calls is replaced by the next one, be it an operator', async () => {
  const { result: engine, workers: first } = await watchWorkers(() => init({ threads: 3 }));
  const model = await loadModel(tinyFiles(), { engine });
  const forward = () => model.forward({ ids: [1, 2] });
  await first[0].terminate();
  assert.equal(engine.info.threads, 2);
  const { workers: second } = await watchWorkers(forward);
  assert.deepEqual([second.length, engine.info.threads], [2, 3]);
  assert.equal((await watchWorkers(forward)).workers.length, 0);
  await second[1].terminate();
  const { workers: third } = await watchWorkers(async () => {
    const tensor = { data: new Float32Array(8), shape: [1, 1, 2, 4] };
    scaledDotProductAttention(engine, { query: tensor, key: tensor, value: tensor });
    await loadModel(tinyFiles(), { engine });
  });
  assert.deepEqual([third.length, engine.info.threads], [2, 3]);
  engine.dispose();
});

test('where no thread comes back, one goes on, and an engine that ends meanwhile leaves none', async () => {
  const ids = randomIds(seeded(2), 20, 73);
  const { result: engine, workers } = await watchWorkers(() => init({ threads: 2 }));
  const model = await loadModel(tinyFiles(), { engine });
  const builtin = process.getBuiltinModule('node:worker_threads');
  const Original = builtin.Worker;
  await workers[0].terminate();
  builtin.Worker = class extends Original {
    constructor() {
      super('throw new Error("never evaluated")', { eval: false });
    }
  };
  try {
    await model.forward({ ids });
    assert.equal(engine.info.threads, 1);
  } finally {
    builtin.Worker = Original;
  }
  assert.equal((await watchWorkers(() => model.forward({ ids }))).workers.length, 0);
  engine.dispose();

  const { result: other, workers: first } = await watchWorkers(() => init({ threads: 2 }));
  const second = await loadModel(tinyFiles(), { engine: other });
  await first[0].terminate();
  const { workers: late } = await watchWorkers(async () => {
    const running = second.forward({ ids });
    await new Promise((resolve) => setImmediate(resolve));
    other.dispose();
    await assert.rejects(running, qkvError('disposed'));
  });
  await Promise.all(late.filter(({ threadId }) => threadId > 0).map(ending));
});

test('a thread that traps ends the instance at once, as any trap does; the next model gets a new one', async () => {
  const ids = randomIds(seeded(2), 128, 30_000);
  const { result: engine } = await watchWorkers(() => init({ threads: 2 }), { isSilent: false });
  const model = await loadModel(BUNDLED, { engine });
  await assert.rejects(
    forwardUntilStopped(model, ids),
    qkvError('crash', 'A thread of the engine stopped in forward', 'Load the model again'),
  );
  await assert.rejects(model.forward({ ids }), qkvError('crash'));
  const again = await loadModel(BUNDLED, { engine });
  assert.equal(engine.info.threads, 2);
  const run = await again.forward({ ids });
  assert.equal(run.tokens.length, 128);
  engine.dispose();
});

test('a thread that is terminated while the model computes: a result or an error, and the next call works', async () => {
  const ids = randomIds(seeded(4), 256, 30_000);
  const alone = await loadModel(BUNDLED);
  const expected = (await (await alone.forward({ ids })).hidden(6)).data;
  for (let round = 0; round < 3; round++) {
    const { result: engine, workers } = await watchWorkers(() => init({ threads: 3 }));
    const model = await loadModel(BUNDLED, { engine });
    const running = model.forward({ ids });
    await new Promise((resolve) => setImmediate(resolve));
    const gone = ending(workers[round % 2]);
    workers[round % 2].terminate();
    const error = await running.then(
      () => null,
      (/** @type {Error} */ reason) => reason,
    );
    if (error) qkvError('crash', 'A thread of the engine stopped')(error);
    await gone;
    assert.equal(engine.info.threads, error ? 1 : 2);
    const run = await model.forward({ ids });
    assert.equal(engine.info.threads, 3);
    assertSameBits((await run.hidden(6)).data, expected, 'afterwards');
    engine.dispose();
  }
});

test('between calls the threads take no time', async () => {
  const engine = await init({ threads: 3 });
  const model = await loadModel(tinyFiles(), { engine });
  await model.forward({ ids: randomIds(seeded(5), 80, 73) });
  // V8 may still compile at first, and collects when it likes: the quietest of several windows counts.
  const spent = [];
  for (let window = 0; window < 6; window++) {
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { user, system } = process.cpuUsage(before);
    spent.push(user + system);
  }
  assert.ok(Math.min(...spent) < 50_000, `${spent} microseconds of windows of 100,000`);
  engine.dispose();
});

test('the threads end with the engine', async () => {
  const { result: engine, workers } = await watchWorkers(() => init({ threads: 3 }));
  assert.equal(workers.length, 2);
  const gone = workers.map(ending);
  engine.dispose();
  await Promise.all(gone);
});

test('a process with parked threads ends by itself', () => {
  const script = `
    const { init, loadModel } = await import('qkv');
    const engine = await init({ threads: 3 });
    const model = await loadModel(${JSON.stringify(inTree('tests/golden/tiny/bert'))}, { engine });
    await model.forward({ ids: [1, 2, 3] });
    console.log(engine.info.threads);`;
  const options = { encoding: /** @type {const} */ ('utf8'), timeout: 300_000, cwd: inTree('.') };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  assert.deepEqual([status, stdout, stderr], [0, '3\n', '']);
});
