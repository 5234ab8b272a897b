/** The sequential colour map of all exports: viridis (Smith, van der Walt, Firing; CC0), ten of its colours with straight
 * lines between. Perceptually uniform, readable with any colour vision and in grey. */

const STOPS = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 73, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [110, 206, 88],
  [181, 222, 43],
  [253, 231, 37],
];

/**
 * @param {number} fraction 0 to 1
 * @returns {[number, number, number]} red, green, blue, 0 to 255
 */
export function viridis(fraction) {
  const place = Math.min(Math.max(fraction, 0), 1) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const mix = (/** @type {number} */ channel) =>
    Math.round(STOPS[below][channel] + (place - below) * (STOPS[below + 1][channel] - STOPS[below][channel]));
  return [mix(0), mix(1), mix(2)];
}

/**
 * The range a picture is scaled to: weights always 0 to 1, so that two heads can be compared; anything else its own.
 * @param {Float32Array} data
 * @param {boolean} isWeights
 * @returns {{ low: number, high: number }}
 */
export function rangeOf(data, isWeights) {
  if (isWeights) return { low: 0, high: 1 };
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of data) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}

/**
 * @param {number} value
 * @param {{ low: number, high: number }} range
 * @returns {number | null} 0 to 1; null for what has no place on the scale: NaN and infinities
 */
export function fractionOf(value, { low, high }) {
  if (!Number.isFinite(value)) return null;
  return high > low ? (value - low) / (high - low) : 0;
}
