/**
 * The normaliser "Precompiled": sentencepiece's table of replacements, a double-array trie over UTF-8 bytes followed by
 * the texts it points to. As the Rust package does, a grapheme of at most five bytes is looked up as a whole, and what is
 * found for its beginning replaces all of it; longer ones go character by character. sentencepiece itself knows no graphemes:
 * at each place the longest text of the table that stands there is replaced; GGUF files want that.
 *
 * A node is 32 bits: bits 0-7 the byte that leads to it, bit 8 whether a value follows, bit 9 whether its offset counts
 * in 256s, the rest the offset; a value node has bit 31 set and its place in the texts below.
 */
import { createBuilder, sizeAt } from '../text/aligned_text.js';
import { eachGrapheme } from '../unicode/graphemes.js';

/** @typedef {import('../text/aligned_text.js').AlignedText} AlignedText */
/** @typedef {import('../text/aligned_text.js').Budget} Budget */
/** @typedef {(text: string) => string | null} Lookup */

const LONGEST_GRAPHEME = 5;
/** The longest of Unicode's own replacements has 33 bytes. */
const LONGEST_REPLACEMENT = 128;
const REMEMBERED = 20_000;
/** Steps for a unit: two look-ups. */
const CHARSMAP_WORK = 32;

/**
 * @param {Uint8Array} bytes the decoded charsmap
 * @param {boolean} longest replace as sentencepiece does
 * @returns {((source: AlignedText, budget: Budget) => AlignedText) | null} null when the bytes are no charsmap
 */
export function createCharsmap(bytes, longest) {
  if (bytes.length < 4) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = view.getUint32(0, true);
  if (size % 4 !== 0 || size === 0 || size > bytes.length - 4) return null;
  const nodes = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
  const texts = bytes.subarray(4 + size);
  if (longest) {
    const longestAt = createLongest(nodes, texts);
    return (source, { work }) => rewriteLongest(source, longestAt, work);
  }
  const lookup = createLookup(nodes, texts);
  return (source, { work }) => {
    work(CHARSMAP_WORK * source.text.length);
    return rewrite(source, lookup);
  };
}

/** @param {number} node @returns {number} */
const offsetOf = (node) => (node >>> 10) << ((node & 0x200) >>> 6);

/** @param {Uint32Array} nodes @param {Uint8Array} texts @returns {Lookup} */
function createLookup(nodes, texts) {
  const encoder = new TextEncoder();
  const textAt = createTexts(texts);
  /** @type {Map<string, string | null>} */
  const known = new Map();

  /** @param {string} text @returns {string | null} */
  const find = (text) => {
    let place = offsetOf(nodes[0]);
    for (const byte of encoder.encode(text)) {
      place ^= byte;
      if (byte === 0 || place >= nodes.length || (nodes[place] & 0x800000ff) !== byte) return null;
      const node = nodes[place];
      place ^= offsetOf(node);
      if ((node & 0x100) === 0) continue;
      return place < nodes.length ? textAt(nodes[place] & 0x7fffffff) : null;
    }
    return null;
  };
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED) known.clear();
    const found = find(text);
    known.set(text, found);
    return found;
  };
}

/** @param {Uint8Array} texts @returns {(from: number) => string | null} the one that begins there */
function createTexts(texts) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (from) => {
    const rest = texts.subarray(from, from + LONGEST_REPLACEMENT + 1);
    const length = rest.indexOf(0);
    return length < 0 ? null : decoder.decode(rest.subarray(0, length));
  };
}

/** @typedef {{ end: number, replacement: string }} Longest where the text that is replaced ends */

/** @param {Uint32Array} nodes @param {Uint8Array} texts @returns {(text: string, from: number) => { found: Longest | null, read: number }} */
function createLongest(nodes, texts) {
  const encoder = new TextEncoder();
  const textAt = createTexts(texts);
  return (text, from) => {
    /** @type {Longest | null} */
    let found = null;
    let place = offsetOf(nodes[0]);
    let at = from;
    while (at < text.length) {
      const end = at + sizeAt(text, at);
      let value = -1;
      for (const byte of encoder.encode(text.slice(at, end))) {
        place ^= byte;
        if (byte === 0 || place >= nodes.length || (nodes[place] & 0x800000ff) !== byte) return { found, read: end };
        const node = nodes[place];
        place ^= offsetOf(node);
        value = (node & 0x100) !== 0 && place < nodes.length ? nodes[place] & 0x7fffffff : -1;
      }
      const replacement = value < 0 ? null : textAt(value);
      if (replacement !== null) found = { end, replacement };
      at = end;
    }
    return { found, read: at };
  };
}

