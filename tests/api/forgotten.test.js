/** What a caller forgets to dispose gives its memory back when it is collected, and nothing does before. In processes of their
 * own, since only those can be asked to collect. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { inTree } from './golden.js';
import { TINY_FOLDER } from './tiny_model.js';

/**
 * @param {string} body of a script, with `collected(condition)`, which collects until the condition holds or it gives up
 * @returns {unknown} what it reports
 */
function report(body) {
  const script = `
    const { init, loadModel, MultiHeadAttention } = await import('qkv');
    const folder = ${JSON.stringify(TINY_FOLDER)};
    const collected = async (condition, most = 200) => {
      for (let i = 0; i < most && !condition(); i++) {
        await new Promise((go) => setTimeout(go, 10));
        gc();
      }
      return condition();
    };
    const report = (value) => console.log(JSON.stringify(value));
    ${body}`;
  const args = ['--expose-gc', '--input-type=module', '-e', script];
  const done = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000, cwd: inTree('.') });
  assert.equal(done.stderr, '');
  return JSON.parse(done.stdout);
}

test('models that nobody disposed are freed, with their runs, when they are collected', () => {
  const result = report(`
    const engine = await init();
    const before = engine.memory().used;
    await (async () => {
      for (let i = 0; i < 3; i++) await (await loadModel(folder, { engine })).forward({ ids: [1, 2, 3] });
    })();
    const held = engine.memory().used;
    report([held > before, await collected(() => engine.memory().used === before)]);`);
  assert.deepEqual(result, [true, true]);
});

test('a run, a method or a call under way keeps its model', () => {
  const result = report(`
    const engine = await init();
    const run = await (async () => (await loadModel(folder, { engine })).forward({ ids: [1, 2, 3] }))();
    const forward = await (async () => (await loadModel(folder, { engine })).forward)();
    const getWeights = await (async () => (await (await loadModel(folder, { engine })).forward({ ids: [1] })).getWeights)();
    const used = engine.memory().used;
    await collected(() => engine.memory().used !== used, 20);
    const rows = (await run.getWeights(1, 1)).rows;
    const isHeld = engine.memory().used === used;
    const others = [(await getWeights(0, 0)).rows, (await forward({ ids: [1, 2] })).lengths];
    // A run that is disposed of keeps its model no longer.
    const now = engine.memory().used;
    run.dispose();
    const ofRun = now - engine.memory().used;
    const isFreed = await collected(() => now - engine.memory().used > ofRun);
    report([isHeld, rows, others, isFreed]);`);
  assert.deepEqual(result, [true, 3, [1, [2]], true]);
});

test('layers of MultiHeadAttention that nobody disposed are freed when they are collected', () => {
  const result = report(`
    const engine = await init();
    const before = engine.memory().used;
    const tensor = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
    const parameters = { in_proj_weight: tensor(192, 64), in_proj_bias: tensor(192), 'out_proj.weight': tensor(64, 64), 'out_proj.bias': tensor(64) };
    const make = () => new MultiHeadAttention(engine, { embedDim: 64, numHeads: 4, parameters });
    const kept = make();
    const one = engine.memory().used - before;
    (() => { for (let i = 0; i < 3; i++) make().forward(tensor(5, 64)); })();
    const held = engine.memory().used - before;
    const isFreed = await collected(() => engine.memory().used - before === one);
    report([held > 3 * one, isFreed, kept.forward(tensor(5, 64)).output.shape]);`);
  assert.deepEqual(result, [true, true, [5, 64]]);
});

test('a model in a worker that nobody disposed ends its worker when it is collected, unless a run is still there', () => {
  const result = report(`
    let [started, ended] = [0, 0];
    process.on('worker', (worker) => { started++; worker.on('exit', () => ended++); });
    const run = await (async () => (await loadModel(folder, { worker: true })).forward({ ids: [1, 2, 3] }))();
    await (async () => (await loadModel(folder, { worker: true })).forward({ ids: [1] }))();
    const keep = setInterval(() => {}, 1000);
    const isEnded = await collected(() => ended === 1);
    clearInterval(keep);
    report([started, isEnded, ended, (await run.getWeights(0, 0)).rows]);`);
  assert.deepEqual(result, [2, true, 1, 3]);
});
