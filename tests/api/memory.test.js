/** Memory: linear in the tokens, flat over many runs, refused in numbers when there is too little. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { init, loadModel } from 'qkv';
import { createCore } from '../../web/lib/engine/core.js';
import { assertSameBits, inTree, qkvError, randomIds, seeded } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';
import { TINY, TINY_FOLDER, tinyConfig, tinyFiles } from './tiny_model.js';

test('1,000 forwards of random length with dispose take no more than the largest', async () => {
  const engine = await init();
  const model = await loadModel(tinyFiles(), { engine });
  const idle = engine.memory().used;
  const largest = await model.forward({ ids: new Int32Array(TINY.positions) });
  largest.dispose();
  const { reserved } = engine.memory();
  const random = seeded(5);
  for (let i = 0; i < 1000; i++) {
    const ids = randomIds(random, 1 + Math.floor(random() * TINY.positions), TINY.vocab);
    const run = await model.forward({ ids });
    if (i % 50 === 0) await run.getWeights(1, 3);
    run.dispose();
  }
  assert.deepEqual(engine.memory(), { reserved, used: idle });
  model.dispose();
  assert.equal(engine.memory().used, 0);
});

test('1,000 models made and disposed leave nothing behind', async () => {
  const engine = await init();
  const files = tinyFiles();
  (await loadModel(files, { engine })).dispose();
  const { reserved } = engine.memory();
  for (let i = 0; i < 1000; i++) (await loadModel(files, { engine })).dispose();
  assert.deepEqual(engine.memory(), { reserved, used: 0 });
});

test('disposing a model gives back the memory of its runs', async () => {
  const engine = await init();
  const model = await loadModel(tinyFiles(), { engine });
  for (let i = 0; i < 3; i++) await model.forward({ ids: [1, 2, 3] });
  model.dispose();
  assert.equal(engine.memory().used, 0);
});

test('bytes of a run grow linearly with the tokens', async (t) => {
  const model = await loadModel(withPositions(512));
  const bytes = [];
  for (const n of [64, 128, 256, 512]) {
    const run = await model.forward({ ids: new Int32Array(n) });
    bytes.push(run.bytes);
    t.diagnostic(`n = ${n}: ${run.bytes} bytes`);
    run.dispose();
  }
  const steps = [(bytes[1] - bytes[0]) / 64, (bytes[2] - bytes[1]) / 128, (bytes[3] - bytes[2]) / 256];
  for (const step of steps) assert.ok(Math.abs(step - steps[0]) <= 0.01 * steps[0], `bytes a token: ${steps}`);
  model.dispose();
});

test('a model that does not fit is refused before its weights are read, with both numbers', async () => {
  const engine = await init({ memoryLimit: 100_000 });
  const files = {
    ...tinyFiles(),
    'config.json': tinyConfig({ vocab_size: 10_000_000 }),
    'model.safetensors': new Uint8Array(),
  };
  await assert.rejects(loadModel(files, { engine }), (error) => {
    qkvError('memory', 'MB are available')(/** @type {Error} */ (error));
    const { got, want } = /** @type {import('qkv').QkvError} */ (error);
    return Number(got) <= 100_000 && Number(want) > 10_000_000 * TINY.width;
  });
});

test('an impossible size is refused, whatever the limit', async () => {
  const config = tinyConfig({ vocab_size: 16_777_216, hidden_size: 20_480, intermediate_size: 1_048_576 });
  await assert.rejects(loadModel({ ...tinyFiles(), 'config.json': config }), qkvError('memory', 'bytes of memory'));
});

test('what no 4 GiB memory can hold is said in these words, and the model goes on working', async () => {
  const engine = await init();
  const model = await loadModel(withPositions(512), { engine });
  const batch = new Array(40_000).fill({ ids: new Int32Array(512) });
  await assert.rejects(model.forward({ batch }), (error) => {
    const words = ['want more than 4294967295', 'It needs more than 4 GiB and', 'MB are available.'];
    qkvError('memory', 'forward', ...words)(/** @type {Error} */ (error));
    return Number(/** @type {import('qkv').QkvError} */ (error).got) > 4e9;
  });
  (await model.forward({ ids: [1, 2, 3] })).dispose();
  model.dispose();
});

test('what is available is the ceiling less what is used, wherever it lies', async () => {
  const roomy = await init();
  const model = await loadModel(tinyFiles(), { engine: roomy });
  const idle = roomy.memory().used;
  const run = await model.forward({ ids: new Int32Array(TINY.positions) });
  const held = roomy.memory().used - idle;
  run.dispose();
  model.dispose();
  for (const part of [0.3, 0.6, 0.9]) {
    const engine = await init({ memoryLimit: Math.floor(idle + part * held) });
    const tight = await loadModel(tinyFiles(), { engine });
    await assert.rejects(tight.forward({ ids: new Int32Array(TINY.positions) }), (error) => {
      const { got, want } = /** @type {import('qkv').QkvError} */ (error);
      qkvError('memory', 'MB are available')(/** @type {Error} */ (error));
      assert.ok(Math.abs(Number(got) - part * held) < 8_000, `${got} of ${part * held}`);
      assert.ok(Math.abs(Number(want) - held) < 100, `${want}, ${held}`);
      return true;
    });
  }
});

