/** How generate chooses the next token from its logits. The order is the usual one: divide by the temperature, keep the
 * topK largest, of those keep the fewest whose probabilities reach topP, draw.
 *
 * Draws come from a generator of its own, seeded by the caller, and every sum is made in a fixed order, so one seed gives
 * one text on every machine whose logits have the same bits. */

import { finiteNumber, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { largestIds, largestLogit, sum, unnormalized } from './probabilities.js';

/**
 * @typedef {object} SamplerOptions
 * @property {number} [temperature] 0 to 100; 0, the default, always takes the likeliest token
 * @property {number} [topK] draw from so many of the likeliest tokens; default: all
 * @property {number} [topP] draw from the fewest likeliest tokens whose probabilities reach this sum; default: 1
 * @property {number} [seed] 0 to 2^32 - 1, default 0; one seed gives one text
 */
/** @typedef {(logits: Float32Array) => number} Sampler chooses an id */

const HIGHEST_TEMPERATURE = 100;

/**
 * @param {SamplerOptions} options
 * @param {number} vocab
 * @returns {Sampler}
 */
export function createSampler({ temperature = 0, topK, topP = 1, seed = 0 }, vocab) {
  finiteNumber('generate: temperature', temperature);
  if (temperature < 0 || temperature > HIGHEST_TEMPERATURE) {
    const want = `0 to ${HIGHEST_TEMPERATURE}`;
    throw new QkvError('range', 'generate: temperature', { got: temperature, want });
  }
  const most = topK === undefined ? vocab : wholeNumber('generate: topK', topK, 1, vocab);
  finiteNumber('generate: topP', topP);
  if (topP <= 0 || topP > 1) {
    throw new QkvError('range', 'generate: topP', { got: topP, want: 'above 0, at most 1' });
  }
  const random = createRandom(wholeNumber('generate: seed', seed, 0, 2 ** 32 - 1));
  if (temperature === 0) return likeliestId;
  return (logits) => {
    const largest = largestLogit(logits, 'generate');
    const candidates = candidatesOf(logits, largest, temperature, most, topP);
    return draw(logits, largest, temperature, candidates, random());
  };
}

/** Of equal logits the lower id. @param {Float32Array} logits */
function likeliestId(logits) {
  return logits.indexOf(largestLogit(logits, 'generate'));
}

/**
 * @param {Float32Array} logits
 * @param {number} largest
 * @param {number} temperature
 * @param {number} topK
 * @param {number} topP
 * @returns {number[] | null} the largest first; null: all
 */
function candidatesOf(logits, largest, temperature, topK, topP) {
  if (topK === logits.length && topP === 1) return null;
  if (topP === 1) return largestIds(logits, topK);
  const descending = logits.slice().sort().reverse().subarray(0, topK);
  const weights = unnormalized(descending, largest, temperature);
  const wanted = topP * sum(weights);
  let count = 0;
  for (let reached = 0; reached < wanted && count < weights.length; count++) reached += weights[count];
  return largestIds(logits, Math.max(count, 1));
}

/**
 * @param {Float32Array} logits
 * @param {number} largest
 * @param {number} temperature
 * @param {number[] | null} candidates
 * @param {number} at in [0, 1)
 */
function draw(logits, largest, temperature, candidates, at) {
  const chosen = candidates ? Float32Array.from(candidates, (id) => logits[id]) : logits;
  const weights = unnormalized(chosen, largest, temperature);
  const wanted = at * sum(weights);
  let last = 0;
  for (let index = 0, reached = 0; index < weights.length; index++) {
    if (weights[index] === 0) continue;
    last = index;
    reached += weights[index];
    if (reached > wanted) break;
  }
  return candidates ? candidates[last] : last;
}

/**
 * Numbers in [0, 1) with 53 random bits: sfc32 of Chris Doty-Humphrey's PractRand (a counter and three mixed words of 32
 * bits), the seed in its first word, warmed up by 15 steps.
 * @param {number} seed 32 bits
 */
export function createRandom(seed) {
  let [a, b, c, counter] = [seed | 0, 0, 0, 1];
  const next = () => {
    const mixed = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + mixed) | 0;
    return mixed >>> 0;
  };
  for (let step = 0; step < 15; step++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
