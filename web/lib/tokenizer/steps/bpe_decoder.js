/** BPEDecoder: the suffix that ends a word becomes a space, and nothing at the end of the text. */

/** @typedef {import('./decoder_steps.js').DecoderStep} DecoderStep */

/** @param {string} suffix not empty @returns {DecoderStep} */
export function suffixStep(suffix) {
  return {
    all: (pieces) => pieces.map((piece, i) => piece.replaceAll(suffix, i === pieces.length - 1 ? '' : ' ')),
    open: (joined) => (joined ? openWhole(suffix) : openPieces(suffix)),
    joins: false,
  };
}

/** The last piece is kept until it is known that it is the last. @param {string} suffix @returns {import('./decoder_steps.js').Stream} */
function openPieces(suffix) {
  /** @type {string[]} */
  let held = [];
  return {
    push(pieces) {
      const all = [...held, ...pieces];
      held = all.slice(-1);
      return all.slice(0, -1).map((piece) => piece.replaceAll(suffix, ' '));
    },
    end: () => held.map((piece) => piece.replaceAll(suffix, '')),
  };
}

/** What comes is one piece, cut anywhere: the suffix may be cut as well. @param {string} suffix @returns {import('./decoder_steps.js').Stream} */
function openWhole(suffix) {
  let text = '';
  return {
    push(pieces) {
      text += pieces.join('');
      return [];
    },
    end: () => [text.replaceAll(suffix, '')],
  };
}