test('when the count would allow it, it says that the memory is scattered', async () => {
  const limit = 10_000_000;
  const core = await createCore(new WebAssembly.Module(readFileSync(inTree('web/lib/qkv.wasm'))), { limit });
  const blocks = Array.from({ length: 9 }, () => core.call('qkv_alloc', 1_000_000));
  for (let i = 0; i < 9; i += 2) core.free(blocks[i]);
  assert.throws(
    () => core.withMemory('it', 3_000_000, () => 0),
    qkvError('memory', 'It needs 3.0 MB', 'MB are available, though in pieces that are too small.'),
  );
});

test('sizes beyond 32 bits never reach the engine cut down', async () => {
  const core = await createCore(new WebAssembly.Module(readFileSync(inTree('web/lib/qkv.wasm'))));
  assert.throws(
    () => core.withMemory('it', 2 ** 32 + 64, () => 0),
    qkvError('memory', 'it: bytes of memory', '4294967360', 'It needs 4295.0 MB and'),
  );
});

test('at the ceiling forward fails with both numbers, and the model goes on working', async () => {
  const model = await loadModel(tinyFiles(), { engine: await init({ memoryLimit: 900_000 }) });
  const expected = await model.forward({ ids: [1, 2, 3] });
  const hidden = (await expected.hidden(2)).data;
  /** @type {import('qkv').Run[]} */
  const runs = [];
  await assert.rejects(
    async () => {
      for (let i = 0; i < 100; i++) runs.push(await model.forward({ ids: new Int32Array(TINY.positions) }));
    },
    qkvError('memory', 'forward', 'MB are available'),
  );
  assert.ok(runs.length > 0);
  for (const run of runs) run.dispose();
  const again = await model.forward({ ids: [1, 2, 3] });
  assertSameBits((await again.hidden(2)).data, hidden, 'after the failure');
  model.dispose();
});

test('under any ceiling a load and a forward either work or say what they lack', async () => {
  let [refused, worked] = [0, 0];
  for (let memoryLimit = 1_000; memoryLimit < 420_000; memoryLimit += 3_000) {
    const engine = await init({ memoryLimit });
    try {
      const model = await loadModel(tinyFiles(), { engine });
      const run = await model.forward({ ids: new Int32Array(TINY.positions) });
      await run.overview();
      model.dispose();
      worked++;
    } catch (error) {
      qkvError('memory', 'MB are available')(/** @type {Error} */ (error));
      refused++;
    }
  }
  assert.ok(refused > 20 && worked > 5, `${refused} refused, ${worked} worked`);
});

test('a run that nobody disposed is freed when it is collected', () => {
  const script = `
    const { init, loadModel } = await import('qkv');
    const engine = await init();
    const model = await loadModel(${JSON.stringify(TINY_FOLDER)}, { engine });
    const idle = engine.memory().used;
    await (async () => void (await model.forward({ ids: [1, 2, 3] })))();
    const held = engine.memory().used;
    for (let i = 0; i < 10_000 && engine.memory().used !== idle; i++) {
      await new Promise((go) => setTimeout(go, 10));
      gc();
    }
    console.log(held > idle, engine.memory().used === idle);`;
  const args = ['--expose-gc', '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 300_000,
    cwd: inTree('.'),
  });
  assert.deepEqual([stdout, stderr], ['true true\n', '']);
});

test('a load that fails half way gives everything back', async () => {
  const engine = await init();
  const files = tinyFiles();
  files['model.safetensors'] = files['model.safetensors'].subarray(0, files['model.safetensors'].length - 9);
  await assert.rejects(loadModel(files, { engine }), qkvError('format', 'model.safetensors'));
  assert.equal(engine.memory().used, 0);
  await (await loadModel(tinyFiles(), { engine })).forward({ ids: [1] });
});

/**
 * The tiny model with a longer position table, filled with what the short one holds.
 * @param {number} positions
 */
function withPositions(positions) {
  const file = Buffer.from(tinyFiles()['model.safetensors']);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start));
  const name = 'embeddings.position_embeddings.weight';
  const parts = [];
  let end = 0;
  for (const [key, info] of Object.entries(header)) {
    if (key === '__metadata__') continue;
    let bytes = file.subarray(start + info.data_offsets[0], start + info.data_offsets[1]);
    if (key === name) {
      bytes = Buffer.alloc(positions * TINY.width * 4, bytes);
      info.shape = [positions, TINY.width];
    }
    info.data_offsets = [end, end + bytes.length];
    end += bytes.length;
    parts.push(bytes);
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const config = tinyConfig({ max_position_embeddings: positions });
  return { 'config.json': config, 'model.safetensors': Buffer.concat([length, text, ...parts]) };
}

test('a matrix of a long text leaves linear memory in parts, with the bits of its rows', async () => {
  const engine = await init();
  const model = await loadModel(decoderFiles('llama', { max_position_embeddings: 2000 }), { engine });
  const n = 1500;
  const run = await model.forward({ ids: randomIds(seeded(4), n, model.info.vocab) });
  const before = engine.memory().reserved;
  const { data } = await run.getWeights(1, 1);
  assert.ok(engine.memory().reserved - before < n * n * 4, 'less than the matrix');
  const stage = await run.getStage('scaled', { layer: 1, head: 1 });
  for (const row of [0, 698, 699, 700, 1398, 1499]) {
    const rows = /** @type {[number, number]} */ ([row, row + 1]);
    const weights = await run.getWeights(1, 1, { rows });
    assertSameBits(weights.data, data.slice(row * n, (row + 1) * n), `row ${row}`);
    const scaled = await run.getWeights(1, 1, { stage: 'scaled', rows });
    assertSameBits(scaled.data, stage.data.slice(row * n, (row + 1) * n), `scaled, row ${row}`);
  }
  model.dispose();
});
