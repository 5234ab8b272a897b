/** The text of generated tokens. A token may hold part of a character's bytes: its text comes with the token that completes
 * the character, and all tokens of the character share its place. Where bytes have pieces of their own, their text is told
 * when a piece of another kind follows, since until then a byte that fits to nothing would spoil all of it; their places
 * are those of the characters that they seemed to be.
 *
 * Places (start, end) count UTF-16 units in the prompt followed by the generated text; behind a pair the second text counts
 * as the prompt, and bare ids as an empty one. Special tokens, and ids without a piece, are empty and belong to no word. A
 * word begins at white space and where letters, digits and other characters meet. */

/** @typedef {import('./input.js').Prompt} Prompt */
/** @typedef {import('./input.js').Token} Token */
/** @typedef {import('./input.js').Tokenizer} Tokenizer */
/** @typedef {ReturnType<typeof createContinuation>} Continuation */

const BAD = '\ufffd';

/**
 * @param {Prompt} prompt
 * @param {Tokenizer | null} tokenizer
 */
export function createContinuation(prompt, tokenizer) {
  const { tokens: given, text: before } = prompt;
  const { segment } = given[given.length - 1];
  const streams = tokenizer && openBehind(prompt.ids, tokenizer);
  const places = createPlaces(prompt);
  /** @type {Token[]} */
  const tokens = [];
  let text = '';

  /** @param {string} told */
  function settle(told) {
    if (told !== '') places.settle(told);
    text += told;
    return told;
  }

  return {
    /**
     * @param {number} id
     * @param {boolean} isLast no token follows that could complete a character
     * @returns {string} the text that became complete
     */
    add(id, isLast) {
      /** @type {Token} */
      const token = {
        id,
        text: tokenizer?.textOf(id) ?? `#${id}`,
        word: null,
        start: before.length,
        end: before.length,
        special: tokenizer?.isSpecial(id) ?? false,
        segment,
        sequence: 0,
        side: 'source',
      };
      tokens.push(token);
      if (!streams) return '';
      const [told, early] = streams.map((stream) => stream.push(id) + (isLast ? stream.end() : ''));
      // Special tokens, and ids that the vocabulary has no piece for, are nothing by themselves.
      places.add(token, early, early === '' && !tokenizer?.decode([id]));
      return settle(told);
    },

    /** Characters that are complete and not told, where nothing has spoiled them so far. */
    ahead: () => (places.ahead().includes(BAD) ? '' : places.ahead()),

    /** No token follows. @returns {string} what is left of the text */
    end: () => settle(streams?.[0].end() ?? ''),

    /** Places beyond the text, where it ends before its last tokens do. @param {number} length of the text */
    cut(length) {
      const end = before.length + length;
      for (const token of tokens) {
        token.start = Math.min(token.start, end);
        token.end = Math.min(token.end, end);
      }
    },

    tokens,
    /** Null without a tokenizer. */
    text: () => (streams ? text : null),
  };
}

/**
 * Two streams of the text behind the prompt: what is told, and each character as soon as it is complete. They have heard the
 * prompt, for whether a piece begins with a space may depend on what stands before it; what it says is not part of theirs.
 * @param {Int32Array} ids
 * @param {Tokenizer} tokenizer
 */
function openBehind(ids, tokenizer) {
  const told = tokenizer.openText();
  const early = tokenizer.openText({ early: true });
  let complete = 0;
  for (const [index, id] of ids.entries()) if (early.push(id) !== '') complete = index + 1;
  for (const id of ids.subarray(0, complete)) told.push(id);
  told.end();
  for (const id of ids.subarray(complete)) told.push(id);
  return [told, early];
}

/**
 * Where tokens stand in the text.
 * @param {Prompt} prompt
 */
function createPlaces({ tokens: given, text: prompt }) {
  const { segment } = given[given.length - 1];
  /** Tokens behind the text that is told. @type {{ token: Token, isEmpty: boolean }[]} */
  let untold = [];
  /** Tokens of a character that is not complete. @type {Token[]} */
  let incomplete = [];
  /** Where the text that is told ends, and the characters behind it that are complete. */
  let settled = prompt.length;
  let ahead = '';
  /** Alone, since asking the whole text for it would make it anew for each token. */
  let last = prompt.at(-1);
  let word = given.findLast((token) => token.word !== null && token.segment === segment)?.word ?? -1;

  /** @param {string} piece the text that became complete */
  function place(piece) {
    const start = settled + ahead.length;
    if (startsWord(last, piece)) word++;
    const first = String.fromCodePoint(piece.codePointAt(0) ?? 0).length;
    for (const token of incomplete) Object.assign(token, { word, start, end: start + first });
    const token = incomplete.at(-1);
    if (token) token.end = start + piece.length;
    incomplete = [];
    ahead += piece;
    last = piece.at(-1);
  }

  /** Bytes that are no text: a sign for each of them, and the rest is that of the last token. @param {string} text */
  function spread(text) {
    const end = settled + text.length;
    let at = settled;
    for (const { token, isEmpty } of untold) {
      Object.assign(token, { start: at, end: isEmpty ? at : Math.min(at + 1, end) });
      at = token.end;
    }
    const final = untold.findLast(({ isEmpty }) => !isEmpty);
    if (final) final.token.end = end;
    incomplete = [];
  }

  return {
    /**
     * @param {Token} token
     * @param {string} piece the characters that it completes
     * @param {boolean} isEmpty
     */
    add(token, piece, isEmpty) {
      token.start = settled + ahead.length;
      token.end = token.start;
      untold.push({ token, isEmpty });
      if (!isEmpty) incomplete.push(token);
      if (piece !== '') place(piece);
    },

    ahead: () => ahead,

    /** @param {string} text of all that was added since the last time */
    settle(text) {
      if (text !== ahead) spread(text);
      settled += text.length;
      ahead = '';
      untold = [];
      last = text.at(-1);
    },
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
