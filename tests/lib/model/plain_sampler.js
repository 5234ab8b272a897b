/** Sampling written for clearness: everything is sorted, every weight computed. What sampler.js draws must be what this
 * draws, bit for bit of the random number. */
import { exp } from '../../../web/lib/run/probabilities.js';

/**
 * @param {Float32Array} logits finite or -Infinity
 * @param {{ temperature: number, topK?: number, topP?: number }} options
 * @param {number} at the random number
 * @returns {number} the id
 */
export function plainDraw(logits, { temperature, topK = logits.length, topP = 1 }, at) {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
  const weightOf = (/** @type {number} */ id) => exp((logits[id] - largest) / temperature);
  let ids = [...logits.keys()];
  if (topK < logits.length || topP < 1) {
    ids.sort((a, b) => (logits[a] === logits[b] ? a - b : logits[b] > logits[a] ? 1 : -1));
    ids = ids.slice(0, topK);
  }
  if (topP < 1) {
    const wanted = topP * ids.reduce((sum, id) => sum + weightOf(id), 0);
    let count = 0;
    for (let reached = 0; reached < wanted && count < ids.length; count++) reached += weightOf(ids[count]);
    ids = ids.slice(0, Math.max(count, 1));
  }
  const possible = ids.filter((id) => weightOf(id) > 0);
  const wanted = at * possible.reduce((sum, id) => sum + weightOf(id), 0);
  let reached = 0;
  for (const id of possible) {
    reached += weightOf(id);
    if (reached > wanted) return id;
  }
  return possible[possible.length - 1];
}
