/** The weights of the dense layers behind a model: small safetensors files in folders of their own, read into float32. */

import { QkvError } from '../../checks/errors.js';
import { readTensors } from '../../formats/safetensors.js';
import { refusalOf } from './unsupported.js';

/** @typedef {import('../../formats/safetensors.js').ByteStream} ByteStream */
/** @typedef {import('../../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('../../run/embedding.js').Dense} Dense */
/** @typedef {import('../../run/embedding.js').EmbeddingPlan} EmbeddingPlan */
/**
 * @typedef {object} WeightReader
 * @property {(file: string) => string} label for messages
 * @property {(file: string) => Promise<ByteStream | null>} find null where the file is not there
 */

/** Of one layer; the largest that is published has 3072 x 768. */
const MOST_WEIGHTS = 2 ** 26;

/**
 * The same plan with its weights; refused where there are none.
 * @param {WeightReader} files
 * @param {EmbeddingPlan} plan
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<EmbeddingPlan>}
 */
export async function readDenseWeights(files, plan, signal) {
  if (plan.refusal) return plan;
  const steps = [];
  for (const step of plan.steps) {
    if (step.step !== 'dense') {
      steps.push(step);
      continue;
    }
    const file = `${step.folder}/model.safetensors`;
    const stream = await files.find(file);
    if (stream === null) return { ...plan, refusal: missing(files.label(file)) };
    steps.push({ ...step, ...(await readLayer(stream, files.label(file), step, signal)) });
  }
  return { ...plan, steps };
}

/** @param {string} file */
function missing(file) {
  const fix =
    'Weights are read from safetensors only, not from pytorch_model.bin: save the model anew with sentence-transformers, give the whole folder, or name a pooling in the options.';
  return refusalOf({ what: `${file} is not there`, fix });
}

/**
 * @param {ByteStream} stream
 * @param {string} label
 * @param {Dense} dense
 * @param {AbortSignal | undefined} signal
 */
async function readLayer(stream, label, dense, signal) {
  const wanted = wantedShapes(dense);
  /** @type {Map<string, Float32Array>} */
  const values = new Map();
  await readTensors(
    stream,
    label,
    (tensors) => {
      check(label, tensors, wanted);
      return new Map(tensors.map((tensor) => [tensor.name, sinkOf(tensor, values)]));
    },
    { signal },
  );
  /** @param {string} name */
  const taken = (name) => values.get(name) ?? null;
  return { weight: taken('linear.weight'), bias: taken('linear.bias'), residual: taken('residual.weight') };
}

/** @param {Dense} dense @returns {Map<string, number[]>} */
function wantedShapes({ inputs, outputs, hasBias, hasResidual }) {
  const shapes = new Map([['linear.weight', [outputs, inputs]]]);
  if (hasBias) shapes.set('linear.bias', [outputs]);
  if (hasResidual && inputs !== outputs) shapes.set('residual.weight', [outputs, inputs]);
  return shapes;
}

/** @param {string} label @param {TensorInfo[]} tensors @param {Map<string, number[]>} wanted */
function check(label, tensors, wanted) {
  const names = tensors.map(({ name }) => name);
  for (const [name, shape] of wanted) {
    const got = tensors.find((tensor) => tensor.name === name)?.shape ?? 'nothing';
    const isSame = Array.isArray(got) && got.length === shape.length && got.every((size, i) => size === shape[i]);
    if (!isSame) throw new QkvError('weight', `${label}: shape of "${name}"`, { got, want: `[${shape.join(', ')}]` });
    const count = shape.reduce((product, size) => product * size, 1);
    if (count > MOST_WEIGHTS) {
      throw new QkvError('unsupported', `${label}: elements of "${name}"`, {
        got: count,
        want: `at most ${MOST_WEIGHTS}`,
      });
    }
  }
  const stranger = names.find((name) => !wanted.has(name));
  if (stranger === undefined) return;
  const want = [...wanted.keys()].join(', ');
  throw new QkvError('weight', `${label}: a tensor the layer has no use for`, { got: stranger, want });
}

/**
 * @param {TensorInfo} tensor
 * @param {Map<string, Float32Array>} values
 * @returns {import('../../formats/safetensors.js').Sink}
 */
function sinkOf({ name, dtype, begin, end }, values) {
  // An empty tensor would never be committed; shapes are above 0, so there is none.
  const bytes = new Uint8Array(end - begin);
  return {
    capacity: bytes.length,
    view: () => bytes,
    commit: () => values.set(name, floatsOf(bytes, dtype)),
  };
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {string} dtype @returns {Float32Array} */
function floatsOf(bytes, dtype) {
  if (dtype === 'F32') return new Float32Array(bytes.buffer);
  const halves = new Uint16Array(bytes.buffer);
  if (dtype === 'BF16') return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
  return Float32Array.from(halves, fromHalf);
}

/** IEEE 754 binary16. @param {number} half @returns {number} */
function fromHalf(half) {
  const [sign, exponent, fraction] = [half >> 15 ? -1 : 1, (half >> 10) & 31, half & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}
