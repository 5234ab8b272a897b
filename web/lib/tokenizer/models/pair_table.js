/**
 * A hash table from two small whole numbers to a third, in typed arrays: a merge list has hundreds of thousands of
 * entries, and a Map of them would need an object for each. Open addressing, at most half full.
 */

/**
 * @typedef {object} PairTable
 * @property {(first: number, second: number) => number} get -1 when it is not there
 * @property {(first: number, second: number, value: number) => void} set
 */

/** @param {number} entries how many there will be at most @returns {PairTable} */
export function createPairTable(entries) {
  let size = 16;
  while (size < 2 * entries) size *= 2;
  const firsts = new Int32Array(size).fill(-1);
  const seconds = new Int32Array(size);
  const values = new Int32Array(size);

  /** @param {number} first @param {number} second @returns {number} where it is or would be */
  const slotOf = (first, second) => {
    let hash = Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let slot = (hash ^ (hash >>> 13)) & (size - 1);
    while (firsts[slot] !== -1 && (firsts[slot] !== first || seconds[slot] !== second)) slot = (slot + 1) & (size - 1);
    return slot;
  };

  return {
    get(first, second) {
      const slot = slotOf(first, second);
      return firsts[slot] === -1 ? -1 : values[slot];
    },
    set(first, second, value) {
      const slot = slotOf(first, second);
      firsts[slot] = first;
      seconds[slot] = second;
      values[slot] = value;
    },
  };
}
