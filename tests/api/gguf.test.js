/** Models as GGUF files: the same model as one file computes the same bits as its folder, and blocks compute what the floats do
 * that they stand for. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspectModel, loadModel } from 'qkv';
import { CASES, toGguf } from '../lib/formats/gguf_convert.js';
import { LLAMA_TENSORS, llamaFile, TYPE } from '../lib/formats/gguf_file.js';
import { assertClose, assertSameBits, inTree, qkvError, randomIds, readSafetensors, seeded } from './golden.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('../lib/formats/gguf_convert.js').Case} Case */
/** @typedef {import('../lib/formats/gguf_file.js').Tensor} Tensor */

const LENGTH = 21;
/** GGUF has the root of Gemma's scale in float32, and says nothing of an activation: ReLU comes back as GELU. */
const ROUNDED = ['gemma2', 'gemma3'];
const NAMES = Object.keys(CASES).filter((name) => !['gpt2_untied', 'qwen2'].includes(name));

/** @param {string} name of a file without its number of a layer */
const pattern = (name) => name.replace(/\.\d+\./, '.{i}.');

/** The case with the config and the tensors of the folder. @param {string} name @param {Map<string, unknown>} tensors @returns {Case} */
function caseOf(name, tensors) {
  const { architecture, tensors: known } = CASES[name];
  const config = JSON.parse(readFileSync(inTree(`tests/golden/tiny/${name}/config.v4.json`), 'utf8'));
  const names = new Map(known.map(([original, ggufName]) => [pattern(original), pattern(ggufName)]));
  const named = [...tensors.keys()].flatMap((original) => {
    const ggufName = names.get(pattern(original));
    const layer = /\.(\d+)\./.exec(original)?.[1] ?? '';
    return ggufName === undefined ? [] : [[original, ggufName.replace('{i}', layer), []]];
  });
  return { architecture, config, tensors: /** @type {import('../lib/formats/gguf_convert.js').Named[]} */ (named) };
}

/**
 * Everything of a run: attentions of all heads, hidden states, the last logits.
 * @param {Model} model
 * @param {number[]} ids
 */
async function resultsOf(model, ids) {
  const run = await model.forward({ ids });
  const { layers, heads } = model.info;
  /** @type {Map<string, Float32Array>} */
  const results = new Map();
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      results.set(`attention ${layer} ${head}`, (await run.getWeights(layer, head)).data);
    }
    results.set(`hidden ${layer + 1}`, (await run.hidden(layer + 1)).data);
  }
  if (model.info.kinds.includes('decoder')) results.set('logits', await run.logits({}));
  run.dispose();
  return results;
}

/** @param {Model} one @param {Model} other @param {(actual: Float32Array, expected: Float32Array, what: string) => void} compare */
async function compareModels(one, other, compare) {
  const ids = Array.from(randomIds(seeded(11), LENGTH, one.info.vocab));
  const [actual, expected] = [await resultsOf(one, ids), await resultsOf(other, ids)];
  assert.ok(actual.size > 4);
  for (const [what, values] of expected) compare(actual.get(what) ?? new Float32Array(0), values, what);
}

for (const name of NAMES) {
  test(`${name}: the model as one GGUF file computes what its folder does`, async () => {
    const folder = inTree(`tests/golden/tiny/${name}`);
    const tensors = readSafetensors(`${folder}/model.safetensors`);
    const about = caseOf(name, tensors);
    const bytes = toGguf(about, (original) => {
      const { shape, data } = /** @type {import('./golden.js').Tensor} */ (tensors.get(original));
      return { shape, data: Float32Array.from(data) };
    });
    const whole = await loadModel({ 'model.gguf': bytes });
    const inFolder = await loadModel(folder);
    await compareModels(whole, inFolder, ROUNDED.includes(name) ? assertClose : assertSameBits);
    whole.dispose();
    inFolder.dispose();
  });
}

/** Halves that scales may be. */
const HALVES = { 0.0625: 0x2c00, '-0.03125': 0xa800, 0.015625: 0x2400, 0: 0 };

/** @param {() => number} random */
function pick(random) {
  const entries = Object.entries(HALVES);
  const [value, bits] = entries[Math.floor(random() * entries.length)];
  return { value: Number(value), bits };
}

/**
 * Random blocks and the floats that they stand for, by the formulas of the formats.
 * @param {number} type
 * @param {number} count of values
 * @param {() => number} random from 0 to 1
 * @returns {{ data: Uint8Array, floats: Float32Array }}
 */
