/**
 * A text that is being cut into words: the text, and where each piece of it starts and ends. Pre-tokenizers take pieces
 * and give finer ones, or rewrite the text under them.
 */
import { createBuilder } from './aligned_text.js';

/** @typedef {import('./aligned_text.js').AlignedText} AlignedText */
/** @typedef {import('../pattern/pattern.js').Finder} Finder */
/** @typedef {{ source: AlignedText, froms: number[], tos: number[] }} Pieces none of them empty */
/** @typedef {import('./aligned_text.js').Budget} Budget */
/** @typedef {(pieces: Pieces, budget: Budget) => Pieces} PreTokenizer */

/** @typedef {{ froms: number[], tos: number[], found: boolean[] }} Cuts one piece, in order: found or between the finds */
/** @typedef {(cuts: Cuts, cut: (from: number, to: number) => void) => void} Behaviour */

/**
 * What to do with what was found, by its name in tokenizer.json.
 * @type {Record<string, Behaviour>}
 */
export const BEHAVIOURS = {
  Isolated: ({ froms, tos }, cut) => {
    for (let i = 0; i < froms.length; i++) cut(froms[i], tos[i]);
  },
  Removed: ({ froms, tos, found }, cut) => {
    for (let i = 0; i < froms.length; i++) if (!found[i]) cut(froms[i], tos[i]);
  },
  Contiguous: ({ froms, tos, found }, cut) => {
    for (let i = 0; i < froms.length; ) {
      let last = i;
      while (last + 1 < froms.length && found[last + 1] === found[i]) last++;
      cut(froms[i], tos[last]);
      i = last + 1;
    }
  },
  MergedWithPrevious: ({ froms, tos, found }, cut) => {
    for (let i = 0; i < froms.length; ) {
      const last = !found[i] && found[i + 1] ? i + 1 : i;
      cut(froms[i], tos[last]);
      i = last + 1;
    }
  },
  MergedWithNext: ({ froms, tos, found }, cut) => {
    for (let i = 0; i < froms.length; ) {
      const last = found[i] && found[i + 1] === false ? i + 1 : i;
      cut(froms[i], tos[last]);
      i = last + 1;
    }
  },
};

/** Steps to cut off one piece. */
const PIECE_WORK = 16;

/** @param {AlignedText} source @returns {Pieces} all of it, in one piece */
export const onePiece = (source) =>
  source.text === '' ? { source, froms: [], tos: [] } : { source, froms: [0], tos: [source.text.length] };

/** @param {Finder} find @param {Behaviour} behave @param {boolean} invert what is not found counts as found @returns {PreTokenizer} */
export function splitting(find, behave, invert = false) {
  return ({ source, froms, tos }, budget) => {
    /** @type {Pieces} */
    const result = { source, froms: [], tos: [] };
    /** @param {number} from @param {number} to */
    const cut = (from, to) => {
      if (from === to) return;
      result.froms.push(from);
      result.tos.push(to);
    };
    budget.work(PIECE_WORK * froms.length);
    for (let i = 0; i < froms.length; i++) {
      const cuts = cutsOf(find, source.text, froms[i], tos[i], invert, budget);
      budget.work(PIECE_WORK * cuts.froms.length);
      behave(cuts, cut);
    }
    return result;
  };
}

/**
 * @param {Finder} find @param {string} text @param {number} from @param {number} to @param {boolean} invert
 * @param {Budget} budget
 * @returns {Cuts} a find may be empty: it still stands between what is before and behind it
 */
function cutsOf(find, text, from, to, invert, budget) {
  /** @type {Cuts} */
  const cuts = { froms: [], tos: [], found: [] };
  /** @param {number} start @param {number} end @param {boolean} found */
  const add = (start, end, found) => {
    cuts.froms.push(start);
    cuts.tos.push(end);
    cuts.found.push(found !== invert);
  };
  let done = from;
  const onMatch = (/** @type {number} */ start, /** @type {number} */ end) => {
    if (done < start) add(done, start, false);
    add(start, end, true);
    done = end;
  };
  find(text, from, to, onMatch, budget);
  if (done < to) add(done, to, false);
  return cuts;
}

/**
 * The same pieces over a new text.
 * @param {Pieces} pieces
 * @param {(push: ReturnType<typeof createBuilder>['push'], from: number, to: number) => void} write what a piece becomes
 * @returns {Pieces}
 */
export function rewriting({ froms, tos }, write) {
  const builder = createBuilder();
  let length = 0;
  /** @type {number[]} */
  const newFroms = [];
  /** @type {number[]} */
  const newTos = [];
  /** @param {string} text @param {number} start @param {number} end */
  const push = (text, start, end) => {
    builder.push(text, start, end);
    length += text.length;
  };
  for (let i = 0; i < froms.length; i++) {
    newFroms.push(length);
    write(push, froms[i], tos[i]);
    newTos.push(length);
  }
  return { source: builder.done(), froms: newFroms, tos: newTos };
}
