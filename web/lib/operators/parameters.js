/** The parameters of torch.nn.MultiheadAttention by the names of its state_dict, checked and taken apart into one linear
 * map each for query, key, value and output. With fewer key/value heads than query heads the key and value parts of
 * in_proj_weight and in_proj_bias have that many rows less. */

import { headerLength, parseHeader } from '../formats/safetensors.js';
import { isGiven } from './shapes.js';
import { floatTensor, kindOf, refusal, sameSize } from './tensors.js';

/** @typedef {import('./tensors.js').FloatTensor} FloatTensor */
/** @typedef {{ outputs: number, inputs: number, weight: Float32Array, bias: Float32Array | null }} Linear */
/** @typedef {{ q: Linear, k: Linear, v: Linear, out: Linear, biasK: Float32Array | null, biasV: Float32Array | null }} Parameters */
/**
 * Tensors by name, or the bytes of a safetensors file that holds them as float32.
 * @typedef {Record<string, FloatTensor | undefined> | ReadonlyMap<string, FloatTensor> | Uint8Array | ArrayBuffer} ParameterSource
 */
/** @typedef {{ width: number, kvWidth: number, kDim: number, vDim: number }} Widths */

const CALL = 'MultiHeadAttention';
const LENGTH_BYTES = 8;

/**
 * @param {unknown} source
 * @param {Widths} widths
 * @returns {Parameters}
 */
export function readParameters(source, { width, kvWidth, kDim, vDim }) {
  const find = finderOf(source);
  const joint = find('in_proj_weight', [width + 2 * kvWidth, width], false);
  const bias = find('in_proj_bias', [width + 2 * kvWidth], false)?.data ?? null;
  const sameInputs = kDim === width && vDim === width;
  if (joint && !sameInputs) {
    const fix = 'With other widths torch has q_proj_weight, k_proj_weight and v_proj_weight.';
    throw refusal(CALL, 'parameters.in_proj_weight', `kDim ${kDim}, vDim ${vDim}`, `both ${width}, the embedDim`, fix);
  }
  /**
   * @param {string} name
   * @param {number} row0 of the joint matrix
   * @param {number} outputs
   * @param {number} inputs
   * @returns {Linear}
   */
  const projection = (name, row0, outputs, inputs) => ({
    outputs,
    inputs,
    weight: joint
      ? joint.data.subarray(row0 * inputs, (row0 + outputs) * inputs)
      : required(find(name, [outputs, inputs], true)).data,
    bias: bias?.subarray(row0, row0 + outputs) ?? null,
  });
  const biasK = find('bias_k', [1, 1, kvWidth], false)?.data ?? null;
  const biasV = find('bias_v', [1, 1, kvWidth], false)?.data ?? null;
  if (!biasK !== !biasV) {
    throw refusal(CALL, `parameters.${biasK ? 'bias_v' : 'bias_k'}`, 'nothing', 'a tensor: both or neither');
  }
  return {
    q: projection('q_proj_weight', 0, width, width),
    k: projection('k_proj_weight', width, kvWidth, kDim),
    v: projection('v_proj_weight', width + kvWidth, kvWidth, vDim),
    out: {
      outputs: width,
      inputs: width,
      weight: required(find('out_proj.weight', [width, width], true)).data,
      bias: find('out_proj.bias', [width], false)?.data ?? null,
    },
    biasK,
    biasV,
  };
}

/** @param {FloatTensor | null} tensor */
const required = (tensor) => /** @type {FloatTensor} */ (tensor);

/** @param {unknown} source */
function finderOf(source) {
  const tensors = tensorsOf(source);
  const names = [...tensors.keys()];

  /**
   * @param {string} name
   * @param {number[]} shape
   * @param {boolean} isNeeded
   * @returns {FloatTensor | null}
   */
  return (name, shape, isNeeded) => {
    const given = tensors.get(name);
    const label = `parameters: ${name}`;
    if (!isGiven(given)) {
      if (!isNeeded) return null;
      throw refusal(CALL, label, names.length > 0 ? `only ${names.join(', ')}` : 'no tensors', 'a tensor of this name');
    }
    const tensor = floatTensor(CALL, label, given, shape.length, shape.length);
    shape.forEach((size, axis) => {
      sameSize(CALL, label, axis, tensor.shape[axis], size, `for the shape ${JSON.stringify(shape)}`);
    });
    return tensor;
  };
}

/**
 * @param {unknown} source
 * @returns {ReadonlyMap<string, unknown>}
 */
function tensorsOf(source) {
  if (source instanceof Map) return source;
  if (source instanceof ArrayBuffer) return fromBytes(new Uint8Array(source));
  if (source instanceof Uint8Array) return fromBytes(source);
  if (typeof source === 'object' && source !== null && !ArrayBuffer.isView(source)) {
    return new Map(Object.entries(source));
  }
  throw refusal(CALL, 'parameters', kindOf(source), "tensors by torch's names, or the bytes of a safetensors file");
}

/** @param {Uint8Array} bytes */
function fromBytes(bytes) {
  const file = `${CALL}: parameters`;
  const start = LENGTH_BYTES + headerLength(bytes, file, bytes.length);
  const { tensors } = parseHeader(bytes.subarray(LENGTH_BYTES, start), file, bytes.length - start);
  return new Map(
    tensors.map(({ name, dtype, shape, begin, end }) => {
      // A copy starts where floats may start. Other types stay bytes, which is then said of those that are needed.
      const data = bytes.slice(start + begin, start + end);
      return [name, dtype === 'F32' ? { data: new Float32Array(data.buffer), shape } : { data: dtype, shape }];
    }),
  );
}
