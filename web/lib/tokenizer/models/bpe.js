/**
 * Byte-pair encoding: a word starts as single characters, and the neighbours that come first in the merge list are joined
 * until none are left (Sennrich et al., 2016). The next pair is kept in a heap and the symbols in a linked list, so that
 * a word of n characters takes n log n steps, however long.
 */
import { pieceOfByte } from '../text/byte_level.js';
import { createPairTable } from './pair_table.js';

/** @typedef {import('./wordpiece.js').CutWord} CutWord */

/**
 * @typedef {object} BpeModel
 * @property {Map<string, number>} ids
 * @property {Int32Array} merges three numbers each: the two that are joined and what they become, the most urgent first
 * @property {number | null} unknown null: what the vocabulary does not have is left out
 * @property {boolean} byteFallback spell such characters as bytes, "<0xE2>"
 * @property {boolean} fuseUnknown several in a row are one token
 * @property {boolean} ignoreMerges a word that is in the vocabulary is taken whole
 * @property {string} prefix of characters that continue a word
 * @property {string} suffix of the last character of a word
 */

const NONE = -1;
/** Steps to spell one symbol, and to take one pair from the heap. */
const SYMBOL_WORK = 16;
const MERGE_WORK = 32;
/** Places in a heap entry; a rank is the entry divided by it. */
const PLACES = 2 ** 26;

/** @param {BpeModel} model @returns {CutWord} */
export function createBpe(model) {
  const { ids, merges, ignoreMerges } = model;
  const spell = createSpelling(model);
  const count = merges.length / 3;
  const ranks = createPairTable(count);
  for (let rank = 0; rank < count; rank++) ranks.set(merges[3 * rank], merges[3 * rank + 1], rank);

  return (word, onPiece, { work }) => {
    work(SYMBOL_WORK + word.length);
    const whole = ignoreMerges ? ids.get(word) : undefined;
    if (whole !== undefined) {
      onPiece(whole, 0, word.length);
      return;
    }
    const symbols = spell(word);
    work(SYMBOL_WORK * symbols.ids.length);
    mergeAll(symbols, ranks, merges, work);
    for (let at = 0; at < symbols.ids.length; at = symbols.next[at]) {
      onPiece(symbols.ids[at], symbols.starts[at], symbols.ends[at]);
    }
  };
}

/**
 * A word as a linked list: `next` and `previous` are places in it; a symbol that was joined to the one before has id -1.
 * @typedef {{ ids: number[], starts: number[], ends: number[], next: number[], previous: number[] }} Symbols
 */

/** @param {BpeModel} model @returns {(word: string) => Symbols} a word in single characters */
function createSpelling({ ids, unknown, byteFallback, fuseUnknown, prefix, suffix }) {
  const encoder = new TextEncoder();
  const byteIds = Array.from({ length: 256 }, (_, byte) => ids.get(pieceOfByte(byte)) ?? NONE);

  return (word) => {
    /** @type {Symbols} */
    const symbols = { ids: [], starts: [], ends: [], next: [], previous: [] };
    /** @param {number} id @param {number} start @param {number} end */
    const add = (id, start, end) => {
      symbols.previous.push(symbols.ids.length - 1);
      symbols.ids.push(id);
      symbols.starts.push(start);
      symbols.ends.push(end);
      symbols.next.push(symbols.ids.length);
    };
    let unknownStart = NONE;
    let unknownEnd = NONE;
    const addUnknown = () => {
      if (unknownStart !== NONE) add(/** @type {number} */ (unknown), unknownStart, unknownEnd);
      unknownStart = NONE;
    };
    let at = 0;
    for (const char of word) {
      const end = at + char.length;
      const piece = (at > 0 ? prefix : '') + char + (end === word.length ? suffix : '');
      const id = ids.get(piece);
      if (id !== undefined) {
        addUnknown();
        add(id, at, end);
      } else {
        const bytes = byteFallback ? Array.from(encoder.encode(piece), (byte) => byteIds[byte]) : [NONE];
        if (!bytes.includes(NONE)) {
          for (const byte of bytes) add(byte, at, end);
        } else if (unknown !== null) {
          if (!fuseUnknown) addUnknown();
          if (unknownStart === NONE) unknownStart = at;
          unknownEnd = end;
        }
      }
      at = end;
    }
    addUnknown();
    return symbols;
  };
}

/**
 * @param {Symbols} symbols joined in place
 * @param {import('./pair_table.js').PairTable} ranks
 * @param {Int32Array} merges
 * @param {import('../text/aligned_text.js').Budget['work']} work
 */
function mergeAll(symbols, ranks, merges, work) {
  const { ids, ends, next, previous } = symbols;
  /** @type {number[]} entries rank * PLACES + place of the left symbol, the smallest first */
  const heap = [];
  /** @param {number} left */
  const offer = (left) => {
    const right = left < 0 ? ids.length : next[left];
    const rank = right < ids.length ? ranks.get(ids[left], ids[right]) : NONE;
    if (rank !== NONE) pushHeap(heap, rank * PLACES + left);
  };
  for (let left = 0; left + 1 < ids.length; left++) offer(left);

  while (heap.length > 0) {
    work(MERGE_WORK);
    const entry = popHeap(heap);
    const rank = Math.floor(entry / PLACES);
    const left = entry - rank * PLACES;
    const right = ids[left] === NONE ? ids.length : next[left];
    if (right >= ids.length) continue;
    // The pair may have changed since; it still counts when it would become the same symbol.
    const now = ranks.get(ids[left], ids[right]);
    if (now === NONE || merges[3 * now + 2] !== merges[3 * rank + 2]) continue;
    ids[left] = merges[3 * rank + 2];
    ends[left] = ends[right];
    ids[right] = NONE;
    next[left] = next[right];
    if (next[left] < ids.length) previous[next[left]] = left;
    offer(previous[left]);
    offer(left);
  }
}

/** @param {number[]} heap @param {number} entry */
function pushHeap(heap, entry) {
  let at = heap.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent] <= entry) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = entry;
}

/** @param {number[]} heap not empty @returns {number} the smallest entry */
function popHeap(heap) {
  const top = heap[0];
  const entry = /** @type {number} */ (heap.pop());
  const { length } = heap;
  let at = 0;
  while (length > 0) {
    let child = 2 * at + 1;
    if (child + 1 < length && heap[child + 1] < heap[child]) child++;
    if (child >= length || heap[child] >= entry) break;
    heap[at] = heap[child];
    at = child;
  }
  if (length > 0) heap[at] = entry;
  return top;
}
