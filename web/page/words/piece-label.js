/**
 * Tokens where they stand alone. The library writes a space as a space and a part of a character as its bytes ("<0xE2>"):
 * here spaces become visible, and a part stands with the character it belongs to.
 */

/** @typedef {{ text: string, start: number, end: number, special: boolean }} Piece */

const PART = /(<0x[0-9A-F]{2}>)+/g;
const BYTE = /0x([0-9A-F]{2})/g;
/** How a label shows what cannot be seen. */
export const SPACE = '·';
const SIGNS = new Map([
  [' ', SPACE],
  ['\n', '↵'],
  ['\r', '␍'],
  ['\t', '⇥'],
]);

/** @param {string} text */
const visible = (text) =>
  text.replace(/\s|\p{C}/gu, (char) => {
    const code = /** @type {number} */ (char.codePointAt(0));
    return SIGNS.get(char) ?? `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
  });

/** Whether a piece is text, and not a part of a character. @param {string} text */
export const isWholeText = (text) => text.search(PART) < 0;

/** @param {string} text of a token */
export const pieceLabel = (text) =>
  visible(text).replace(PART, (part) => `‹${[...part.matchAll(BYTE)].map(([, byte]) => byte).join(' ')}›`) || '∅';

/**
 * @param {Piece} token
 * @param {string} text that its place is in; '' where it has none
 */
export function tokenLabel(token, text) {
  const label = pieceLabel(token.text);
  if (token.special || isWholeText(token.text)) return label;
  const whole = text.slice(token.start, token.end).trim();
  return whole === '' || whole.includes('\ufffd') ? label : `${whole} ${label}`;
}
