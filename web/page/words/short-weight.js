/**
 * A weight in two decimals that never looks exact where it is not: 0.0038 is less than 0.01, not 0.00.
 * @param {number} weight
 */
export function shortWeight(weight) {
  if (weight === 0 || weight === 1) return String(weight);
  if (weight < 0.005) return '<0.01';
  return weight < 0.995 ? weight.toFixed(2) : '>0.99';
}
