/**
 * WordPiece: a word is cut, from the left, into the longest pieces that the vocabulary has; pieces inside a word carry a
 * prefix ("##ing"). A word that cannot be cut completely, or is too long, is the unknown token as a whole.
 *
 * Written here rather than taken from @huggingface/tokenizers: there a megabyte of 99-letter words takes 37 s, because
 * every length of every piece is tried and joined anew; along a tree of the pieces each letter costs one step a start.
 */
import { createTrie, TRIE_WORK } from './trie.js';

const WORD_WORK = 16;

/**
 * @typedef {object} WordPieceModel
 * @property {Map<string, number>} ids piece (with its prefix) to id
 * @property {number} unknown id of the unknown token
 * @property {string} prefix of pieces that continue a word
 * @property {number} maxChars code points in the longest word that is cut
 */

/** @typedef {(id: number, start: number, end: number) => void} OnPiece offsets in UTF-16 units of the word */
/** @typedef {(word: string, onPiece: OnPiece, budget: import('../text/aligned_text.js').Budget) => void} CutWord */

/** @param {string} word @param {number} limit @returns {boolean} */
function longerThan(word, limit) {
  if (word.length <= limit) return false;
  if (word.length > 2 * limit) return true;
  return Array.from(word).length > limit;
}

/**
 * @param {WordPieceModel} model
 * @returns {CutWord}
 */
export function createWordPiece({ ids, unknown, prefix, maxChars }) {
  const trie = createTrie(ids);
  const inside = nodeOf(trie, prefix);
  /** @type {number[]} the pieces of the word at hand, three numbers each; reported only when the whole word is known */
  const found = [];

  return (word, onPiece, { work }) => {
    found.length = 0;
    let start = 0;
    work(WORD_WORK);
    while (start < word.length && !(start === 0 && longerThan(word, maxChars))) {
      const end = cut(word, start, work);
      if (end === start) break;
      start = end;
    }
    if (start < word.length) {
      onPiece(unknown, 0, word.length);
      return;
    }
    for (let i = 0; i < found.length; i += 3) onPiece(found[i], found[i + 1], found[i + 2]);
  };

  /**
   * @param {string} word @param {number} start @param {import('../text/aligned_text.js').Budget['work']} work
   * @returns {number} end of the longest piece, or start if there is none
   */
  function cut(word, start, work) {
    let node = start > 0 ? inside : 0;
    let best = -1;
    let end = start;
    // A cut inside a surrogate pair finds nothing: no piece ends in half a character.
    for (let at = start; node !== -1 && at < word.length; at++) {
      node = trie.child(node, word.charCodeAt(at));
      const id = node === -1 ? -1 : trie.valueOf(node);
      if (id !== -1) {
        best = id;
        end = at + 1;
      }
      work(TRIE_WORK);
    }
    if (best !== -1) found.push(best, start, end);
    return end;
  }
}

/** @param {import('./trie.js').Trie} trie @param {string} text @returns {number} -1 when nothing begins so */
function nodeOf(trie, text) {
  let node = 0;
  for (let i = 0; i < text.length && node !== -1; i++) node = trie.child(node, text.charCodeAt(i));
  return node;
}
