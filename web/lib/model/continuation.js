/** The text of generated tokens. A token may hold part of a character's bytes: its text comes with the token that completes
 * the character, and all tokens of the character share its place.
 *
 * Places (start, end) count UTF-16 units in the prompt followed by the generated text; behind a pair the second text counts
 * as the prompt, and bare ids as an empty one. Special tokens, and ids without a piece, are empty and belong to no word. A word begins at white
 * space and where letters, digits and other characters meet. */

/** @typedef {import('./input.js').Prompt} Prompt */
/** @typedef {import('./input.js').Token} Token */
/** @typedef {import('./input.js').Tokenizer} Tokenizer */
/** @typedef {ReturnType<typeof createContinuation>} Continuation */

/**
 * @param {Prompt} prompt
 * @param {Tokenizer | null} tokenizer
 */
export function createContinuation({ tokens: given, ids, text: prompt }, tokenizer) {
  const { segment } = given[given.length - 1];
  const decoder = tokenizer?.openText() ?? null;
  // Whether a piece begins with a space may depend on what stands before it.
  for (const id of ids) decoder?.push(id);
  /** @type {Token[]} */
  const tokens = [];
  /** @type {Token[]} */
  let incomplete = [];
  let text = '';
  /** Alone, since asking the whole text for it would make it anew for each token. */
  let last = prompt.at(-1);
  let word = given.findLast((token) => token.word !== null && token.segment === segment)?.word ?? -1;

  /** @param {string} piece the text that became complete */
  function place(piece) {
    const start = prompt.length + text.length;
    if (startsWord(last, piece)) word++;
    const first = String.fromCodePoint(piece.codePointAt(0) ?? 0).length;
    for (const token of incomplete) Object.assign(token, { word, start, end: start + first });
    const token = incomplete.at(-1);
    if (token) token.end = start + piece.length;
    incomplete = [];
    text += piece;
    last = piece.at(-1);
  }

  return {
    /**
     * @param {number} id
     * @param {boolean} isLast no token follows that could complete a character
     * @returns {string} the text that became complete
     */
    add(id, isLast) {
      const special = tokenizer?.isSpecial(id) ?? false;
      const end = prompt.length + text.length;
      /** @type {Token} */
      const token = {
        id,
        text: tokenizer?.textOf(id) ?? `#${id}`,
        word: null,
        start: end,
        end,
        special,
        segment,
        sequence: 0,
        side: 'source',
      };
      tokens.push(token);
      if (!decoder) return '';
      const own = decoder.push(id);
      // Special tokens, and ids that the vocabulary has no piece for, are nothing by themselves.
      if (own !== '' || tokenizer?.decode([id])) incomplete.push(token);
      const piece = own + (isLast ? decoder.end() : '');
      if (piece !== '') place(piece);
      return piece;
    },

    tokens,
    /** Null without a tokenizer. */
    text: () => (decoder ? text : null),
  };
}

/**
 * @param {string | undefined} last the unit in front of it
 * @param {string} piece not empty
 */
function startsWord(last, piece) {
  if (last === undefined || /^\s/.test(piece)) return true;
  // A space belongs to what follows it.
  return last !== ' ' && classOf(last) !== classOf(piece);
}

/** @param {string} text begins with the character asked for */
function classOf(text) {
  if (/^[\p{L}\p{M}\ud800-\udfff]/u.test(text)) return 'letter';
  return /^\p{N}/u.test(text) ? 'digit' : 'other';
}
