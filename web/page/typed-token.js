/** What a text becomes when one of the tokens that the model's head proposes is taken into it. */
import { isWholeText } from './words/piece-label.js';

/**
 * @param {string} piece
 * @param {object} at
 * @param {import('./picture.js').Picture} at.picture
 * @param {number} at.row the chosen token
 * @param {string} at.text that was given
 * @param {{ tokens: import('qkv').NewToken[] }} at.generated behind the text
 * @returns {string | null} null where there is no text that could be added
 */
export function added(piece, { picture, row, text, generated }) {
  if (!isWholeText(piece)) return null;
  if (!picture.shape.causal) return filled(picture, row, text, piece);
  return textUpTo(picture, row, text, generated.tokens) + piece;
}

/**
 * A decoder's proposal follows the chosen token: what comes after that one makes room.
 * @param {import('./picture.js').Picture} picture
 * @param {number} row
 * @param {string} text
 * @param {import('qkv').NewToken[]} generated
 */
function textUpTo({ tokens, prompt }, row, text, generated) {
  if (row >= prompt)
    return (
      text +
      generated
        .slice(0, row - prompt + 1)
        .map((token) => token.text)
        .join('')
    );
  return row === prompt - 1 ? text : text.slice(0, tokens[row].end);
}

/** @param {import('./picture.js').Picture} picture  @param {number} row  @param {string} text  @param {string} piece */
function filled(picture, row, text, piece) {
  const { start, end } = picture.tokens[picture.positionOf(row)];
  if (start === end) return null;
  const word = piece.replace(/^##/, '');
  const hasSpace = start === 0 || /\s$/.test(text.slice(0, start));
  return text.slice(0, start) + (hasSpace ? word.trimStart() : word) + text.slice(end);
}
