/**
 * The steps of a decoder. Each works on a list of pieces, in two ways: on all at once, as the Rust package does, and as
 * they come, for text that is generated. Together the parts of a stream are the text decoded at once. For that a run of
 * byte pieces is kept until it ends, since a byte that is no UTF-8 spoils the whole run, characters before it included.
 */
import { byteOfPiece, bytesOfChars } from '../text/byte_level.js';

/** @typedef {import('../pattern/pattern.js').Finder} Finder */
/**
 * @typedef {object} Stream
 * @property {(pieces: string[]) => string[]} push
 * @property {() => string[]} end
 */
/**
 * @typedef {object} DecoderStep
 * @property {(pieces: string[]) => string[]} all
 * @property {(joined: boolean, early: boolean) => Stream} open joined: the pieces that come are parts of one piece, cut
 * anywhere; early: a byte piece's character is shown when it is complete, whatever may come behind it
 * @property {boolean} joins whether it makes one piece of all
 */

const BAD = '\ufffd';
const encoder = new TextEncoder();
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

/** @param {(piece: string, first: boolean) => string} map @returns {DecoderStep} each piece by itself */
function pieceByPiece(map) {
  return {
    all: (pieces) => pieces.map((piece, i) => map(piece, i === 0)),
    open: () => {
      let first = true;
      return {
        push: (pieces) =>
          pieces.map((piece) => {
            const mapped = map(piece, first);
            first = false;
            return mapped;
          }),
        end: () => [],
      };
    },
    joins: false,
  };
}

/** No decoder: spaces between the pieces. @type {DecoderStep} */
export const spacedStep = pieceByPiece((piece, first) => (first ? piece : ` ${piece}`));

/** @param {string} mark @param {boolean} strip the first piece's mark was put there @returns {DecoderStep} */
export const metaspaceStep = (mark, strip) =>
  pieceByPiece((piece, first) => piece.replaceAll(mark, first && strip ? '' : ' '));

/** What cleanup joins to the word before it, in this order. */
const CLEANED = [
  [' .', '.'],
  [' ?', '?'],
  [' !', '!'],
  [' ,', ','],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [' do not', " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

/** @param {string} prefix @param {boolean} cleanup @returns {DecoderStep} */
export const wordPieceStep = (prefix, cleanup) =>
  pieceByPiece((piece, first) => {
    let text = piece;
    if (!first) text = piece.startsWith(prefix) ? piece.slice(prefix.length) : ` ${piece}`;
    if (cleanup) for (const [before, after] of CLEANED) text = text.replaceAll(before, after);
    return text;
  });

/** Pieces in the byte-level alphabet; one that is not is its own UTF-8. @param {string[]} pieces @returns {Uint8Array} */
const bytesOf = (pieces) => Uint8Array.from(pieces.flatMap((p) => bytesOfChars(p) ?? Array.from(encoder.encode(p))));

/** @type {DecoderStep} */
export const byteLevelStep = {
  all: (pieces) => [newDecoder().decode(bytesOf(pieces))],
  open: () => {
    const decoder = newDecoder();
    return { push: (pieces) => [decoder.decode(bytesOf(pieces), { stream: true })], end: () => [decoder.decode()] };
  },
  joins: true,
};

/** @type {DecoderStep} */
export const fuseStep = {
  all: (pieces) => [pieces.join('')],
  open: () => ({ push: (pieces) => pieces, end: () => [] }),
  joins: true,
};

/** "<0xE2>" and its neighbours of that kind are one text. @type {DecoderStep} */
export const byteFallbackStep = {
  all: (pieces) => {
    const stream = openByteFallback();
    return [...stream.push(pieces), ...stream.end()];
  },
  open: (_joined, early) => (early ? openEarlyBytes() : openByteFallback()),
  joins: false,
};

/** @returns {Stream} */
function openByteFallback() {
  /** @type {number[]} */
  let run = [];
  const flush = () => {
    const text = run.length > 0 ? runOf(run) : [];
    run = [];
    return text;
  };
  return {
    push: (pieces) =>
      pieces.flatMap((piece) => {
        const byte = byteOfPiece(piece);
        if (byte < 0) return [...flush(), piece];
        run.push(byte);
        return [];
      }),
    end: flush,
  };
}

/** @param {number[]} bytes @returns {string[]} the text, or a sign of trouble for each byte */
function runOf(bytes) {
  try {
    return [new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))];
  } catch {
    return bytes.map(() => BAD);
  }
}

/** @returns {Stream} */
function openEarlyBytes() {
  /** @type {number[]} bytes of a character that is not complete */
  let pending = [];
  const flush = () => {
    const bad = pending.map(() => BAD);
    pending = [];
    return bad;
  };
  /** @param {number} byte @returns {string[]} */
  const pushByte = (byte) => {
    const continues = byte >= 0x80 && byte < 0xc0;
    const before = continues ? [] : flush();
    pending.push(byte);
    const lead = pending[0];
    const wanted = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (pending.length < wanted) return before;
    const complete = pending;
    pending = [];
    return [...before, ...runOf(complete)];
  };
  return {
    push: (pieces) =>
      pieces.flatMap((piece) => {
        const byte = byteOfPiece(piece);
        return byte >= 0 ? pushByte(byte) : [...flush(), piece];
      }),
    end: flush,
  };
}

/** @param {Finder} find @param {string} content @param {boolean} local it finds single units only @returns {DecoderStep} */
export function replaceStep(find, content, local) {
  const step = pieceByPiece((piece) => {
    let text = '';
    let done = 0;
    find(piece, 0, piece.length, (start, end) => {
      text += piece.slice(done, start) + content;
      done = end;
    });
    return text + piece.slice(done);
  });
  return {
    ...step,
    open: (joined, early) => (joined && !local && !early ? openWhole(step.all) : step.open(false, early)),
  };
}

/** Where a find may lie across two parts, all of them are kept until the end. @param {DecoderStep['all']} all @returns {Stream} */
function openWhole(all) {
  /** @type {string[]} */
  const parts = [];
  return {
    push: (pieces) => {
      parts.push(...pieces);
      return [];
    },
    end: () => all([parts.splice(0).join('')]),
  };
}

/** @param {string} content @param {number} start @param {number} stop how many at most, at each end @returns {DecoderStep} */
export function stripStep(content, start, stop) {
  const step = pieceByPiece((piece) => {
    const chars = Array.from(piece);
    let from = 0;
    let to = chars.length;
    while (from < start && chars[from] === content) from++;
    while (to > from && chars.length - to < stop && chars[to - 1] === content) to--;
    return chars.slice(from, to).join('');
  });
  return { ...step, open: (joined, early) => (joined ? openStrip(content, start, stop) : step.open(false, early)) };
}

/** @param {string} content @param {number} start @param {number} stop @returns {Stream} */
function openStrip(content, start, stop) {
  let left = start;
  let held = 0;
  return {
    push: (pieces) => {
      let text = '';
      for (const char of pieces.join('')) {
        if (char === content && left > 0) left--;
        else if (char === content && stop > 0) held++;
        else {
          text += content.repeat(held) + char;
          held = 0;
        }
        if (char !== content) left = 0;
      }
      const over = Math.max(0, held - stop);
      held -= over;
      return [text + content.repeat(over)];
    },
    end: () => [],
  };
}
