/** How results of the operators are compared, and the one table of what may differ and why. */
import assert from 'node:assert/strict';

export const BOUNDS = {
  /** The float32 engine against the float64 reference on the official ONNX data: absolute, as their own data is. */
  onnx: 1e-6,
  /** ONNX's own float32 outputs lie within 1.2e-7 of float64. */
  onnxData: 2e-6,
  /** Half precision inputs and outputs: half a unit in the last place of values below 4. */
  onnxHalf: 2e-3,
  /** PyTorch's weights, absolute, and outputs, relative to 1 + the largest value; twice the distance PyTorch itself has. */
  torchWeights: 2e-6,
  torchOutput: 1e-5,
  /** Random cases, relative to the scale of the row (see random_case.js). */
  random: 2e-6,
};

/**
 * The largest difference, taking equal infinities and NaN in the same place as equal; NaN anywhere else counts as
 * infinitely far.
 * @param {ArrayLike<number>} actual
 * @param {ArrayLike<number>} expected
 * @param {(index: number) => number} [scale] what the difference at an index is divided by
 */
export function distance(actual, expected, scale = () => 1) {
  assert.equal(actual.length, expected.length, 'number of elements');
  let largest = 0;
  for (let i = 0; i < actual.length; i++) {
    const [a, b] = [actual[i], expected[i]];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const difference = Math.abs(a - b) / scale(i);
    largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(largest, difference);
  }
  return largest;
}

/** @param {ArrayLike<number>} values */
export function largestMagnitude(values) {
  let largest = 0;
  for (let i = 0; i < values.length; i++)
    if (Number.isFinite(values[i])) largest = Math.max(largest, Math.abs(values[i]));
  return largest;
}
