/** Tokens of one or two texts and what the template puts around them, within the limit. */
import { makeToken } from './tokenize.js';

/** @typedef {import('./index.js').Encoding} Encoding */
/** @typedef {import('./index.js').Token} Token */
/** @typedef {import('./read/read_template.js').TemplatePart} TemplatePart */

/**
 * @param {TemplatePart[]} template
 * @param {{ tokens: Token[], count: number }[]} sequences
 * @param {number} fixed
 * @param {number} maxTokens
 * @param {(id: number) => string} textOf
 * @returns {Encoding}
 */
export function assemble(template, sequences, fixed, maxTokens, textOf) {
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
