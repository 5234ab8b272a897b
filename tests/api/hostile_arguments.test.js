/** Arguments that make ordinary code throw: arrays with holes, getters that throw, objects that stand for others. Each is an error
 * of the argument, in this thread and in a worker, and of that call alone: runs and models go on. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { qkvError } from './golden.js';
import { decoderFiles, letterTokenizer } from './tiny_decoder.js';

/** @typedef {import('qkv').Model} Model */

/** @type {import('node:worker_threads').Worker[]} */
const started = [];
process.on('worker', (worker) => started.push(worker));

/** @type {Model[]} */
const models = [];
/** @param {boolean} worker */
async function load(worker) {
  const files = { ...decoderFiles('llama'), 'tokenizer.json': letterTokenizer() };
  const model = await loadModel(files, { worker });
  models.push(model);
  return model;
}
afterEach(() => {
  for (const model of models.splice(0)) model.dispose();
});

/** @returns {any} */
function revoked(target = {}) {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** @param {string} key @returns {any} */
const throwing = (key) =>
  Object.defineProperty({}, key, {
    enumerable: true,
    get() {
      throw new RangeError('a getter');
    },
  });

/** @returns {any} an object without a prototype that refers to itself */
function bare() {
  const value = Object.create(null);
  value.self = value;
  return value;
}

/** A Float32Array that is none. */
const pretended = Object.create(Float32Array.prototype);
const sparse = (/** @type {number} */ length) => new Array(length);
const big = [1n, Symbol('s')];

/** Values where something else is due. @type {[string, () => any][]} */
const STRANGE = [
  ['a hole', () => sparse(2)],
  ['a revoked object', () => revoked()],
  ['a revoked array', () => revoked([])],
  ['a bare object', bare],
  ['a symbol', () => Symbol('s')],
  ['a BigInt', () => 5n],
  ['an array of a BigInt and a symbol', () => big],
  ['a function', () => () => {}],
  ['a proxy that throws', () => new Proxy({}, { has: fail, get: fail, ownKeys: fail, getPrototypeOf: fail })],
];
/** @returns {never} */
function fail() {
  throw new TypeError('a trap');
}

/** @typedef {(model: Model, run: import('qkv').Run, value: any) => Promise<unknown>} Use */
/** Every place where a caller's value goes. @type {[string, Use][]} */
const USES = [
  ['forward: input', (model, _, value) => model.forward(value)],
  ['forward: options', (model, _, value) => model.forward('abc', value)],
  ['forward: ids', (model, _, value) => model.forward({ ids: value })],
  ['forward: typeIds', (model, _, value) => model.forward({ ids: [1, 2], typeIds: value })],
  ['forward: batch', (model, _, value) => model.forward({ batch: value })],
  ['forward: in a batch', (model, _, value) => model.forward({ batch: ['a', value] })],
  ['forward: mask', (model, _, value) => model.forward('abc', { mask: value })],
  ['forward: mask.add', (model, _, value) => model.forward('abc', { mask: { add: value } })],
  ['forward: shape', (model, _, shape) => model.forward('a', { mask: { add: { data: new Float32Array(1), shape } } })],
  ['forward: data', (model, _, data) => model.forward('abc', { mask: { add: { data, shape: [3] } } })],
  ['forward: layers', (model, _, layers) => model.forward('abc', { mask: { ...openMask(), layers } })],
  ['forward: ablate', (model, _, value) => model.forward('abc', { ablate: value })],
  ['forward: in ablate', (model, _, value) => model.forward('abc', { ablate: [value] })],
  ['forward: scale', (model, _, value) => model.forward('abc', { scale: value })],
  ['forward: temperature', (model, _, value) => model.forward('abc', { temperature: value })],
  ['forward: signal', (model, _, value) => model.forward('abc', { signal: value })],
  ['generate: input', (model, _, value) => model.generate(value)],
  ['generate: a pair', (model, _, value) => model.generate(['a', value])],
  ['generate: options', (model, _, value) => model.generate('a', value)],
  ['generate: maxNewTokens', (model, _, value) => model.generate('a', { maxNewTokens: value })],
  ['generate: temperature', (model, _, value) => model.generate('a', { temperature: value })],
  ['generate: seed', (model, _, value) => model.generate('a', { temperature: 1, seed: value })],
  ['generate: signal', (model, _, value) => model.generate('a', { signal: value })],
  ['embed: texts', (model, _, value) => model.embed(value)],
  ['embed: a text', (model, _, value) => model.embed(['a', value])],
  ['embed: options', (model, _, value) => model.embed(['a'], value)],
  ['embed: pooling', (model, _, value) => model.embed(['a'], { pooling: value })],
  ['embed: normalize', (model, _, value) => model.embed(['a'], { normalize: value })],
  ['tokenize: text', (model, _, value) => model.tokenize(value)],
  ['tokenize: pair', (model, _, value) => model.tokenize('a', value)],
  ['getWeights: layer', (_, run, value) => run.getWeights(value, 0)],
  ['getWeights: options', (_, run, value) => run.getWeights(0, 0, value)],
  ['getWeights: rows', (_, run, value) => run.getWeights(0, 0, { rows: value })],
  ['getWeights: stage', (_, run, value) => run.getWeights(0, 0, { stage: value })],
  ['overview: options', (_, run, value) => run.overview(value)],
  ['overview: kind', (_, run, value) => run.overview({ kind: value })],
  ['getStage: name', (_, run, value) => run.getStage(value)],
  ['getStage: options', (_, run, value) => run.getStage('x', value)],
  ['hidden: index', (_, run, value) => run.hidden(value)],
  ['embedding: options', (_, run, value) => run.embedding(value)],
  ['embedding: pooling', (_, run, value) => run.embedding({ pooling: value })],
  ['logits: position', (_, run, value) => run.logits({ position: value })],
  ['nextTokens: k', (_, run, value) => run.nextTokens(value)],
  ['nextTokens: options', (_, run, value) => run.nextTokens(1, value)],
];
const openMask = () => ({ add: { data: new Float32Array(3), shape: [3] } });

/** Where a value has keys, the getter of one may throw. @type {[string, Use][]} */
const GETTERS = [
  ['forward: input', (model) => model.forward(throwing('ids'))],
  ['forward: a batch', (model) => model.forward(throwing('batch'))],
  ['forward: options', (model) => model.forward('abc', throwing('temperature'))],
  ['forward: mask', (model) => model.forward('abc', { mask: throwing('add') })],
  ['forward: tensor', (model) => model.forward('abc', { mask: { add: throwing('data') } })],
  ['forward: ablate', (model) => model.forward('abc', { ablate: [throwing('layer')] })],
  ['generate: options', (model) => model.generate('a', throwing('seed'))],
  ['embed: options', (model) => model.embed(['a'], throwing('pooling'))],
  ['getWeights: options', (_, run) => run.getWeights(0, 0, throwing('rows'))],
  ['getStage: options', (_, run) => run.getStage('x', throwing('layer'))],
  ['a data that is none', (model) => model.forward('abc', { mask: { add: { data: pretended, shape: [3] } } })],
];

for (const worker of [false, true]) {
  const where = worker ? 'in a worker' : 'in this thread';

  test(`values of a strange kind are errors of the argument, ${where}`, { timeout: 120_000 }, async () => {
    const model = await load(worker);
    const run = await model.forward('abc');
    const before = started.length;
    let checks = 0;
    const expected = (await run.hidden(2)).data;
    /** @param {string} what @param {Promise<unknown>} call */
    async function refused(what, call) {
      const error = await call.then(
        () => assert.fail(`${what}: taken`),
        (error) => error,
      );
      {
        const { code, message } = /** @type {import('qkv').QkvError} */ (error);
        assert.ok(['argument', 'unsupported'].includes(code), `${what}: ${code}: ${message}`);
      }
      checks++;
    }
    for (const [place, use] of USES) {
      for (const [kind, make] of STRANGE) {
        // Options are any object; this one has no key that is known.
        await refused(`${place} is ${kind}`, use(model, run, make()));
      }
    }
    for (const [place, use] of GETTERS) await refused(`${place} has a getter that throws`, use(model, run, undefined));
    assert.equal(checks, USES.length * STRANGE.length + GETTERS.length);
    assert.deepEqual((await run.hidden(2)).data, expected, 'the run is still there');
    assert.equal(started.length, before, 'no worker was replaced');
  });
}

test('loadModel and init refuse them too', async () => {
  for (const [kind, make] of STRANGE) {
    /** @type {[string, () => Promise<unknown>][]} */
    const uses = [
      ['loadModel: source', () => loadModel(make())],
      ['loadModel: source, in a worker', () => loadModel(make(), { worker: true })],
      ['loadModel: options', () => loadModel({}, make())],
      ['loadModel: engine', () => loadModel({}, { engine: make() })],
      ['loadModel: precision', () => loadModel({}, { precision: make() })],
      ['loadModel: maxTokens', () => loadModel({}, { maxTokens: make() })],
      ['loadModel: signal', () => loadModel({}, { signal: make() })],
      ['loadModel: worker', () => loadModel({}, { worker: make() })],
      ['init: options', () => init(make())],
      ['init: threads', () => init({ threads: make() })],
      ['init: memoryLimit', () => init({ memoryLimit: make() })],
      ['init: wasm', () => init({ wasm: make() })],
    ];
    for (const [place, use] of uses) {
      await assert.rejects(use(), (error) => {
        const { code, message } = /** @type {import('qkv').QkvError} */ (error);
        assert.ok(['argument', 'source', 'missing'].includes(code), `${place} is ${kind}: ${code} ${message}`);
        return true;
      });
    }
  }
});

test('an array with holes for a batch is an error of the argument, as the fault was found', async () => {
  for (const worker of [false, true]) {
    const model = await load(worker);
    const run = await model.forward('a');
    for (let i = 0; i < 3; i++) {
      await assert.rejects(model.forward({ batch: sparse(2) }), qkvError('argument', 'forward: batch[0]'));
    }
    assert.equal((await run.getWeights(0, 0)).rows, 1);
  }
});

test('a shape with holes does not open a mask that is too short', async () => {
  const model = await load(false);
  const mask = { add: { data: new Float32Array(1), shape: sparse(1) } };
  await assert.rejects(model.forward({ ids: [1, 2, 3] }, { mask }), qkvError('argument', 'shape'));
});
