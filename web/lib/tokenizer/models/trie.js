/**
 * Words as a tree of UTF-16 units: following a text through it finds all words that start at one place. The edges are in
 * a hash table of pairs (node, unit), which takes a fraction of the memory of a Map in each node.
 */
import { createPairTable } from './pair_table.js';

/**
 * @typedef {object} Trie node 0 is the root
 * @property {(node: number, unit: number) => number} child -1 when there is none
 * @property {(node: number) => number} valueOf -1 where no word ends
 */

/** Steps to follow one edge. */
export const TRIE_WORK = 4;

/** @param {ReadonlyMap<string, number>} words @returns {Trie} */
export function createTrie(words) {
  let units = 0;
  for (const word of words.keys()) units += word.length;
  const edges = createPairTable(units);
  const values = new Int32Array(units + 1).fill(-1);
  let nodes = 1;
  for (const [word, value] of words) {
    let node = 0;
    for (let i = 0; i < word.length; i++) {
      let child = edges.get(node, word.charCodeAt(i));
      if (child === -1) {
        child = nodes++;
        edges.set(node, word.charCodeAt(i), child);
      }
      node = child;
    }
    if (node !== 0) values[node] = value;
  }
  return { child: edges.get, valueOf: (node) => values[node] };
}
