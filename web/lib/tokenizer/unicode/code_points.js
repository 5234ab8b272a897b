/**
 * Sets of code points. A set is a flat list of first and last code points, ascending and apart; what asks it often makes
 * a test of it. The tables are of fixed Unicode versions, so that the ids of a text do not depend on the browser.
 */

/** @typedef {readonly number[]} Ranges first, last, first, last ... */
/** @typedef {(codePoint: number) => boolean} CodePointTest */

export const LAST = 0x10ffff;

/** @param {string} text hexadecimal, "41-5a 5f" @returns {Ranges} */
export function readRanges(text) {
  return text
    .trim()
    .split(/\s+/)
    .flatMap((span) => {
      const [first, last = first] = span.split('-');
      return [Number.parseInt(first, 16), Number.parseInt(last, 16)];
    });
}

/** @param {...Ranges} sets @returns {Ranges} what is in any of them */
export function union(...sets) {
  /** @type {[number, number][]} */
  const spans = [];
  for (const set of sets) for (let i = 0; i < set.length; i += 2) spans.push([set[i], set[i + 1]]);
  spans.sort((a, b) => a[0] - b[0]);
  /** @type {number[]} */
  const merged = [];
  for (const [first, last] of spans) {
    const end = merged.length - 1;
    if (end > 0 && first <= merged[end] + 1) merged[end] = Math.max(merged[end], last);
    else merged.push(first, last);
  }
  return merged;
}

/** @param {Ranges} set @returns {Ranges} what is not in it */
export function complement(set) {
  /** @type {number[]} */
  const rest = [];
  let next = 0;
  for (let i = 0; i < set.length; i += 2) {
    if (next < set[i]) rest.push(next, set[i] - 1);
    next = set[i + 1] + 1;
  }
  if (next <= LAST) rest.push(next, LAST);
  return rest;
}

/** @param {Ranges} a @param {Ranges} b @returns {Ranges} what is in both */
export const intersection = (a, b) => complement(union(complement(a), complement(b)));

/** The first 65,536 are looked up, the few others searched for. @param {Ranges} set @returns {CodePointTest} */
export function createTest(set) {
  const low = new Uint8Array(0x10000);
  for (let i = 0; i < set.length; i += 2) low.fill(1, set[i], set[i + 1] + 1);
  return (codePoint) => (codePoint < 0x10000 ? low[codePoint] === 1 : within(set, codePoint));
}

/** @param {Ranges} set @param {number} codePoint @returns {boolean} */
function within(set, codePoint) {
  let low = 0;
  let high = set.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (codePoint > set[2 * middle + 1]) low = middle + 1;
    else high = middle;
  }
  return 2 * low < set.length && codePoint >= set[2 * low];
}
