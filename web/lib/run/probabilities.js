/** Logits to probabilities. The sums run in float64 and in order of the ids, with an exp of our own, because Math.exp may
 * differ in its last bit from one JavaScript engine to another: the same logits give the same bits everywhere. */

import { QkvError } from '../checks/errors.js';
import { largestValues } from './largest.js';

/** x = n ln 2 + r with |r| <= ln 2 / 2; the first part of ln 2 has zeros behind its 32nd bit, so that n times it is exact. */
const LN2_HIGH = 0.69314718036912382;
const LN2_LOW = 1.9082149292705877e-10;
/** exp(-700) is about 1e-304; what is smaller counts as nothing. */
const LOWEST = -700;
/** 2^-n. */
const POWERS = new Float64Array(1024);
for (let n = 0, power = 1; n < POWERS.length; n++, power /= 2) POWERS[n] = power;

/**
 * exp on [-Infinity, 0], to 2 units in the last place; exp(0) is exactly 1.
 * @param {number} x
 */
export function exp(x) {
  if (!(x >= LOWEST)) return 0;
  const n = Math.round(x / (LN2_HIGH + LN2_LOW));
  const r = x - n * LN2_HIGH - n * LN2_LOW;
  // The series up to r^14 / 14!: the rest is below 1e-18. Written out, because a loop takes half as long again.
  let sum = 1 + r / 14;
  sum = 1 + (sum * r) / 13;
  sum = 1 + (sum * r) / 12;
  sum = 1 + (sum * r) / 11;
  sum = 1 + (sum * r) / 10;
  sum = 1 + (sum * r) / 9;
  sum = 1 + (sum * r) / 8;
  sum = 1 + (sum * r) / 7;
  sum = 1 + (sum * r) / 6;
  sum = 1 + (sum * r) / 5;
  sum = 1 + (sum * r) / 4;
  sum = 1 + (sum * r) / 3;
  sum = 1 + (sum * r) / 2;
  sum = 1 + sum * r;
  return sum * POWERS[-n];
}

/**
 * The largest logit. Logits that are no numbers, or infinite, come from weights that are; there is nothing to choose then.
 * @param {Float32Array} logits
 * @param {string} subject for the message
 */
export function largestLogit(logits, subject) {
  let largest = Number.NEGATIVE_INFINITY;
  // By index: an iterator takes four to ten times as long, and this is done for every token that is generated.
  for (let id = 0; id < logits.length && !Number.isNaN(largest); id++) {
    if (!(logits[id] <= largest)) largest = logits[id];
  }
  if (Number.isFinite(largest)) return largest;
  const fix = 'The weights of the model, or its activations, are not finite.';
  throw new QkvError('weight', `${subject}: the largest logit`, { got: largest, want: 'a finite number', fix });
}

/**
 * exp((logit - largest) / temperature) of every logit.
 * @param {Float32Array} logits
 * @param {number} largest
 * @param {number} temperature above 0
 */
export function unnormalized(logits, largest, temperature) {
  const weights = new Float64Array(logits.length);
  // In float64: divided by a tiny temperature the difference may become -Infinity, which is fine. By index: Float64Array.from
  // with a function takes five times as long.
  for (let i = 0; i < weights.length; i++) weights[i] = exp((logits[i] - largest) / temperature);
  return weights;
}

/** @param {Float64Array} values */
export function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/**
 * Ids of the largest logits, the largest first; of equal ones the lower id.
 * @param {Float32Array} logits
 * @param {number} count at most logits.length
 */
export function largestIds(logits, count) {
  const threshold = largestValues(logits, count)[count - 1];
  /** @type {number[]} */
  const ids = [];
  /** @type {number[]} */
  const equal = [];
  for (let id = 0; id < logits.length; id++) {
    if (logits[id] > threshold) ids.push(id);
    else if (logits[id] === threshold && equal.length < count) equal.push(id);
  }
  ids.push(...equal.slice(0, count - ids.length));
  return ids.sort((a, b) => logits[b] - logits[a] || a - b);
}

/**
 * The likeliest ids with their probabilities: softmax over all logits.
 * @param {Float32Array} logits
 * @param {number} count
 * @param {string} subject
 */
export function likeliest(logits, count, subject) {
  const largest = largestLogit(logits, subject);
  const total = sum(unnormalized(logits, largest, 1));
  return largestIds(logits, count).map((id) => ({ id, probability: exp(logits[id] - largest) / total }));
}
