/** Every argument of Model and Run that can be wrong, and what is said about it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { qkvError, seeded, randomIds } from './golden.js';
import { TINY, tinyFiles } from './tiny_model.js';

const ids = randomIds(seeded(4), 7, TINY.vocab);
/** @type {import('qkv').Model} */
let model;
/** @type {import('qkv').Run} */
let run;

before(async () => {
  model = await loadModel(tinyFiles());
  run = await model.forward({ ids });
});
after(() => model.dispose());

/** What is not a whole number, whatever the range. */
const NOT_WHOLE = [Number.NaN, 0.5, '8', null, [1], {}, true, Number.POSITIVE_INFINITY, 1n];
/** Whole numbers out of every range here. */
const OUTSIDE = [-1, 2 ** 31, 2 ** 32, -(2 ** 31)];
const unsafe = (/** @type {unknown} */ value) => /** @type {number} */ (value);

test('layer and head of getWeights must be whole numbers in range', async () => {
  for (const value of NOT_WHOLE) {
    await assert.rejects(run.getWeights(unsafe(value), 0), qkvError('argument', 'getWeights: layer', '0 to 1'));
    await assert.rejects(run.getWeights(0, unsafe(value)), qkvError('argument', 'getWeights: head', '0 to 4'));
  }
  for (const value of [...OUTSIDE, 2]) {
    await assert.rejects(run.getWeights(value, 0), qkvError('range', 'getWeights: layer', String(value), '0 to 1'));
  }
  for (const value of [...OUTSIDE, 5]) {
    await assert.rejects(run.getWeights(0, value), qkvError('range', 'getWeights: head', String(value), '0 to 4'));
  }
  await assert.rejects(run.getWeights(unsafe(undefined), 0), qkvError('argument', 'layer'));
});

test('rows of getWeights must be a window of the matrix', async () => {
  const ask = (/** @type {unknown} */ rows) => run.getWeights(0, 0, { rows: /** @type {[number, number]} */ (rows) });
  for (const rows of [[], [0], [0, 1, 2], 3, '0,1', { from: 0 }])
    await assert.rejects(ask(rows), qkvError('argument', 'rows'));
  for (const value of NOT_WHOLE) await assert.rejects(ask([0, value]), qkvError('argument', 'rows[1]'));
  for (const rows of [
    [-1, 2],
    [7, 8],
    [2 ** 31, 2 ** 31 + 1],
  ])
    await assert.rejects(ask(rows), qkvError('range', 'rows[0]', '0 to 6'));
  for (const rows of [
    [0, 8],
    [3, 3],
    [3, 2],
    [0, -1],
  ])
    await assert.rejects(ask(rows), qkvError('range', 'rows[1]'));
});

test('stage, kind and sequence must exist', async () => {
  const stage = /** @type {'weights'} */ (/** @type {unknown} */ ('q'));
  await assert.rejects(run.getWeights(0, 0, { stage }), qkvError('argument', 'stage', '"q"', 'weights'));
  await assert.rejects(run.getWeights(0, 0, { kind: 'decoder' }), qkvError('argument', 'kind', 'encoder'));
  for (const sequence of OUTSIDE)
    await assert.rejects(run.getWeights(0, 0, { sequence }), qkvError('range', 'sequence', '0 to 0'));
  await assert.rejects(
    run.getWeights(0, 0, /** @type {object} */ (/** @type {unknown} */ ('weights'))),
    qkvError('argument', 'options'),
  );
});

test('getStage names the stages there are, and needs a head where there is one', async () => {
  const wrong = (/** @type {string} */ name) => /** @type {'x'} */ (name);
  await assert.rejects(run.getStage(wrong('queries'), { layer: 0, head: 0 }), qkvError('argument', 'name', 'qLinear'));
  await assert.rejects(run.getStage(wrong('__proto__'), { layer: 0, head: 0 }), qkvError('argument', 'name'));
  await assert.rejects(run.getStage('q', { layer: 0 }), qkvError('argument', 'head'));
  await assert.rejects(run.getStage('q'), qkvError('argument', 'layer'));
  await assert.rejects(run.getStage('x', { layer: 2 }), qkvError('range', 'layer', '0 to 1'));
  const { shape } = await run.getStage('concat', { layer: 0 });
  assert.deepEqual(shape, [7, 25]);
});

