/**
 * WordPiece: a word is cut, from the left, into the longest pieces that the vocabulary has; pieces inside a word carry a
 * prefix ("##ing"). A word that cannot be cut completely, or is too long, is the unknown token as a whole.
 *
 * Written here rather than taken from @huggingface/tokenizers: there a megabyte of 99-letter words takes 37 s, because
 * every length of every piece is tried and joined anew; bounded by the longest piece of the vocabulary it is under 2 s.
 */

/**
 * @typedef {object} WordPieceModel
 * @property {Map<string, number>} ids piece (with its prefix) to id
 * @property {number} unknown id of the unknown token
 * @property {string} prefix of pieces that continue a word
 * @property {number} maxChars code points in the longest word that is cut
 */

/** @typedef {(id: number, start: number, end: number) => void} OnPiece offsets in UTF-16 units of the word */

/** @param {string} word @param {number} limit @returns {boolean} */
function longerThan(word, limit) {
  if (word.length <= limit) return false;
  if (word.length > 2 * limit) return true;
  return Array.from(word).length > limit;
}

/**
 * @param {WordPieceModel} model
 * @returns {(word: string, onPiece: OnPiece) => void}
 */
export function createWordPiece({ ids, unknown, prefix, maxChars }) {
  let longest = 0;
  for (const piece of ids.keys()) longest = Math.max(longest, piece.length);
  /** @type {number[]} the pieces of the word at hand, three numbers each; reported only when the whole word is known */
  const found = [];

  return (word, onPiece) => {
    found.length = 0;
    let start = 0;
    while (start < word.length && !(start === 0 && longerThan(word, maxChars))) {
      const end = cut(word, start);
      if (end === start) break;
      start = end;
    }
    if (start < word.length) {
      onPiece(unknown, 0, word.length);
      return;
    }
    for (let i = 0; i < found.length; i += 3) onPiece(found[i], found[i + 1], found[i + 2]);
  };

  /** @param {string} word @param {number} start @returns {number} end of the longest piece, or start if there is none */
  function cut(word, start) {
    const before = start > 0 ? prefix : '';
    for (let end = Math.min(word.length, start + longest - before.length); end > start; end--) {
      // A cut inside a surrogate pair finds nothing: no piece ends in half a character.
      const id = ids.get(before + word.slice(start, end));
      if (id === undefined) continue;
      found.push(id, start, end);
      return end;
    }
    return start;
  }
}
