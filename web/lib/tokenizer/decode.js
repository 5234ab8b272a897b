/** Ids back to text, at once or one by one, and what a person reads of a single token. */
import { byteOfPiece, bytesOfChars, pieceOfByte } from './text/byte_level.js';

/** @typedef {import('./read/read_decoder.js').Decoder} Decoder */
/** @typedef {{ special?: boolean }} DecodeOptions special: keep special tokens */
/**
 * early: what byte pieces make is told when a character is complete. Without it a run of byte pieces is told when it ends,
 * because bytes that are no UTF-8 spoil the whole run; only then the parts are the text of `decode`.
 * @typedef {DecodeOptions & { early?: boolean }} StreamOptions
 */
/** @typedef {{ push: (id: number) => string, end: () => string }} TextStream */

/**
 * @param {Decoder} decoder
 * @param {(id: number) => string | undefined} pieceOf undefined: there is no such piece, nothing is shown for it
 * @param {(id: number) => boolean} isSpecial
 */
export function createDecode({ steps }, pieceOf, isSpecial) {
  /** @param {Iterable<number>} ids @param {boolean} special @returns {string[]} */
  const piecesOf = (ids, special) => {
    /** @type {string[]} */
    const pieces = [];
    for (const id of ids) {
      const piece = pieceOf(id);
      if (piece !== undefined && (special || !isSpecial(id))) pieces.push(piece);
    }
    return pieces;
  };

  return {
    /** @param {Iterable<number>} ids @param {DecodeOptions} [options] @returns {string} */
    decode: (ids, { special = false } = {}) =>
      steps.reduce((pieces, step) => step.all(pieces), piecesOf(ids, special)).join(''),

    /**
     * Text of tokens that come one by one: each call gives what has become complete. Bytes of a character that is not
     * complete are kept; `end` shows them as U+FFFD.
     * @param {StreamOptions} [options]
     * @returns {TextStream}
     */
    openText({ special = false, early = false } = {}) {
      let joined = false;
      const streams = steps.map((step) => {
        const stream = step.open(joined, early);
        joined ||= step.joins;
        return stream;
      });
      return {
        push: (id) => streams.reduce((pieces, stream) => stream.push(pieces), piecesOf([id], special)).join(''),
        end: () => {
          /** @type {string[]} */
          let pieces = [];
          for (const stream of streams) pieces = [...stream.push(pieces), ...stream.end()];
          return pieces.join('');
        },
      };
    },
  };
}

/**
 * What a person reads of one piece: spaces as spaces, bytes as the characters they are, a part of a character as bytes
 * ("<0xE2>").
 * @param {Decoder} decoder
 * @returns {(piece: string) => string}
 */
export function createReadable({ bytes, spaceMark }) {
  return (piece) => {
    if (bytes) {
      const own = bytesOfChars(piece);
      return own === null ? piece : readBytes(own);
    }
    if (spaceMark === null) return piece;
    const byte = byteOfPiece(piece);
    return byte >= 0 ? readBytes([byte]) : piece.replaceAll(spaceMark, ' ');
  };
}

/** @param {number[]} bytes @returns {string} */
function readBytes(bytes) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at];
    const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      text += decoder.decode(Uint8Array.from(bytes.slice(at, at + size)));
      at += size;
    } catch {
      text += pieceOfByte(lead);
      at++;
    }
  }
  return text;
}
