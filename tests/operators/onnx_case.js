/** Official test data of the ONNX operator Attention, read by a protobuf reader that knows just enough: field numbers,
 * varints and length-delimited fields. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTree } from '../api/golden.js';

/** @typedef {{ name: string, shape: number[], data: Float32Array | Int32Array | Uint8Array }} OnnxTensor */
/**
 * @typedef {object} OnnxCase
 * @property {string} name
 * @property {Record<string, number>} attrs
 * @property {string[]} inputNames
 * @property {Map<string, OnnxTensor>} inputs
 * @property {Map<string, OnnxTensor>} outputs
 * @property {boolean} isHalf
 */

const FOLDER = inTree('../shared/onnx_attention');

/** The cases that lie beside the tree; none where they do not. @returns {OnnxCase[]} */
export function onnxCases() {
  if (!existsSync(FOLDER)) return [];
  const index = JSON.parse(readFileSync(join(FOLDER, 'index.json'), 'utf8'));
  return Object.entries(index).map(([name, entry]) => {
    const read = (/** @type {string} */ kind, /** @type {string[]} */ names) =>
      new Map(names.filter((one) => one !== '').map((one, at) => [one, readTensor(name, `${kind}_${at}.pb`)]));
    const { attrs, node_inputs: inputNames, node_outputs: outputNames, inputs } = entry;
    return {
      name,
      attrs,
      inputNames,
      inputs: read('input', inputNames),
      outputs: read('output', outputNames),
      isHalf: inputs[0].dtype === 'f16',
    };
  });
}

/** @param {string} folder @param {string} file @returns {OnnxTensor} */
function readTensor(folder, file) {
  const bytes = readFileSync(join(FOLDER, folder, 'test_data_set_0', file));
  const tensor = { shape: /** @type {number[]} */ ([]), type: 0, name: '', raw: new Uint8Array(0) };
  for (const { field, number, bytes: content } of fieldsOf(bytes)) {
    if (field === 1 && content) tensor.shape.push(...varints(content));
    else if (field === 1) tensor.shape.push(number);
    else if (field === 2) tensor.type = number;
    else if (field === 8 && content) tensor.name = content.toString('utf8');
    else if (field === 9 && content) tensor.raw = Uint8Array.from(content);
  }
  return { name: tensor.name, shape: tensor.shape, data: DECODERS[tensor.type](tensor.raw) };
}

/** By the numbers of TensorProto.DataType. @type {Record<number, (raw: Uint8Array) => OnnxTensor['data']>} */
const DECODERS = {
  1: (raw) => new Float32Array(raw.buffer),
  7: (raw) => Int32Array.from(new BigInt64Array(raw.buffer), Number),
  9: (raw) => raw,
  10: (raw) => Float32Array.from(new Uint16Array(raw.buffer), halfToNumber),
};

/** @param {number} bits of a float16 */
function halfToNumber(bits) {
  const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : Number.POSITIVE_INFINITY * (sign ? -1 : 1);
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return sign ? -magnitude : magnitude;
}

/** @param {Buffer} bytes */
function* fieldsOf(bytes) {
  let at = 0;
  const next = () => {
    let [value, shift] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
      shift *= 128;
    }
  };
  while (at < bytes.length) {
    const key = next();
    const [field, wire] = [key >> 3, key & 7];
    if (wire === 0) yield { field, number: next(), bytes: null };
    else if (wire === 2) {
      const length = next();
      yield { field, number: 0, bytes: bytes.subarray(at, at + length) };
      at += length;
    } else if (wire === 5) at += 4;
    else throw new Error(`protobuf: wire type ${wire} of field ${field} is not expected in a tensor`);
  }
}

/** @param {Buffer} bytes packed */
function varints(bytes) {
  /** @type {number[]} */
  const values = [];
  let [value, shift] = [0, 1];
  for (const byte of bytes) {
    value += (byte & 127) * shift;
    shift *= 128;
    if (byte < 128) {
      values.push(value);
      [value, shift] = [0, 1];
    }
  }
  return values;
}
