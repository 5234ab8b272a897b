/** Makes an input smaller as long as the same comes of it. */
import { bytesOf, jsonValueOf } from './inputs.js';
import { textOf, treeOf } from './json_tree.js';

/** @typedef {(bytes: Uint8Array) => Promise<boolean>} IsSame */

/** Larger ones are left as they are: even to cut them takes too long. */
const LARGEST = 100_000;

/**
 * @param {Uint8Array} bytes
 * @param {boolean} isJson
 * @param {IsSame} isSame
 * @param {number} [tries]
 * @returns {Promise<Uint8Array>}
 */
export async function shrinkInput(bytes, isJson, isSame, tries = 150) {
  if (bytes.length > LARGEST) return bytes;
  const counted = { isSame, left: tries };
  const first = isJson ? await withoutNodes(bytes, counted) : bytes;
  return withoutBytes(first, counted);
}

/** @typedef {{ isSame: IsSame, left: number }} Counted how many more tries there may be */

/** @param {Counted} counted @param {Uint8Array} bytes @returns {Promise<boolean>} */
async function stays(counted, bytes) {
  counted.left--;
  return counted.isSame(bytes);
}

/** Takes parts of the tree away, the largest first. @param {Uint8Array} bytes @param {Counted} counted */
async function withoutNodes(bytes, counted) {
  const value = jsonValueOf(bytes);
  if (typeof value !== 'object' || value === null) return bytes;
  const root = treeOf(value);
  let best = bytes;
  // JSON.parse takes equal keys away, so the text that it makes may come to something else.
  if (!(await stays(counted, bytesOf(textOf(root))))) return bytes;
  /** @param {import('./json_tree.js').Node} node */
  const thin = async (node) => {
    if ('raw' in node) return;
    const list = /** @type {unknown[]} */ ('list' in node ? node.list : node.entries);
    for (let size = list.length; size > 0; size = Math.floor(size / 2)) {
      for (let at = 0; at < list.length && counted.left > 0; ) {
        const taken = list.splice(at, size);
        const smaller = bytesOf(textOf(root));
        if (smaller.length < best.length && (await stays(counted, smaller))) best = smaller;
        else {
          list.splice(at, 0, ...taken);
          at += size;
        }
      }
    }
    for (const child of 'list' in node ? node.list : node.entries.map(([, one]) => one)) await thin(child);
  };
  await thin(root);
  return best;
}

/** Takes runs of bytes away. @param {Uint8Array} bytes @param {Counted} counted */
async function withoutBytes(bytes, counted) {
  let best = bytes;
  for (let size = Math.floor(best.length / 2); size > 0; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && counted.left > 0; ) {
      const smaller = new Uint8Array(Buffer.concat([best.subarray(0, at), best.subarray(at + size)]));
      if (await stays(counted, smaller)) best = smaller;
      else at += size;
    }
  }
  return best;
}
