/** One text to tokens: added tokens are taken out, the rest is normalised, cut into words and these into pieces. */
import { createSplitter } from './added_tokens.js';
import { alignSlice, newBudget, sizeAt, sliceAligned } from './text/aligned_text.js';
import { createTest, readRanges } from './unicode/code_points.js';
import { refusal } from './read/json_checks.js';
import { onePiece } from './text/pieces.js';
import { PATTERN_SPACE } from './unicode/unicode_classes.js';

/** @typedef {import('./added_tokens.js').AddedToken} AddedToken */
/** @typedef {import('./index.js').Token} Token */
/** @typedef {import('./tokenizer_json.js').TokenizerSettings} TokenizerSettings */
/** @typedef {(text: string, limit: number, segment: 0 | 1) => { tokens: Token[], count: number }} Tokenize */

const isSpace = createTest(readRanges(PATTERN_SPACE));
/** A text is compared with the patterns at each of its characters, so these must not be endless. */
const MAX_PATTERN = 512;
/** Steps for a unit of a text that is looked at once, and copied with its place. */
const TEXT_WORK = 4;
/** A space in the byte-level alphabet. */
const BYTE_SPACE = 'Ġ';

/**
 * @param {TokenizerSettings} settings
 * @param {(id: number) => string} textOf
 * @param {(id: number) => boolean} isSpecial
 * @param {(id: number) => string} pieceOf
 * @param {(units: number) => import('./text/aligned_text.js').Budget} [openBudget] for a text of that length
 * @returns {Tokenize}
 */
export function createTokenize(settings, textOf, isSpecial, pieceOf, openBudget = newBudget) {
  const { model, normalize, preTokenize, added, template } = settings;
  const addedBudget = openBudget(added.reduce((units, { content }) => units + content.length, 0));
  /** @param {AddedToken} token */
  const normal = ({ content }) => {
    const { text } = normalize(alignSlice(content, 0, content.length), addedBudget);
    if (text.length <= MAX_PATTERN) return text;
    const key = `the added token ${content}, normalised`;
    throw refusal(key, `${text.length} characters`, `at most ${MAX_PATTERN}`);
  };
  const splitRaw = createSplitter(added.filter((t) => !t.normalized).map((t) => [t.content, t]));
  const splitNormal = createSplitter(added.filter((t) => t.normalized).map((t) => [normal(t), t]));
  const trim = createTrim(template.trims);

  return (text, limit, segment) => {
    const whole = wellFormed(text);
    const budget = openBudget(whole.length);
    budget.work(TEXT_WORK * whole.length);
    /** @type {Token[]} */
    const tokens = [];
    let count = 0;
    let word = 0;
    /** @param {number} id @param {string} piece @param {number} start @param {number} end */
    const add = (id, piece, start, end) => {
      count++;
      if (tokens.length >= limit) return;
      const [from, to] = trim(whole, piece, start, end, tokens.length === 0);
      tokens.push(makeToken(id, textOf(id), isSpecial(id), word, from, to, segment));
    };
    const onRaw = (/** @type {AddedToken | null} */ token, /** @type {number} */ from, /** @type {number} */ to) => {
      if (token !== null) {
        add(token.id, whole.slice(from, to), from, to);
        word++;
        return;
      }
      const aligned = normalize(alignSlice(whole, from, to), budget);
      /** @type {import('./added_tokens.js').OnSection} */
      const onNormal = (found, start, end) => {
        if (found !== null) {
          add(found.id, aligned.text.slice(start, end), aligned.starts[start], aligned.ends[end - 1]);
          word++;
          return;
        }
        const { source, froms, tos } = preTokenize(onePiece(sliceAligned(aligned, start, end)), budget);
        for (let i = 0; i < froms.length; i++) {
          const base = froms[i];
          const onPiece = (/** @type {number} */ id, /** @type {number} */ a, /** @type {number} */ b) =>
            add(id, pieceOf(id), source.starts[base + a], source.ends[base + b - 1]);
          model.cutWord(source.text.slice(base, tos[i]), onPiece, budget);
          word++;
        }
      };
      splitNormal(aligned.text, 0, aligned.text.length, onNormal, budget);
    };
    splitRaw(whole, 0, whole.length, onRaw, budget);
    return { tokens, count };
  };
}

/** A lone surrogate counts as U+FFFD: the Rust package takes UTF-8, which has none. @param {string} text */
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * Takes the spaces that a piece begins or ends with out of its place, unless the tokenizer put the one at the beginning
 * there itself.
 * @param {{ addPrefixSpace: boolean }[]} trims
 * @returns {(text: string, piece: string, start: number, end: number, first: boolean) => [number, number]}
 */
function createTrim(trims) {
  return (text, piece, start, end, first) => {
    let from = start;
    let to = end;
    for (const { addPrefixSpace } of trims) {
      let leading = 0;
      while (leading < piece.length && isBlank(piece, leading)) leading++;
      let trailing = 0;
      while (trailing < piece.length && isBlank(piece, piece.length - 1 - trailing)) trailing++;
      if (leading === 1 && addPrefixSpace && (first || from === 0)) leading = 0;
      for (; leading > 0 && from < to; leading--) from += sizeAt(text, from);
      for (; trailing > 0 && to > from; trailing--) to -= isLow(text, to - 1) ? 2 : 1;
    }
    return [from, to];
  };
}

/** @param {string} text @param {number} at @returns {boolean} whether the second half of a character is there */
const isLow = (text, at) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** @param {string} piece @param {number} at @returns {boolean} */
const isBlank = (piece, at) => piece[at] === BYTE_SPACE || isSpace(piece.charCodeAt(at));

/**
 * @param {number} id
 * @param {string} text
 * @param {boolean} special
 * @param {number | null} word
 * @param {number} start
 * @param {number} end
 * @param {0 | 1} segment
 * @returns {Token}
 */
export function makeToken(id, text, special, word, start, end, segment) {
  return { id, text, word, start, end, special, segment, sequence: 0, side: 'source' };
}
