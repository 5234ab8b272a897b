/**
 * Unigram language model (Kudo, 2018): of all ways to cut a word into pieces the one with the largest sum of scores,
 * found by Viterbi's algorithm over a trie of the pieces. A character that no piece spells costs ten more than the rarest
 * piece; such characters in a row are one unknown token, or their bytes.
 */
import { sizeAt } from '../text/aligned_text.js';
import { pieceOfByte } from '../text/byte_level.js';
import { createTrie, TRIE_WORK } from './trie.js';

/** @typedef {import('./wordpiece.js').CutWord} CutWord */
/** @typedef {import('./wordpiece.js').OnPiece} OnPiece */

/**
 * @typedef {object} UnigramModel
 * @property {readonly (readonly [string, number])[]} pieces by id, each with its score
 * @property {number} unknown
 * @property {boolean} byteFallback
 */

const UNKNOWN_PENALTY = 10;
const NONE = -1;
const UNIT_WORK = 8;

/** @param {UnigramModel} model @returns {CutWord} */
export function createUnigram({ pieces, unknown, byteFallback }) {
  const ids = new Map(pieces.map(([piece], id) => [piece, id]));
  const trie = createTrie(ids);
  const scores = Float64Array.from(pieces, ([, score]) => score);
  const unknownScore = scores.reduce((least, score) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY;
  const encoder = new TextEncoder();
  const byteIds = Array.from({ length: 256 }, (_, byte) => ids.get(pieceOfByte(byte)) ?? NONE);

  /** Best way to each place of the word: its score, where its last piece starts, and that piece. */
  let best = new Float64Array(0);
  let origins = new Int32Array(0);
  let lasts = new Int32Array(0);

  /** @param {string} word fills the three tables @param {import('../text/aligned_text.js').Budget['work']} work */
  const search = (word, work) => {
    if (best.length <= word.length) {
      const size = Math.max(256, 2 * word.length);
      best = new Float64Array(size);
      origins = new Int32Array(size);
      lasts = new Int32Array(size);
    }
    origins.fill(NONE, 0, word.length + 1);
    best[0] = 0;
    for (let at = 0; at < word.length; ) {
      const size = sizeAt(word, at);
      let single = false;
      let node = trie.child(0, word.charCodeAt(at));
      let end = at + 1;
      for (; node !== NONE; end++) {
        const id = trie.valueOf(node);
        if (id !== NONE) {
          consider(at, end, id, scores[id]);
          single ||= end === at + size;
        }
        node = end < word.length ? trie.child(node, word.charCodeAt(end)) : NONE;
      }
      if (!single) consider(at, at + size, unknown, unknownScore);
      work(UNIT_WORK + TRIE_WORK * (end - at));
      at += size;
    }
  };
  /** @param {number} start @param {number} end @param {number} id @param {number} score */
  const consider = (start, end, id, score) => {
    const sum = score + best[start];
    if (origins[end] !== NONE && sum <= best[end]) return;
    best[end] = sum;
    origins[end] = start;
    lasts[end] = id;
  };

  return (word, onPiece, { work }) => {
    search(word, work);
    /** @type {number[]} from the end: id, start, end */
    const found = [];
    for (let end = word.length; end > 0; end = origins[end]) {
      const length = found.length;
      if (lasts[end] === unknown && length > 0 && found[length - 3] === unknown) found[length - 2] = origins[end];
      else found.push(lasts[end], origins[end], end);
    }
    for (let i = found.length - 3; i >= 0; i -= 3) {
      const [id, start, end] = [found[i], found[i + 1], found[i + 2]];
      if (id === unknown) tellUnknown(word, start, end, onPiece);
      else onPiece(id, start, end);
    }
  };

  /** @param {string} word @param {number} start @param {number} end @param {OnPiece} onPiece */
  function tellUnknown(word, start, end, onPiece) {
    const text = word.slice(start, end);
    const bytes = byteFallback ? Array.from(encoder.encode(text), (byte) => byteIds[byte]) : [NONE];
    // Characters that are unknown one by one may together spell the unknown token's own piece.
    if (ids.has(text) || bytes.includes(NONE)) onPiece(ids.get(text) ?? unknown, start, end);
    else for (const byte of bytes) onPiece(byte, start, end);
  }
}
