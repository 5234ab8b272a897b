/**
 * The alphabet of byte-level vocabularies: each byte is a character that can be printed. Printable Latin-1 stands for
 * itself, the other 68 bytes for U+0100 and following ("Ġ" is the space). From GPT-2 (Radford et al., 2019).
 */
import { createBuilder } from './aligned_text.js';

/** @typedef {import('./aligned_text.js').AlignedText} AlignedText */

/** @type {string[]} byte to character */
const CHARS = [];
/** @type {Map<string, number>} */
const BYTES = new Map();
let extra = 0x100;
for (let byte = 0; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  CHARS.push(String.fromCharCode(printable ? byte : extra++));
  BYTES.set(CHARS[byte], byte);
}

/** @param {AlignedText} source @returns {AlignedText} its UTF-8 bytes; each has the place of its character */
export function toByteChars({ text, starts, ends }) {
  const result = createBuilder();
  for (let at = 0; at < text.length; ) {
    const point = /** @type {number} */ (text.codePointAt(at));
    result.push(byteCharsOf(point), starts[at], ends[at]);
    at += point > 0xffff ? 2 : 1;
  }
  return result.done();
}

/** @param {number} point a code point @returns {string} a character for each byte of its UTF-8 */
export function byteCharsOf(point) {
  if (point < 0x80) return CHARS[point];
  const last = CHARS[0x80 | (point & 0x3f)];
  if (point < 0x800) return CHARS[0xc0 | (point >> 6)] + last;
  const third = CHARS[0x80 | ((point >> 6) & 0x3f)];
  if (point < 0x10000) return CHARS[0xe0 | (point >> 12)] + third + last;
  return CHARS[0xf0 | (point >> 18)] + CHARS[0x80 | ((point >> 12) & 0x3f)] + third + last;
}

/** @param {string} piece @returns {number[] | null} null when it is not written in the alphabet */
export function bytesOfChars(piece) {
  /** @type {number[]} */
  const bytes = [];
  for (const char of piece) {
    const byte = BYTES.get(char);
    if (byte === undefined) return null;
    bytes.push(byte);
  }
  return bytes;
}

/** @param {string} piece "<0x0A>" @returns {number} the byte it is, or -1 */
export const byteOfPiece = (piece) =>
  /^<0x[0-9A-Fa-f]{2}>$/.test(piece) ? Number.parseInt(piece.slice(3, 5), 16) : -1;

/** @param {number} byte @returns {string} "<0x0A>" */
export const pieceOfByte = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
