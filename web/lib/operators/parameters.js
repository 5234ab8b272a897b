/** The parameters of torch.nn.MultiheadAttention by the names of its state_dict, checked and taken apart into one linear
 * map each for query, key, value and output. With fewer key/value heads than query heads the key and value parts of
 * in_proj_weight and in_proj_bias have that many rows less. */

import { refuseOthers } from '../checks/arguments.js';
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
const SPLIT = ['q_proj_weight', 'k_proj_weight', 'v_proj_weight'];
const NAMES = [
  ...['in_proj_weight', 'in_proj_bias', ...SPLIT],
  ...['out_proj.weight', 'out_proj.bias', 'bias_k', 'bias_v'],
];

/**
 * @param {unknown} source
 * @param {Widths} widths
 * @returns {Parameters}
 */
export function readParameters(source, { width, kvWidth, kDim, vDim }) {
  const { find, has } = finderOf(source);
  const sameInputs = kDim === width && vDim === width;
  const isSplit = SPLIT.some(has);
  const joint = find('in_proj_weight', [width + 2 * kvWidth, width], sameInputs && !isSplit);
  const bias = find('in_proj_bias', [width + 2 * kvWidth], false)?.data ?? null;
  if (joint && isSplit) {
    throw refusal(CALL, 'parameters', `in_proj_weight and ${SPLIT.filter(has).join(', ')}`, 'one way or the other');
  }
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
  refuseOthers(`${CALL}: name in parameters`, Object.fromEntries(tensors), NAMES);

  /** @param {string} name */
  const has = (name) => isGiven(tensors.get(name));

  /**
   * @param {string} name
   * @param {number[]} shape
   * @param {boolean} isNeeded
   * @returns {FloatTensor | null}
   */
  function find(name, shape, isNeeded) {
    const label = `parameters: ${name}`;
    if (!has(name)) {
      if (!isNeeded) return null;
      throw refusal(CALL, label, names.length > 0 ? `only ${names.join(', ')}` : 'no tensors', 'a tensor of this name');
    }
    const given = tensors.get(name);
    if (given instanceof OtherType) {
      throw refusal(CALL, label, given.dtype, 'F32', 'Save the layer as float32: layer.float() in torch.');
    }
    const tensor = floatTensor(CALL, label, given, shape.length, shape.length);
    shape.forEach((size, axis) => {
      sameSize(CALL, label, axis, tensor.shape[axis], size, `for the shape ${JSON.stringify(shape)}`);
    });
    return tensor;
  }
  return { find, has };
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

/** A tensor of a file that does not hold float32; only said when it is asked for. */
class OtherType {
  /** @param {string} dtype */
  constructor(dtype) {
    this.dtype = dtype;
  }
}

/** @param {Uint8Array} bytes */
function fromBytes(bytes) {
  const file = `${CALL}: parameters`;
  const start = LENGTH_BYTES + headerLength(bytes, file, bytes.length);
  const { tensors } = parseHeader(bytes.subarray(LENGTH_BYTES, start), file, bytes.length - start);
  /** @type {Map<string, unknown>} */
  const byName = new Map();
  for (const { name, dtype, shape, begin, end } of tensors) {
    // A copy is aligned for floats. Not slice(): that of a Buffer is a view.
    const copy = new Uint8Array(bytes.subarray(start + begin, start + end));
    const isFloat = dtype === 'F32';
    byName.set(name, isFloat ? { data: new Float32Array(copy.buffer), shape } : new OtherType(dtype));
  }
  return byName;
}
