/**
 * Text to token ids, for models of the BERT kind, with the place of every token in the text. Ids equal those of the
 * Rust package tokenizers (tests/golden/wordpiece.json).
 *
 * Rules worth knowing:
 * - `token.text` is the piece as the vocabulary has it ("##ing").
 * - `token.special` is true for what the template adds ([CLS], [SEP]) and for special added tokens found in the text
 *   (a user may type "[MASK]"); the unknown token stands for a word and is never special.
 * - start and end count UTF-16 units; they never decrease within a text, and `text.slice(start, end)`, normalised, is
 *   the piece, or contains it where one character (a Hangul syllable) became several pieces. Tokens that the template
 *   adds are empty and stand where they were added; the package says (0, 0).
 * - Text beyond the limit is tokenised only to be counted: `truncated.from` and `.to` are tokens, specials included.
 * - Half a surrogate pair counts as U+FFFD, which BERT's cleaning drops.
 */
import { QkvError } from '../errors.js';
import { createSplitter } from './added_tokens.js';
import { bertCharMap, eachWord, normalizeAligned } from './bert_text.js';
import { readTokenizerJson } from './tokenizer_json.js';
import { createWordPiece } from './wordpiece.js';

/**
 * @typedef {object} Token
 * @property {number} id
 * @property {string} text the piece in the vocabulary
 * @property {number | null} word which word of its text it belongs to, from 0; null for what the template adds
 * @property {number} start UTF-16 offset into the text given
 * @property {number} end
 * @property {boolean} special
 * @property {0 | 1} segment 0: the first text, 1: the second of a pair
 * @property {number} sequence which sequence of a batch
 * @property {'source' | 'target'} side
 */
/** @typedef {{ from: number, to: number }} Truncation */
/** @typedef {{ ids: Int32Array<ArrayBuffer>, typeIds: Int32Array<ArrayBuffer>, tokens: Token[], truncated: Truncation | null }} Encoding */
/** @typedef {{ vocab: number, maxTokens: number }} TokenizerOptions vocab: rows of the model's token table */

/**
 * @typedef {object} Tokenizer
 * @property {(text: string, pair?: string | null) => Encoding} encode
 * @property {(id: number) => string} textOf the piece of an id, `#id` where the vocabulary has none
 * @property {(id: number) => boolean} isSpecial
 * @property {readonly number[]} separators ids that end a text in the template, [SEP] for BERT
 */

/** @typedef {import('./tokenizer_json.js').TemplatePart} TemplatePart */

/** UTF-16 units of one text. Longer ones are refused before any work is done. */
export const MAX_TEXT = 2 ** 21;

/**
 * @param {unknown} tokenizerJson
 * @param {TokenizerOptions} options
 * @returns {Tokenizer}
 */
export function createTokenizer(tokenizerJson, { vocab, maxTokens }) {
  const settings = readTokenizerJson(tokenizerJson, vocab);
  const { model, added, single, pair } = settings;
  const texts = new Map(Array.from(model.ids, ([piece, id]) => [id, piece]));
  for (const token of added) texts.set(token.id, token.content);
  const specialIds = new Set([...single, ...pair].flatMap((part) => part.ids));
  for (const token of added) if (token.special) specialIds.add(token.id);
  specialIds.delete(model.unknown);

  /** @param {number} id */
  const textOf = (id) => texts.get(id) ?? `#${id}`;
  /** @param {number} id */
  const isSpecial = (id) => specialIds.has(id);
  const tokenize = createTokenize(settings, textOf, isSpecial);

  return {
    textOf,
    isSpecial,
    separators: [...new Set(pair.filter((part, i) => i > 0 && part.sequence === null).flatMap((part) => part.ids))],
    encode(text, second) {
      const template = second === undefined || second === null ? single : pair;
      const fixed = template.reduce((sum, part) => sum + part.ids.length, 0);
      const room = maxTokens - fixed;
      if (room < 0) {
        throw new QkvError('argument', 'maxTokens', {
          got: maxTokens,
          want: `at least ${fixed}, the tokens always added`,
        });
      }
      const sequences = [tokenize(checked(text), room, 0)];
      if (template === pair) sequences.push(tokenize(checked(second), room, 1));
      return assemble(template, sequences, fixed, maxTokens, textOf);
    },
  };
}