/**
 * @param {AlignedText} source
 * @param {ReturnType<typeof createLongest>} longestAt
 * @param {Budget['work']} work
 * @returns {AlignedText} the k-th new character of a replacement comes from the k-th old one, those beyond from the last
 */
function rewriteLongest({ text, starts, ends }, longestAt, work) {
  const result = createBuilder();
  for (let at = 0; at < text.length; ) {
    const { found, read } = longestAt(text, at);
    work(CHARSMAP_WORK * (read - at + 1));
    const end = found?.end ?? at + sizeAt(text, at);
    for (const char of found?.replacement ?? text.slice(at, end)) {
      result.push(char, starts[at], ends[at]);
      const next = at + sizeAt(text, at);
      if (next < end) at = next;
    }
    at = end;
  }
  return result.done();
}

/** @param {AlignedText} source @param {Lookup} lookup @returns {AlignedText} */
function rewrite(source, lookup) {
  const { text, starts, ends } = source;
  const result = createBuilder();
  /** For each new character: how many old ones it replaces beyond the first, as the package counts; -1 for an addition. @type {number[]} */
  const takes = [];
  let astray = false;
  /** The k-th new character comes from the k-th old one, those beyond from the last.
   * @param {string} replacement @param {number} from @param {number} to */
  const replace = (replacement, from, to) => {
    let at = from;
    let isNew = true;
    for (const char of replacement) {
      result.push(char, starts[at], ends[at]);
      takes.push(isNew ? 0 : -1);
      const next = at + sizeAt(text, at);
      isNew = next < to;
      if (isNew) at = next;
    }
    let left = 0;
    for (let rest = replacement === '' ? from : at + sizeAt(text, at); rest < to; rest += sizeAt(text, rest)) left++;
    if (left === 0) return;
    astray ||= replacement === '' && !(takes[takes.length - 1] >= 0);
    if (takes.length > 0) takes[takes.length - 1] += left;
  };
  eachGrapheme(text, (from, to) => {
    const whole = bytesOf(text, from, to) <= LONGEST_GRAPHEME ? lookup(text.slice(from, to)) : null;
    if (whole !== null) {
      replace(whole, from, to);
      return;
    }
    for (let at = from; at < to; ) {
      const next = at + sizeAt(text, at);
      const char = text.slice(at, next);
      replace(lookup(char) ?? char, at, next);
      at = next;
    }
  });
  const done = result.done();
  if (astray) settleBeginning(source, done, takes);
  return done;
}

/**
 * The Rust package counts the characters that a replacement takes with the one before it. Where there is none, or that one
 * is itself an addition, its count is off from there on. The places given here are the true ones, but for the question
 * that Metaspace asks of them, whether something comes from the very beginning of the text: there its count decides.
 * @param {AlignedText} source
 * @param {AlignedText} done changed in place
 * @param {number[]} takes
 */
function settleBeginning({ text, starts }, { text: made, starts: from, ends: to }, takes) {
  let counted = 0;
  let at = 0;
  const isBeginning = () => (counted < text.length && starts[counted] === 0) || from[at] === 0;
  for (let i = 0; i < takes.length && (isBeginning() || takes[i] < 0); i++) {
    // An addition has the place of what was counted last.
    const place = starts[takes[i] < 0 ? Math.max(0, counted - 1) : Math.min(counted, starts.length - 1)];
    for (let n = takes[i]; n >= 0 && counted < text.length; n--) counted += sizeAt(text, counted);
    for (const end = at + sizeAt(made, at); at < end; at++) {
      if (place === 0) from[at] = 0;
      else if (from[at] === 0) from[at] = Math.min(place, to[at]);
    }
  }
}

/** @param {string} text @param {number} from @param {number} to @returns {number} in UTF-8, or more than five */
function bytesOf(text, from, to) {
  let bytes = 0;
  for (let at = from; at < to && bytes <= LONGEST_GRAPHEME; at++) {
    const unit = text.charCodeAt(at);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit >= 0xd800 && unit < 0xe000 ? 2 : 3;
  }
  return bytes;
}
