/** What happens after a trap. The real module has none to offer, so these tests assemble a small one that traps, and
 * overwrite a function of the real one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { init, loadModel, MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { createCore } from '../../web/lib/engine/core.js';
import { createEngine, liveCore } from '../../web/lib/engine/engine.js';
import { ABI } from '../../web/lib/engine/instance.js';
import { qkvError } from './golden.js';
import { tinyFiles } from './tiny_model.js';

const I32 = 127;
const [FUNCTION, MEMORY] = [0, 2];
const ABOUT = [
  'version 9.9.9\nstatuses OK:0\nlimits threads:1 thumbnail:1\nprecisions\nplanes\nkinds\npoolings\nstages\nstats',
  'config\ninput\noperator\nslots\n',
].join('\n');

/** @param {number[]} content */
const sized = (content) => [...leb(content.length), ...content];

/** @param {number} value @returns {number[]} */
const leb = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >> 7)]);

/** @param {string} text */
const name = (text) => sized([...Buffer.from(text)]);

/**
 * (module (memory 1) (data "…about…") and functions without parameters that return an i32), each given by its code.
 * @param {Record<string, number[]>} functions
 */
function assemble(functions) {
  const entries = Object.entries(functions);
  const section = (/** @type {number} */ id, /** @type {number[][]} */ items) => [
    id,
    ...sized([...leb(items.length), ...items.flat()]),
  ];
  return new Uint8Array([
    ...[0, 97, 115, 109, 1, 0, 0, 0],
    ...section(1, [[96, 0, 1, I32]]),
    ...section(
      3,
      entries.map(() => [0]),
    ),
    ...section(5, [[0, 1]]),
    ...section(7, [[...name('memory'), MEMORY, 0], ...entries.map(([key], i) => [...name(key), FUNCTION, i])]),
    ...section(
      10,
      entries.map(([, code]) => sized([0, ...code, 11])),
    ),
    ...section(11, [[0, 65, 8, 11, ...sized([...Buffer.from(`${ABOUT}\0`)])]]),
  ]);
}

const constant = (/** @type {number} */ value) => [65, value];
const UNREACHABLE = [0];
const CALL_ITSELF = [16, 3];
const FUNCTIONS = {
  qkv_abi: constant(ABI),
  qkv_describe: constant(8),
  qkv_heap_used: constant(5),
  qkv_deep: CALL_ITSELF,
  qkv_trap: UNREACHABLE,
  qkv_salt: constant(0),
};
const module = new WebAssembly.Module(assemble(FUNCTIONS));

for (const [what, call] of [
  ['a trap', 'qkv_trap'],
  ['an overflow of the stack', 'qkv_deep'],
]) {
  test(`after ${what} the instance answers nothing but the error`, async () => {
    const core = await createCore(module);
    assert.equal(core.call('qkv_heap_used'), 5);
    assert.throws(
      () => core.call(call),
      qkvError('crash', `The engine stopped in ${call}`, 'Load the models of this engine again'),
    );
    assert.equal(core.isAlive(), false);
    assert.throws(() => core.call('qkv_heap_used'), qkvError('crash', call));
    // Freeing must stay harmless: dispose() and finally blocks do it.
    core.free(64);
  });
}

test('the engine takes a new instance for the next model', async () => {
  const engine = await createEngine({ module, variant: 'simd', wasmBytes: 0 });
  const first = await liveCore(engine);
  assert.equal(await liveCore(engine), first);
  assert.throws(() => first.call('qkv_trap'), qkvError('crash'));
  const second = await liveCore(engine);
  assert.notEqual(second, first);
  assert.equal(second.call('qkv_heap_used'), 5);
  assert.equal(engine.memory().used, 5);
});

test('an export that is missing means another version', async () => {
  const core = await createCore(module);
  assert.throws(() => core.call('qkv_forward', 1, 0, 1), qkvError('wasm', 'qkv_forward'));
  assert.equal(core.isAlive(), true);
});

/**
 * The real module with one exported function that only traps: its code becomes `unreachable` as often as it has bytes.
 * @param {string} exported
 */
