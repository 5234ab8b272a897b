/** What a tensor's bytes are to the engine: the name of a plane, by the tensor's type, its part and the slot it goes to. */

import { QkvError } from '../checks/errors.js';

/** @typedef {import('../engine/describe.js').Description} Description */
/** @typedef {import('../families/index.js').Quantization} Quantization */
/** @typedef {import('../families/parts/placement.js').MapTensor} MapTensor */
/** @typedef {import('../families/parts/placement.js').Target} Target */
/** @typedef {import('../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('./model_config.js').Precision} Precision */

const FLOATS = /** @type {Record<string, string>} */ ({ F32: 'f32', F16: 'f16', BF16: 'bf16' });
/** The blocks of GGUF; only rows that stay whole can hold them. */
const BLOCKS = ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K'];

/** @param {string} plane */
export const isFloat = (plane) => Object.values(FLOATS).includes(plane);

/**
 * @param {string} fileName
 * @param {TensorInfo} tensor
 * @param {Target} target
 * @param {{ slots: Description['slots'], quantization: Quantization | null }} known
 * @returns {string}
 */
export function planeOf(fileName, { name, dtype }, { part, slots }, known) {
  const isMatrix = known.slots.get(slots[0])?.role === 'matrix' || slots[0] === 'tokens';
  const planes = planesOf(part, isMatrix, known.quantization);
  if (Object.hasOwn(planes, dtype)) return planes[dtype];
  const want = Object.keys(planes).join(', ');
  throw new QkvError('unsupported', `${fileName}: type of ${name}`, { got: dtype, want });
}

/**
 * @param {Target['part']} part
 * @param {boolean} isMatrix
 * @param {Quantization | null} quantization
 * @returns {Record<string, string>} types of tensors and the planes they are
 */
function planesOf(part, isMatrix, quantization) {
  if (part === 'low') return { U8: 'q10_low' };
  if (part === 'scale') return { F32: 'scale' };
  if (!isMatrix) return FLOATS;
  const blocks = Object.fromEntries(BLOCKS.map((block) => [block, block.toLowerCase()]));
  if (quantization === null) return { ...FLOATS, ...blocks };
  return { ...FLOATS, ...blocks, I8: quantization.bits === 10 ? 'q10_high' : 'q8' };
}

/**
 * How the engine holds the token table: floats as the file has them, since a row is read only when its token occurs, rounded
 * where the other weights are; what the file has rounded stays so.
 * @param {TensorInfo[]} tensors
 * @param {MapTensor} mapTensor
 * @param {Quantization | null} quantization
 * @param {Precision} precision
 */
export function tablePlane(tensors, mapTensor, quantization, precision) {
  const tokens = tensors.find(({ name }) => {
    const target = mapTensor(name);
    return target?.slots[0] === 'tokens' && target.part === 'whole';
  });
  const dtype = tokens?.dtype ?? 'F32';
  if (dtype === 'I8') return quantization?.bits === 8 ? 'q8' : 'q10_high';
  if (precision !== 'f32') return precision === 'q10' ? 'q10_high' : 'q8';
  return FLOATS[dtype] ?? 'f32';
}
