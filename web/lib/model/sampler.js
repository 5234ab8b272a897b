/** How generate chooses the next token from its logits. The order is the usual one: divide by the temperature, keep the
 * topK largest, of those keep the fewest whose probabilities reach topP, draw.
 *
 * Draws come from a generator of its own, seeded by the caller, and every sum is made in a fixed order, so one seed gives
 * one text on every machine whose logits have the same bits. */

import { finiteNumber, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { largestValues } from '../run/largest.js';
import { largestLogit, sum, unnormalized } from '../run/probabilities.js';

/**
 * @typedef {object} SamplerOptions
 * @property {number} [temperature] 0 to 100; 0, the default, always takes the likeliest token
 * @property {number} [topK] draw from so many of the likeliest tokens; default: all
 * @property {number} [topP] draw from the fewest likeliest tokens whose probabilities reach this sum; default: 1
 * @property {number} [seed] 0 to 2^32 - 1, default 0; one seed gives one text
 */
/** @typedef {(logits: Float32Array) => number} Sampler chooses an id */

const HIGHEST_TEMPERATURE = 100;
/** So many of the largest logits are tried first for top-p, then this many times as many. */
const FEW = 256;
const GROWTH = 8;
/** The share by which an estimated sum may be wrong: roundings of millions of terms, and the exp of any machine, are below it. */
const DOUBT = 1e-7;

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
  const isFiltered = most < vocab || topP < 1;
  return (logits) => {
    const largest = largestLogit(logits, 'generate');
    if (!isFiltered) return drawIndex(unnormalized(logits, largest, temperature), random());
    const values = most < vocab ? largestValues(logits, most) : logits;
    const { kept, weights } = nucleus(values, largest, temperature, topP);
    return idOfRank(logits, kept, drawIndex(weights, random()));
  };
}

/** Of equal logits the lower id. @param {Float32Array} logits */
function likeliestId(logits) {
  return logits.indexOf(largestLogit(logits, 'generate'));
}

/** @typedef {{ kept: Float32Array, weights: Float64Array }} Nucleus logits, the largest first, and what they weigh */

/**
 * The fewest of the largest values whose weights reach this share of all weights. An estimate of the sum tells how many that
 * is, unless it falls too near to a boundary; then all weights are computed, and added in order.
 * @param {Float32Array} values
 * @param {number} largest
 * @param {number} temperature
 * @param {number} share
 * @returns {Nucleus}
 */
function nucleus(values, largest, temperature, share) {
  /** @param {number} count @returns {Nucleus} */
  const first = (count) => {
    const kept = largestValues(values, Math.min(count, values.length));
    return { kept, weights: unnormalized(kept, largest, temperature) };
  };
  /** @param {Nucleus} all @param {number} count @returns {Nucleus} */
  const cut = ({ kept, weights }, count) => ({ kept: kept.subarray(0, count), weights: weights.subarray(0, count) });
  if (share === 1) return first(values.length);
  const estimate = values.length > FEW ? share * estimatedSum(values, largest, temperature) : 0;
  for (let tried = FEW; tried < values.length; tried *= GROWTH) {
    const some = first(tried);
    const least = countReaching(some.weights, estimate * (1 - DOUBT));
    const most = countReaching(some.weights, estimate * (1 + DOUBT));
    if (least !== most) break;
    if (most <= tried) return cut(some, most);
  }
  const all = first(values.length);
  return cut(all, Math.min(countReaching(all.weights, share * sum(all.weights)), values.length));
}

/** It is an estimate, so Math.exp is good enough, though its last bits differ between machines. @param {Float32Array} values @param {number} largest @param {number} temperature */
function estimatedSum(values, largest, temperature) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += Math.exp((values[i] - largest) / temperature);
  return total;
}

/**
 * How many of the weights, one at least, add up to this or more; one more than there are where all of them do not.
 * @param {Float64Array} weights
 * @param {number} wanted
 */
function countReaching(weights, wanted) {
  let count = 0;
  let reached = 0;
  while (reached < wanted && count < weights.length) reached += weights[count++];
  return reached < wanted ? weights.length + 1 : Math.max(count, 1);
}

/**
 * Which of the weights is drawn.
 * @param {Float64Array} weights
 * @param {number} at in [0, 1)
 */
function drawIndex(weights, at) {
  const wanted = at * sum(weights);
  let last = 0;
  for (let index = 0, reached = 0; index < weights.length; index++) {
    if (weights[index] === 0) continue;
    last = index;
    reached += weights[index];
    if (reached > wanted) break;
  }
  return last;
}

/**
 * The id at a place among the largest logits; of equal logits the lower id comes first.
 * @param {Float32Array} logits
 * @param {Float32Array} descending the largest of them
 * @param {number} rank
 */
function idOfRank(logits, descending, rank) {
  let before = rank - descending.indexOf(descending[rank]);
  let id = logits.indexOf(descending[rank]);
  for (; before > 0; before--) id = logits.indexOf(descending[rank], id + 1);
  return id;
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