test('hidden, overview and embedding check what they are given', async () => {
  for (const value of NOT_WHOLE) await assert.rejects(run.hidden(unsafe(value)), qkvError('argument', 'hidden: index'));
  for (const value of [...OUTSIDE, 3])
    await assert.rejects(run.hidden(value), qkvError('range', 'hidden: index', '0 to 2'));
  for (const size of [0, 33, -1, 2 ** 31])
    await assert.rejects(run.overview({ size }), qkvError('range', 'size', '1 to 32'));
  await assert.rejects(run.overview({ size: unsafe('8') }), qkvError('argument', 'size'));
  const pooling = /** @type {'mean'} */ (/** @type {unknown} */ ('median'));
  await assert.rejects(run.embedding({ pooling }), qkvError('argument', 'pooling', 'mean, cls, last, max'));
  await assert.rejects(
    run.embedding({ normalize: /** @type {boolean} */ (/** @type {unknown} */ (1)) }),
    qkvError('argument', 'normalize'),
  );
});

test('forward takes the inputs it documents and refuses all others', async () => {
  const refuse = (/** @type {unknown} */ input, /** @type {string} */ code, /** @type {string[]} */ ...words) =>
    assert.rejects(model.forward(/** @type {string} */ (input)), qkvError(code, ...words));
  await refuse('text', 'tokenizer', 'tokenizer.json', '{ids}');
  await refuse(['a', 'b'], 'tokenizer', 'tokenizer.json');
  for (const input of [undefined, null, 3, true, [], ['a'], ['a', 'b', 'c'], [1, 2], new Float32Array(2)]) {
    await refuse(input, 'argument', 'forward: input', '{ids, typeIds}');
  }
  await refuse({}, 'argument', 'keys');
  await refuse(Promise.resolve('text'), 'argument', 'forward: input: got a Promise');
  await refuse(() => 'text', 'argument', 'got a function');
  await refuse(undefined, 'argument', 'got "nothing"');
  await refuse({ ids: [101n] }, 'argument', 'ids[0]: got 101n, want a whole number');
  await refuse({ ids: new BigInt64Array(1) }, 'argument', 'got 0n');
  await refuse({ ids: [1], typeids: [0] }, 'argument', '"typeids"', 'want ids, typeIds');
  await refuse({ batch: [{ ids: [1] }], attentionMask: [] }, 'argument', '"attentionMask"');
  await refuse({ ids: [] }, 'range', 'number of ids', '1 to 83');
  await refuse({ ids: new Int32Array(84) }, 'range', 'number of ids', '84', '1 to 83');
  await refuse({ ids: '12' }, 'argument', 'ids');
  await refuse({ ids: new DataView(new ArrayBuffer(4)) }, 'argument', 'ids');
  for (const value of NOT_WHOLE) await refuse({ ids: [1, value] }, 'argument', 'ids[1]', '0 to 72');
  for (const value of [...OUTSIDE, 73]) await refuse({ ids: [1, value] }, 'range', 'ids[1]', '0 to 72');
  await refuse({ ids: [1, 2], typeIds: [0] }, 'argument', 'number of typeIds');
  await refuse({ ids: [1, 2], typeIds: [0, 2] }, 'range', 'typeIds[1]');
  for (const batch of [[], 'x', null, {}]) await refuse({ batch }, 'argument', 'batch');
  await refuse({ batch: [{ ids: [1] }, { batch: [{ ids: [1] }] }] }, 'argument', 'batch[1]: keys of the input');
  await refuse({ batch: [{ ids: [1] }, 5] }, 'argument', 'forward: batch[1]: input: got 5, want a string');
  await refuse({ batch: [{ ids: [1] }, { ids: [1, 73] }] }, 'range', 'forward: batch[1]: ids[1]: got 73, want 0 to 72');
  await refuse({ batch: [{ ids: [1], typeIds: [0, 0] }] }, 'argument', 'forward: batch[0]: number of typeIds');
  await refuse({ batch: [{ ids: [1] }, { source: 'x' }] }, 'unsupported', 'forward: batch[1]: input with the key');
  await refuse({ source: 'text' }, 'unsupported', 'source');
  await refuse({ pixelValues: {} }, 'unsupported', 'pixelValues');
});

test('ids in a detached buffer are refused', async () => {
  const ids = new Int32Array([1, 2, 3]);
  structuredClone(ids, { transfer: [ids.buffer] });
  await assert.rejects(model.forward({ ids }), qkvError('range', 'number of ids'));
});

test('ids at an odd place of a buffer, in shared memory and of any integer type give the same run', async () => {
  const shared = new Int32Array(new SharedArrayBuffer(28));
  shared.set(ids);
  const large = new Int32Array(9);
  large.set(ids, 2);
  const expected = (await run.hidden(2)).data;
  for (const same of [shared, large.subarray(2), Uint8Array.from(ids), Array.from(ids), Float64Array.from(ids)]) {
    const other = await model.forward({ ids: same });
    assert.deepEqual((await other.hidden(2)).data, expected);
    other.dispose();
  }
});

