/**
 * Added tokens such as [CLS] are looked for in the text before it is cut into words, the longest at each place, left to
 * right. As in the Rust package a user who types "[SEP]" gets the separator itself.
 */

import { createTest, readRanges } from './unicode/code_points.js';
import { createTrie, TRIE_WORK } from './models/trie.js';
import { PATTERN_SPACE, WORD } from './unicode/unicode_classes.js';

/**
 * @typedef {object} AddedToken
 * @property {number} id
 * @property {string} content
 * @property {boolean} special
 * @property {boolean} singleWord only where no word character touches it
 * @property {boolean} lstrip takes the spaces before it
 * @property {boolean} rstrip takes the spaces after it
 * @property {boolean} normalized looked for in the normalised text
 * @property {boolean} split where it stands in a text, that is ordinary text
 */

/** @typedef {import('./text/aligned_text.js').Budget} Budget */
/** @typedef {(token: AddedToken | null, start: number, end: number) => void} OnSection token null: ordinary text */

const isWord = createTest(readRanges(WORD));
const isSpace = createTest(readRanges(PATTERN_SPACE));

/**
 * @param {readonly (readonly [string, AddedToken])[]} patterns what to look for, and the token it stands for
 * @returns {(text: string, from: number, to: number, onSection: OnSection, budget: Budget) => void}
 */
export function createSplitter(patterns) {
  /** @type {Map<string, number>} the first of several with one pattern counts */
  const places = new Map();
  patterns.forEach(([pattern], i) => {
    if (pattern !== '' && !places.has(pattern)) places.set(pattern, i);
  });
  const trie = createTrie(places);

  return (text, from, to, onSection, { work }) => {
    let done = from;
    let at = places.size > 0 ? from : to;
    while (at < to) {
      const match = longestAt(trie, text, at, to, work);
      if (match === null) {
        at++;
        continue;
      }
      const token = patterns[match.value][1];
      if (token.split || (token.singleWord && touchesWord(text, at, match.end, from, to))) {
        at = match.end;
        continue;
      }
      const start = token.lstrip ? spacesBefore(text, at, done) : at;
      const end = token.rstrip ? spacesAfter(text, match.end, to) : match.end;
      if (done < start) onSection(null, done, start);
      onSection(token, start, end);
      done = end;
      at = end;
    }
    if (done < to) onSection(null, done, to);
  };
}

/**
 * @param {import('./models/trie.js').Trie} trie
 * @param {string} text
 * @param {number} at
 * @param {number} to
 * @param {Budget['work']} work
 * @returns {{ value: number, end: number } | null}
 */
function longestAt(trie, text, at, to, work) {
  let best = null;
  let node = trie.child(0, text.charCodeAt(at));
  let end = at + 1;
  for (; node !== -1; end++) {
    const value = trie.valueOf(node);
    if (value !== -1) best = { value, end };
    node = end < to ? trie.child(node, text.charCodeAt(end)) : -1;
  }
  work(TRIE_WORK * (end - at));
  return best;
}

/** @param {string} text @param {number} start @param {number} end @param {number} from @param {number} to */
function touchesWord(text, start, end, from, to) {
  const before = Array.from(text.slice(Math.max(from, start - 2), start)).at(-1);
  const after = end < to ? text.codePointAt(end) : undefined;
  return isWord(before?.codePointAt(0) ?? 0) || isWord(after ?? 0);
}

/** @param {string} text @param {number} at @param {number} floor @returns {number} */
function spacesBefore(text, at, floor) {
  while (at > floor && isSpace(text.charCodeAt(at - 1))) at--;
  return at;
}

/** @param {string} text @param {number} at @param {number} to @returns {number} */
function spacesAfter(text, at, to) {
  while (at < to && isSpace(text.charCodeAt(at))) at++;
  return at;
}