/** @param {unknown} text @returns {string} */
function checked(text) {
  if (typeof text !== 'string')
    throw new QkvError('text', 'The text', { got: text === null ? null : typeof text, want: 'a string' });
  if (text.length > MAX_TEXT) {
    const want = `at most ${MAX_TEXT}`;
    throw new QkvError('text', 'The length of the text in characters', {
      got: text.length,
      want,
      fix: 'Give a shorter text.',
    });
  }
  return text;
}

/**
 * @param {import('./tokenizer_json.js').TokenizerSettings} settings
 * @param {(id: number) => string} textOf
 * @param {(id: number) => boolean} isSpecial
 * @returns {(text: string, limit: number, segment: 0 | 1) => { tokens: Token[], count: number }}
 */
function createTokenize({ model, normalizer, splitWords, added }, textOf, isSpecial) {
  const charMap = bertCharMap(normalizer);
  const cutWord = createWordPiece(model);
  /** @param {string} content */
  const normal = (content) => normalizeAligned(content, 0, content.length, charMap).text;
  const splitRaw = createSplitter(added.filter((t) => !t.normalized).map((t) => [t.content, t]));
  const splitNormal = createSplitter(added.filter((t) => t.normalized).map((t) => [normal(t.content), t]));

  return (text, limit, segment) => {
    /** @type {Token[]} */
    const tokens = [];
    let count = 0;
    let word = 0;
    /** @param {number} id @param {number} start @param {number} end */
    const add = (id, start, end) => {
      count++;
      if (tokens.length >= limit) return;
      tokens.push(makeToken(id, textOf(id), isSpecial(id), word, start, end, segment));
    };
    splitRaw(text, 0, text.length, (token, from, to) => {
      if (token !== null) {
        add(token.id, from, to);
        word++;
        return;
      }
      const aligned = normalizeAligned(text, from, to, charMap);
      /** @param {number} start @param {number} end */
      const onWord = (start, end) => {
        cutWord(aligned.text.slice(start, end), (id, a, b) =>
          add(id, aligned.starts[start + a], aligned.ends[start + b - 1]),
        );
        word++;
      };
      splitNormal(aligned.text, 0, aligned.text.length, (found, start, end) => {
        if (found !== null) {
          add(found.id, aligned.starts[start], aligned.ends[end - 1]);
          word++;
        } else if (splitWords) {
          eachWord(aligned.text, start, end, onWord);
        } else {
          onWord(start, end);
        }
      });
    });
    return { tokens, count };
  };
}

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
function makeToken(id, text, special, word, start, end, segment) {
  return { id, text, word, start, end, special, segment, sequence: 0, side: 'source' };
}

/**
 * How many tokens of each text stay: the longer text loses tokens first, as the package's "longest first" does it.
 * @param {number[]} counts
 * @param {number} room
 * @returns {number[]}
 */
function shares(counts, room) {
  if (counts.length === 1) return [Math.min(counts[0], room)];
  if (counts[0] + counts[1] <= room) return counts;
  const shorter = Math.min(...counts);
  const half = Math.floor(room / 2);
  const [less, more] = shorter <= half ? [shorter, room - shorter] : [half, room - half];
  return counts[0] > counts[1] ? [more, less] : [less, more];
}

/**
 * @param {TemplatePart[]} template
 * @param {{ tokens: Token[], count: number }[]} sequences
 * @param {number} fixed
 * @param {number} maxTokens
 * @param {(id: number) => string} textOf
 * @returns {Encoding}
 */
function assemble(template, sequences, fixed, maxTokens, textOf) {
  const counts = sequences.map(({ count }) => count);
  const kept = shares(counts, maxTokens - fixed);
  /** @type {Token[]} */
  const tokens = [];
  /** @type {number[]} */
  const types = [];
  /** @type {0 | 1} */
  let segment = 0;
  let end = 0;
  for (const part of template) {
    if (part.sequence !== null) {
      segment = part.sequence;
      const own = sequences[segment].tokens.slice(0, kept[segment]);
      end = own.at(-1)?.end ?? 0;
      for (const token of own) tokens.push(token);
    }
    for (const id of part.ids) tokens.push(makeToken(id, textOf(id), true, null, end, end, segment));
    while (types.length < tokens.length) types.push(part.type);
  }
  const from = fixed + counts.reduce((sum, count) => sum + count, 0);
  return {
    ids: Int32Array.from(tokens, (token) => token.id),
    typeIds: Int32Array.from(types),
    tokens,
    truncated: from > tokens.length ? { from, to: tokens.length } : null,
  };
}