test('options of forward are checked', async () => {
  const refuse = (/** @type {unknown} */ options, /** @type {string} */ code, /** @type {string[]} */ ...words) =>
    assert.rejects(model.forward({ ids }, /** @type {object} */ (options)), qkvError(code, ...words));
  for (const options of [null, 3, 'x', []]) await refuse(options, 'argument', 'forward: options');
  for (const scale of [Number.NaN, Number.POSITIVE_INFINITY, 'on', null, '1'])
    await refuse({ scale }, 'argument', 'scale', "'off'");
  for (const temperature of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1', null])
    await refuse({ temperature }, 'argument', 'temperature');
  await refuse({ ablate: { layer: 0, head: 0 } }, 'argument', 'ablate');
  await refuse({ ablate: [{ layer: 0 }] }, 'argument', 'ablate.head');
  await refuse({ ablate: [null] }, 'argument', 'ablate.layer');
  await refuse({ ablate: [{ layer: 2, head: 0 }] }, 'range', 'ablate.layer', '0 to 1');
  await refuse({ ablate: [{ layer: 0, head: 5 }] }, 'range', 'ablate.head', '0 to 4');
  await refuse({ ablate: [{ layer: 0, head: 0, kind: 'cross' }] }, 'argument', 'ablate.kind');
  await refuse({ signal: 'stop' }, 'argument', 'signal');
});

test('a misspelt option is refused by its name, with the names there are', async () => {
  const refuse = (/** @type {Promise<unknown>} */ call, /** @type {string[]} */ ...words) =>
    assert.rejects(call, qkvError('argument', ...words));
  const wrong = /** @type {object} */ ({ bogus: undefined });
  const known = 'want mask, ablate, scale, temperature, signal';
  await refuse(
    model.forward({ ids }, /** @type {object} */ ({ temprature: 2 })),
    `forward: name of an option: got "temprature", ${known}`,
  );
  await refuse(run.getWeights(0, 0, wrong), 'getWeights', '"bogus"', 'want kind, sequence, stage, rows');
  await refuse(run.overview(wrong), 'overview', '"bogus"', 'want kind, sequence, size');
  await refuse(run.getStage('q', { layer: 0, head: 0, ...wrong }), 'getStage', 'want layer, head, kind, sequence');
  await refuse(run.hidden(0, wrong), 'hidden', '"bogus"', 'want kind, sequence');
  await refuse(run.embedding(wrong), 'embedding', '"bogus"', 'want pooling, normalize');
  await refuse(model.embed([], wrong), 'embed', '"bogus"', 'want prompt, pooling, normalize, signal, onProgress');
  await refuse(init(wrong), 'init', '"bogus"', 'want variant, threads, wasm, memoryLimit');
  await refuse(init(/** @type {object} */ ({ memory: 5 })), '"memory"', 'memoryLimit');
  await refuse(loadModel(tinyFiles(), /** @type {object} */ ({ workr: true })), '"workr"', 'engine, worker, precision');
  const mask = { allow: { data: new Uint8Array(7), shape: [7] } };
  await refuse(model.forward({ ids }, { mask: { ...mask, ...wrong } }), 'key of mask', '"bogus"', 'layers');
  await refuse(model.forward({ ids }, { ablate: [{ layer: 0, head: 0, ...wrong }] }), 'key in ablate', '"bogus"');
  await refuse(model.forward({ ids }, { mask: /** @type {object} */ (new Uint8Array(7)) }), 'got a Uint8Array');
});

test('cache is known, and only false is taken', async () => {
  const load = (/** @type {unknown} */ cache) => loadModel(tinyFiles(), { cache: /** @type {false} */ (cache) });
  for (const cache of [undefined, false]) (await load(cache)).dispose();
  for (const cache of [true, null, 'folder']) {
    await assert.rejects(load(cache), qkvError('unsupported', 'loadModel: cache', 'keeps no copies'));
  }
});

test('a scale or temperature that float32 cannot hold is named as it was given, with the range', async () => {
  const refuse = (/** @type {object} */ options, /** @type {string[]} */ ...words) =>
    assert.rejects(model.forward({ ids }, options), qkvError('argument', ...words));
  for (const temperature of [1e-300, 5e-324, 1e300, 0, -1]) {
    await refuse({ temperature }, `temperature: got ${temperature}, want 1.4e-45 to 3.4e+38`);
  }
  await refuse({ scale: -1e300 }, 'scale: got -1e+300', '-3.4e+38 to 3.4e+38');
  await refuse({ scale: 1e30, temperature: 1e-30 }, 'temperature 1e-30', '-3.4e+38 to 3.4e+38');
  await refuse({ temperature: 1e-44 }, 'scale / temperature', 'temperature 1e-44');
  for (const temperature of [1e-38, 3.4e38]) (await model.forward({ ids }, { temperature })).dispose();
});

test('logits that overflow float32 give rows of NaN', async () => {
  const other = await model.forward({ ids }, { scale: 3.4e38 });
  const { data } = await other.getWeights(0, 0);
  assert.ok(data.some(Number.isNaN));
});

test('an extreme scale is computed or refused, never garbage', async () => {
  for (const scale of [1e-45, 1e30]) {
    const other = await model.forward({ ids }, { scale });
    const { data } = await other.getWeights(0, 0);
    assert.ok(data.every((weight) => weight >= 0 && weight <= 1));
  }
  await assert.rejects(model.forward({ ids }, { scale: 1e300 }), qkvError('argument', 'scale'));
});

test('what needs a language-model head says that this model has none', async () => {
  for (const call of [run.logits(), run.nextTokens(5), model.generate({ ids })]) {
    await assert.rejects(call, qkvError('unsupported', 'no language-model head'));
  }
});

test('embed takes an array of strings', async () => {
  const embed = (/** @type {unknown} */ texts) => model.embed(/** @type {string[]} */ (texts));
  await assert.rejects(embed('text'), qkvError('argument', 'embed: texts', 'an array'));
  await assert.rejects(embed([1]), qkvError('argument', 'texts[0]', 'a string'));
  await assert.rejects(
    model.embed([], { onProgress: /** @type {() => void} */ (/** @type {unknown} */ (1)) }),
    qkvError('argument', 'embed: onProgress', 'a function'),
  );
  await assert.rejects(embed(['text']), qkvError('tokenizer', 'tokenizer.json'));
  assert.deepEqual(await embed([]), []);
});

test('options of loadModel and init are checked before anything is read', async () => {
  const refuse = (/** @type {unknown} */ options, /** @type {string} */ code, /** @type {string[]} */ ...words) =>
    assert.rejects(loadModel(tinyFiles(), /** @type {object} */ (options)), qkvError(code, ...words));
  await refuse(3, 'argument', 'loadModel: options');
  await refuse({ precision: 'f64' }, 'argument', 'precision', 'q10');
  await refuse({ precision: 8 }, 'argument', 'precision', 'q8');
  await refuse({ worker: 1 }, 'argument', 'worker');
  await refuse({ engine: {} }, 'argument', 'engine', 'init()');
  await refuse({ engine: init() }, 'argument', 'got a Promise', 'init()');
  await refuse({ onProgress: 1 }, 'argument', 'onProgress');
  await refuse({ revision: 1 }, 'argument', 'revision');
  await refuse({ signal: {} }, 'argument', 'signal');
  for (const maxTokens of [0, -1, 84, 2 ** 31]) await refuse({ maxTokens }, 'range', 'maxTokens');
  for (const maxTokens of [Number.NaN, '8', 1.5]) await refuse({ maxTokens }, 'argument', 'maxTokens');
  const start = (/** @type {unknown} */ options) => init(/** @type {object} */ (options));
  await assert.rejects(start({ variant: 'avx' }), qkvError('argument', 'variant'));
  for (const threads of [...OUTSIDE, 0, 17, 64]) {
    await assert.rejects(
      start({ threads }),
      qkvError('range', `threads: got ${threads}, want 'auto' or`, 'from 1 to 16'),
    );
  }
  for (const threads of ['2', 'all', 1.5, Number.NaN, null]) {
    await assert.rejects(start({ threads }), qkvError('argument', 'threads', "'auto' or", 'from 1 to 16'));
  }
  await assert.rejects(start({ memoryLimit: -1 }), qkvError('range', 'memoryLimit'));
});

test('a run and a model can be disposed twice, and are of no use afterwards', async () => {
  const other = await loadModel(tinyFiles());
  const [first, second] = [await other.forward({ ids }), await other.forward({ ids })];
  first.dispose();
  first.dispose();
  first[Symbol.dispose]();
  await assert.rejects(first.getWeights(0, 0), qkvError('disposed', 'run'));
  await assert.rejects(first.overview(), qkvError('disposed', 'run'));
  await second.getWeights(0, 0);
  other.dispose();
  other.dispose();
  other[Symbol.dispose]();
  await assert.rejects(other.forward({ ids }), qkvError('disposed', 'model'));
  await assert.rejects(other.tokenize('x'), qkvError('disposed', 'model'));
  await assert.rejects(other.embed([]), qkvError('disposed', 'model'));
  await assert.rejects(second.getWeights(0, 0), qkvError('disposed', 'This model was disposed'));
});
