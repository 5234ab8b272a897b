/** WordLevel: a word is in the vocabulary as a whole, or it is the unknown token. */
import { QkvError } from '../../checks/errors.js';

const WORD_WORK = 16;

/**
 * @param {{ ids: ReadonlyMap<string, number>, unknown: number | null }} model unknown null: there is no such token
 * @returns {import('./wordpiece.js').CutWord}
 */
export function createWordLevel({ ids, unknown }) {
  return (word, onPiece, { work }) => {
    work(WORD_WORK);
    const id = ids.get(word) ?? unknown;
    if (id !== null) {
      onPiece(id, 0, word.length);
      return;
    }
    const want = 'a word of the vocabulary, which has no unknown token';
    throw new QkvError('text', 'A word of the text', { got: word, want });
  };
}