function blocks(type, count, random) {
  const floats = new Float32Array(count);
  if (type === TYPE.F32 || type === TYPE.F16) {
    const halves = Uint16Array.from(floats, (_, i) => {
      const { value, bits } = pick(random);
      floats[i] = value;
      return bits;
    });
    return { data: new Uint8Array(type === TYPE.F16 ? halves.buffer : floats.slice().buffer), floats };
  }
  const hasMinimum = type === TYPE.Q4_1;
  const bytes = type === TYPE.Q8_0 ? 32 : 16;
  const head = 2 + (hasMinimum ? 2 : 0) + (type === TYPE.Q5_0 ? 4 : 0);
  const data = new Uint8Array((count / 32) * (head + bytes));
  for (let block = 0; block < count / 32; block++) {
    const own = data.subarray(block * (head + bytes), (block + 1) * (head + bytes));
    for (let i = 0; i < own.length; i++) own[i] = random() * 256;
    const view = new DataView(own.buffer, own.byteOffset, own.length);
    const [d, m] = [pick(random), pick(random)];
    view.setUint16(0, d.bits, true);
    if (hasMinimum) view.setUint16(2, m.bits, true);
    for (let i = 0; i < 32; i++) {
      const byte = own[head + (i % bytes)];
      const nibble = i < 16 ? byte & 15 : byte >> 4;
      const fifth = (own[2 + (i >> 3)] >> (i & 7)) & 1;
      const q = /** @type {Record<number, number>} */ ({
        [TYPE.Q4_0]: nibble - 8,
        [TYPE.Q4_1]: nibble,
        [TYPE.Q5_0]: (nibble | (fifth << 4)) - 16,
        [TYPE.Q8_0]: view.getInt8(Math.min(head + i, own.length - 1)),
      })[type];
      floats[block * 32 + i] = d.value * q + (hasMinimum ? m.value : 0);
    }
  }
  return { data, floats };
}

test('weights in blocks compute the bits of the floats that they stand for', async () => {
  const random = seeded(5);
  /** @type {Tensor[]} */
  const blocked = [];
  /** @type {Tensor[]} */
  const plain = [];
  for (const { name, shape, type } of LLAMA_TENSORS) {
    const count = shape.reduce((/** @type {number} */ product, size) => product * Number(size), 1);
    const { data, floats } = blocks(type, count, random);
    blocked.push({ name, shape, type, data });
    plain.push({ name, shape, type: TYPE.F32, data: new Uint8Array(floats.buffer) });
  }
  const models = await Promise.all(
    [blocked, plain].map((tensors) => loadModel({ 'model.gguf': llamaFile([], { tensors }) }, { precision: 'f32' })),
  );
  await compareModels(models[0], models[1], assertSameBits);
  for (const model of models) model.dispose();
});

test('a folder whose only weights are a GGUF file is that model, in a worker too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'qkv-gguf-'));
  writeFileSync(join(folder, 'tiny.gguf'), llamaFile());
  writeFileSync(join(folder, 'config.json'), '{ "model_type": "bert" }');
  try {
    for (const worker of [false, true]) {
      const model = await loadModel(folder, { worker });
      assert.deepEqual([model.info.name, model.info.family], ['tiny.gguf', 'llama']);
      model.dispose();
    }
    assert.equal((await inspectModel(folder)).family, 'llama');
    writeFileSync(join(folder, 'other.gguf'), llamaFile());
    await assert.rejects(loadModel(folder), qkvError('source', 'Choose one of them: other.gguf, tiny.gguf.'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a file tells its name, its licence and its tokens', async () => {
  const model = await loadModel({ 'tiny.gguf': llamaFile() });
  assert.equal(model.info.name, 'tiny.gguf');
  assert.equal(model.info.licence, 'mit');
  assert.equal(model.info.family, 'llama');
  const tokens = await model.tokenize('ab a');
  assert.deepEqual(
    tokens.map(({ id }) => id),
    [4, 6],
  );
  model.dispose();
});

test('a tensor that is missing or has another shape is named, and no config.json is spoken of', async () => {
  const load = (/** @type {Tensor[]} */ tensors) => loadModel({ 'tiny.gguf': llamaFile([], { tensors }) });
  const missing = LLAMA_TENSORS.filter(({ name }) => name !== 'blk.0.ffn_norm.weight');
  const narrow = LLAMA_TENSORS.map((one) => (one.name === 'output_norm.weight' ? { ...one, shape: [1] } : one));
  await assert.rejects(load(missing), (/** @type {Error} */ error) => {
    assert.ok(!error.message.includes('config.json'), error.message);
    return qkvError('weight', 'tiny.gguf: no tensor holds ffn_norm.weight of layer 0', 'the metadata describes')(error);
  });
  await assert.rejects(load(narrow), qkvError('weight', 'shape of', 'The weights and the metadata do not belong'));
});
