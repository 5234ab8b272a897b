/** Files that hold rounded weights, as tools make them: integers with a scale for each row of every matrix, the token
 * table and the head. Such a file loads with the bits of the float file that is rounded while loading. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { resolveModel } from '../../web/lib/families/index.js';
import { casesOf, filesOf } from '../golden_case.js';
import { assertSameBits, inTree, qkvError, readSafetensors } from './golden.js';

/** @typedef {8 | 10} Bits */
/** @typedef {{ dtype: string, shape: number[], bytes: Uint8Array }} Part */

const MOST = { 8: 127, 10: 511 };
const CASES = casesOf(inTree('tests/golden')).map((one) => one.case);
/** Families whose embeddings go through a matrix, whose inputs are rounded. */
const FACTORED = /^(albert|electra)/;
/** Slots that keep floats. */
const FLOATS = /norm|bias|^(positions|segments|relative)$/;

/** Half to even, as the engine rounds. @param {number} x */
function round(x) {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** @param {string} name @param {Float32Array} data @param {number[]} shape @param {Bits} bits @returns {[string, Part][]} */
function rounded(name, data, [rows, cols], bits) {
  const low = new Uint8Array(rows * Math.ceil(cols / 4));
  const high = new Int8Array(rows * cols);
  const scales = new Float32Array(rows);
  for (let r = 0; r < rows; r++) {
    const row = data.subarray(r * cols, (r + 1) * cols);
    const scale = Math.fround(row.reduce((most, w) => Math.max(most, Math.abs(w)), 0) / MOST[bits]);
    scales[r] = scale;
    for (let c = 0; c < cols; c++) {
      const q = Math.max(-MOST[bits], Math.min(MOST[bits], scale === 0 ? 0 : round(Math.fround(row[c] / scale))));
      high[r * cols + c] = bits === 10 ? q >> 2 : q;
      if (bits === 10) low[r * Math.ceil(cols / 4) + (c >> 2)] |= (q & 3) << (2 * (c & 3));
    }
  }
  const bytes = (/** @type {Int8Array | Float32Array} */ { buffer }) => new Uint8Array(buffer);
  /** @type {[string, Part][]} */
  const parts = [
    [name, { dtype: 'I8', shape: [rows, cols], bytes: bytes(high) }],
    [`${name}_scale`, { dtype: 'F32', shape: [rows], bytes: bytes(scales) }],
  ];
  if (bits === 10) parts.push([`${name}_low`, { dtype: 'U8', shape: [rows, Math.ceil(cols / 4)], bytes: low }]);
  return parts;
}

/** @param {Float32Array} data @param {number[]} shape [in, out] */
function transpose(data, [rows, cols]) {
  return Float32Array.from(data, (_, at) => data[(at % rows) * cols + Math.floor(at / rows)]);
}

/** @param {[string, Part][]} parts */
function safetensors(parts) {
  let end = 0;
  const entries = parts.map(([name, { dtype, shape, bytes }]) => {
    const begin = end;
    end += bytes.length;
    return [name, { dtype, shape, data_offsets: [begin, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return new Uint8Array(Buffer.concat([length, header, ...parts.map(([, { bytes }]) => bytes)]));
}

/** @param {string} name @param {Bits} bits */
function roundedFiles(name, bits) {
  const folder = inTree(`tests/golden/tiny/${name}`);
  const config = JSON.parse(new TextDecoder().decode(filesOf(folder, 'config.json')['config.json']));
  const tensors = readSafetensors(`${folder}/model.safetensors`);
  const { mapTensor } = resolveModel(config, 'config.json').layout(tensors.keys());
  const parts = [...tensors].flatMap(([tensor, { data, shape }]) => {
    const target = mapTensor(tensor);
    const slot = target?.slots[0];
    if (!(data instanceof Float32Array)) return [];
    const bytes = new Uint8Array(data.buffer);
    if (slot === undefined || FLOATS.test(slot)) {
      return /** @type {[string, Part][]} */ ([[tensor, { dtype: 'F32', shape, bytes }]]);
    }
    // A file of integers is [out, in] whatever the family's floats are.
    const isTurned = target?.isTransposed ?? false;
    return rounded(tensor, isTurned ? transpose(data, shape) : data, isTurned ? [shape[1], shape[0]] : shape, bits);
  });
  const quantization_config = { quant_method: 'qkv', bits };
  const text = JSON.stringify({ ...config, quantization_config });
  return { 'config.json': new TextEncoder().encode(text), 'model.safetensors': safetensors(parts) };
}

for (const name of CASES.filter((one) => !/bf16|f16/.test(one))) {
  for (const bits of /** @type {const} */ ([10, 8])) {
    test(`${name}: a file of ${bits} bits loads as it is, and as floats`, async () => {
      const files = roundedFiles(name, bits);
      const precision = bits === 10 ? 'q10' : 'q8';
      const own = await loadModel(files);
      assert.equal(own.info.precision, precision);
      const made = await loadModel(filesOf(inTree(`tests/golden/tiny/${name}`), 'config.json'), { precision });
      assert.equal(own.info.parameters, made.info.parameters);
      const [a, b] = [await own.forward({ ids: [5, 6, 7, 8] }), await made.forward({ ids: [5, 6, 7, 8] })];
      assertSameBits((await a.hidden(own.info.layers)).data, (await b.hidden(own.info.layers)).data, 'hidden state');
      if (own.info.headRows > 0) assertSameBits(await a.logits(), await b.logits(), 'logits');
      const floats = await loadModel(files, { precision: 'f32' });
      assert.ok((await (await floats.forward({ ids: [5, 6] })).hidden(1)).data.every(Number.isFinite));
      for (const model of [own, made, floats]) model.dispose();
    });
  }
}

for (const name of CASES.filter((one) => !/bf16|f16/.test(one))) {
  test(`${name}: a file of 8 bits has the same weights among ten bits`, async () => {
    const files = roundedFiles(name, 8);
    const [f32, q10, q8] = await Promise.all(
      /** @type {const} */ (['f32', 'q10', 'q8']).map((precision) => loadModel(files, { precision })),
    );
    assert.equal(q10.info.precision, 'q10');
    assert.ok(f32.info.bytes > q10.info.bytes && q10.info.bytes > q8.info.bytes);
    const ids = [5, 6, 7, 8];
    const [exact, ten] = await Promise.all([f32, q10].map((model) => model.forward({ ids })));
    for (let layer = 0; layer <= f32.info.layers; layer++) {
      const [a, b] = [(await exact.hidden(layer)).data, (await ten.hidden(layer)).data];
      if (layer === 0 && !FACTORED.test(name)) assertSameBits(a, b, 'embeddings');
      const largest = a.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      const apart = a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
      assert.ok(apart <= 2e-3 * largest, `layer ${layer}: ${apart / largest}`);
    }
    for (const model of [f32, q10, q8]) model.dispose();
  });
}

test('weights of 10 bits cannot become weights of 8 bits', async () => {
  await assert.rejects(loadModel(roundedFiles('llama', 10), { precision: 'q8' }), qkvError('unsupported', "'q10'"));
});

test('a matrix of the wrong type, or without its scales, is named', async () => {
  const { 'config.json': config, 'model.safetensors': weights } = roundedFiles('llama', 8);
  const plain = filesOf(inTree('tests/golden/tiny/llama'), 'config.json');
  const mixed = { 'config.json': plain['config.json'], 'model.safetensors': weights };
  await assert.rejects(loadModel(mixed), qkvError('unsupported', 'type of', 'got "I8", want F32, F16, BF16'));
  const changed = Buffer.from(weights);
  changed.write('X', changed.indexOf('layers.0.mlp.up_proj.weight_scale'));
  await assert.rejects(
    loadModel({ 'config.json': config, 'model.safetensors': changed }),
    qkvError('weight', 'up.weight'),
  );
});

test('the integer below the lowest is refused, and the file named', async () => {
  for (const [bits, got] of /** @type {const} */ ([
    [10, -512],
    [8, -128],
  ])) {
    const files = roundedFiles('llama', bits);
    const weights = files['model.safetensors'];
    const start = 8 + Number(new DataView(weights.buffer, weights.byteOffset).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, start)));
    const name = 'model.layers.0.mlp.up_proj.weight';
    weights[start + header[name].data_offsets[0]] = 0x80;
    if (bits === 10) weights[start + header[`${name}_low`].data_offsets[0]] &= ~3;
    await assert.rejects(loadModel(files), qkvError('weight', `model.safetensors: an integer weight below`, `${got}`));
  }
});