function breakExport(exported) {
  const wasm = new Uint8Array(readFileSync(new URL(import.meta.resolve('qkv/qkv.wasm'))));
  let at = 8;
  const number = () => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = wasm[at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7;
    }
  };
  let index = -1;
  while (at < wasm.length) {
    const id = wasm[at++];
    const end = number() + at;
    const count = id === 7 || id === 10 ? number() : 0;
    for (let i = 0; i < count && id === 7; i++) {
      const length = number();
      const found = Buffer.from(wasm.subarray(at, at + length)).toString() === exported;
      at += length + 1;
      const target = number();
      if (found) index = target;
    }
    for (let i = 0; i < count && id === 10; i++) {
      const stop = number() + at;
      if (i === index) {
        for (let locals = number(); locals > 0; locals--) {
          number();
          at++;
        }
        wasm.fill(0, at, stop - 1);
      }
      at = stop;
    }
    at = end;
  }
  assert.ok(index >= 0, exported);
  return wasm;
}

test('a trap in forward fails that call and all later ones; the next model gets a new instance', async () => {
  const engine = await init({ wasm: breakExport('qkv_forward') });
  const model = await loadModel(tinyFiles(), { engine });
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', 'qkv_forward'));
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', 'qkv_forward'));
  model.dispose();
  const other = await loadModel(tinyFiles(), { engine });
  assert.equal(other.info.layers, 2);
});

test('a trap while looking in ends the runs too', async () => {
  const engine = await init({ wasm: breakExport('qkv_get_weights') });
  const model = await loadModel(tinyFiles(), { engine });
  const run = await model.forward({ ids: [1, 2] });
  assert.equal((await run.hidden(0)).shape[0], 2);
  await assert.rejects(run.getWeights(0, 0), qkvError('crash', 'qkv_get_weights'));
  await assert.rejects(run.hidden(0), qkvError('crash'));
  run.dispose();
});

test('a trap in a worker ends the worker; the second in a row ends the model', async () => {
  const engine = await init({ wasm: breakExport('qkv_forward') });
  const model = await loadModel(tinyFiles(), { engine, worker: true });
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', 'qkv_forward'));
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', 'qkv_forward'));
  await assert.rejects(model.forward({ ids: [1] }), qkvError('crash', '2 times in a row'));
  model.dispose();
});

test('a trap while loading fails the load', async () => {
  const engine = await init({ wasm: breakExport('qkv_load_rows') });
  await assert.rejects(loadModel(tinyFiles(), { engine }), qkvError('crash', 'qkv_load_rows'));
  await assert.rejects(loadModel(tinyFiles(), { engine, worker: true }), qkvError('crash', 'qkv_load_rows'));
});

test('after a trap operators say what to do without a model, and the engine is there again after a wait', async () => {
  const engine = await init({ wasm: breakExport('qkv_attend') });
  const tensor = { data: new Float32Array(4).fill(1), shape: [2, 2] };
  const call = { query: tensor, key: tensor, value: tensor };
  const parameters = { in_proj_weight: { data: new Float32Array(12), shape: [6, 2] } };
  const options = { embedDim: 2, numHeads: 1, parameters: { ...parameters, 'out_proj.weight': tensor } };
  const layer = new MultiHeadAttention(engine, options);
  const { used } = engine.memory();
  assert.throws(
    () => scaledDotProductAttention(engine, call),
    qkvError('crash', 'qkv_attend', 'make its operators anew'),
  );
  assert.throws(() => layer.forward({ ...tensor }), qkvError('crash', 'qkv_attend', 'make its operators anew'));
  layer.dispose();
  const again = /repeat the call after a moment \(an await\), or make another engine with init/;
  assert.throws(() => scaledDotProductAttention(engine, call), qkvError('crash', 'earlier call', again));
  while (!isThere(engine)) await new Promise((resolve) => setTimeout(resolve, 1));
  const second = new MultiHeadAttention(engine, options);
  assert.ok(engine.memory().used <= used);
  second.dispose();
  engine.dispose();
});

/** @param {import('qkv').Engine} engine */
function isThere(engine) {
  try {
    return engine.memory().used >= 0;
  } catch {
    return false;
  }
}
