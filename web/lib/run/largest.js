/** The largest of many logits, in time that grows with their number and not faster: the leading halves of their bits are
 * counted, which tells what can be among the largest, and only that is sorted. */

/** Bits of a digit while sorting; three digits hold the 32 bits of a float. */
const DIGIT = 11;
const DIGITS = 3;
const MASK = 2 ** DIGIT - 1;
const SIGN = 2 ** 31;
/** Fewer values than this are sorted faster by comparing them. */
const FEW = 512;

/**
 * A whole number that is the larger the larger the float with these bits is.
 * @param {number} bits @returns {number}
 */
const rankOf = (bits) => ((bits & SIGN) === 0 ? bits | SIGN : ~bits) >>> 0;

/** @param {number} rank @returns {number} */
const bitsOfRank = (rank) => ((rank & SIGN) === 0 ? ~rank : rank & ~SIGN) >>> 0;

/** @param {Float32Array} values */
const bitsOf = ({ buffer, byteOffset, length }) => new Uint32Array(buffer, byteOffset, length);

/**
 * The largest values, the largest first.
 * @param {Float32Array} values none of them NaN
 * @param {number} count at most values.length
 * @returns {Float32Array}
 */
export function largestValues(values, count) {
  if (count === values.length) return descending(values);
  const bits = bitsOf(values);
  const counts = new Uint32Array(2 ** 16);
  for (let i = 0; i < bits.length; i++) counts[rankOf(bits[i]) >>> 16]++;
  let lowest = counts.length;
  let found = 0;
  while (found < count) found += counts[--lowest];
  const candidates = new Float32Array(found);
  for (let i = 0, next = 0; next < found; i++) {
    if (rankOf(bits[i]) >>> 16 >= lowest) candidates[next++] = values[i];
  }
  return descending(candidates).subarray(0, count);
}

/**
 * A sorted copy, the largest first.
 * @param {Float32Array} values none of them NaN
 * @returns {Float32Array}
 */
export function descending(values) {
  if (values.length < FEW) return values.slice().sort().reverse();
  const bits = bitsOf(values);
  let from = new Uint32Array(bits.length);
  let to = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) from[i] = ~rankOf(bits[i]);
  // Digit by digit from the lowest; each pass keeps what the passes before it have ordered.
  for (let shift = 0; shift < DIGIT * DIGITS; shift += DIGIT) {
    const places = new Uint32Array(MASK + 2);
    for (let i = 0; i < from.length; i++) places[((from[i] >>> shift) & MASK) + 1]++;
    for (let digit = 0; digit < MASK; digit++) places[digit + 1] += places[digit];
    for (let i = 0; i < from.length; i++) to[places[(from[i] >>> shift) & MASK]++] = from[i];
    [from, to] = [to, from];
  }
  for (let i = 0; i < from.length; i++) from[i] = bitsOfRank(~from[i]);
  return new Float32Array(from.buffer);
}
