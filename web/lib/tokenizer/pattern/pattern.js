/**
 * Finds a pattern in a text. A file's pattern is hostile until shown otherwise ((a+)+$), so it is no RegExp: it becomes a
 * small program whose every choice is tried at most once at each place. The first match in the order of the choices wins,
 * as with any backtracking matcher, yet the time is (steps of the pattern) x (length of the text) at most. Only what is
 * inside of a look ahead or an atomic group is tried anew each time; all steps are counted, and a text has a limit of them.
 */
import { newBudget, sizeAt } from '../text/aligned_text.js';
import { createTest } from '../unicode/code_points.js';
import {
  ABSENT,
  ATOMIC,
  canBeEmpty,
  compilePattern,
  EDGE,
  EDGES,
  FOUND,
  JUMP,
  LOOK_AHEAD,
  LOOK_BEHIND,
  SET,
  SPLIT,
} from './pattern_program.js';
import { parsePattern } from './pattern_parser.js';
import { WORD_SET } from './pattern_sets.js';

/** @typedef {import('../unicode/code_points.js').CodePointTest} CodePointTest */
/** @typedef {import('../text/aligned_text.js').Budget} Budget */
/**
 * Finds come in order and do not overlap; where the pattern allows it, they may be empty.
 * @typedef {(text: string, from: number, to: number, onMatch: (start: number, end: number) => void, budget?: Budget) => void} Finder
 */

/** Steps that are counted together. */
const COUNTED = 2 ** 14;
const isWord = createTest(WORD_SET);
const LINE_FEED = 10;

/**
 * @param {string} source
 * @param {(problem: string) => Error} fail
 * @returns {Finder}
 */
export function createPattern(source, fail) {
  const tree = parsePattern(source, fail);
  return createMachine(compilePattern(tree, fail), canBeEmpty(tree));
}

/** @param {string} literal not empty @returns {Finder} */
export function createLiteral(literal) {
  return (text, from, to, onMatch, budget) => {
    budget?.work((to - from) >> 2);
    let start = text.indexOf(literal, from);
    while (start >= 0 && start + literal.length <= to) {
      onMatch(start, start + literal.length);
      start = text.indexOf(literal, start + literal.length);
    }
  };
}

/** @param {import('./pattern_program.js').Program} program @param {boolean} mayBeEmpty @returns {Finder} */
function createMachine({ steps, tests, choices }, mayBeEmpty) {
  const ops = Uint8Array.from(steps, ({ op }) => op);
  const xs = Int32Array.from(steps, ({ x }) => x);
  const ys = Int32Array.from(steps, ({ y }) => y);
  const zs = Int32Array.from(steps, ({ z }) => z);
  /** One bit for each choice at each place: it has been taken here, so coming again can only fail again. */
  let tried = new Uint8Array(0);
  /** @type {number[]} what is left to try: a step and a place, one after the other */
  const rest = [];
  let taken = 0;
  /** @type {Budget['work']} */
  let work = () => {};

  /**
   * @param {number} first step @param {string} text @param {number} at @param {number} from @param {number} to
   * @returns {number} end, or -1
   */
  const matchAt = (first, text, at, from, to) => {
    const base = rest.length;
    let step = first;
    for (;;) {
      if (++taken === COUNTED) {
        taken = 0;
        work(COUNTED);
      }
      const op = ops[step];
      if (op === FOUND) {
        rest.length = base;
        return at;
      }
      let ok = true;
      if (op === SET) {
        const point = at < to ? /** @type {number} */ (text.codePointAt(at)) : -1;
        ok = point >= 0 && tests[xs[step]](point);
        if (ok) at += point > 0xffff ? 2 : 1;
        step++;
      } else if (op === SPLIT) {
        const choice = zs[step];
        if (choice >= 0) {
          const bit = (at - from) * choices + choice;
          ok = (tried[bit >> 3] & (1 << (bit & 7))) === 0;
          tried[bit >> 3] |= 1 << (bit & 7);
        }
        if (ok) rest.push(ys[step], at);
        step = xs[step];
      } else if (op === JUMP) {
        step = xs[step];
      } else if (op === LOOK_AHEAD || op === LOOK_BEHIND) {
        ok = neighbour(text, at, from, to, op === LOOK_BEHIND, tests[xs[step]]) === (ys[step] === 1);
        step++;
      } else if (op === EDGE) {
        ok = isEdge(xs[step], text, at, from, to);
        step++;
      } else {
        const end = matchAt(step + 1, text, at, from, to);
        ok = end >= 0 === (zs[step] !== ABSENT);
        if (zs[step] === ATOMIC && ok) at = end;
        step = xs[step];
      }
      if (ok) continue;
      if (rest.length === base) return -1;
      at = /** @type {number} */ (rest.pop());
      step = /** @type {number} */ (rest.pop());
    }
  };

  /** Choices that led to a match are no failures: the next match may begin at the same place. @param {number} place */
  const forget = (place) => {
    for (let bit = place * choices; bit < (place + 1) * choices; bit++) tried[bit >> 3] &= ~(1 << (bit & 7));
  };

  return (text, from, to, onMatch, budget = newBudget(to - from)) => {
    const bytes = Math.ceil(((to - from + 1) * choices) / 8);
    if (tried.length < bytes) tried = new Uint8Array(bytes);
    else tried.fill(0, 0, bytes);
    work = budget.work;
    work(bytes >> 4);
    rest.length = 0;
    taken = 0;
    let last = -1;
    for (let at = from; at < to || (at === to && mayBeEmpty); ) {
      const end = matchAt(0, text, at, from, to);
      if (end > at || (end === at && at !== last)) {
        onMatch(at, end);
        last = end;
        at = end;
        if (mayBeEmpty) forget(end - from);
      } else {
        at += at < to ? sizeAt(text, at) : 1;
      }
    }
    work(taken);
    taken = 0;
  };
}

/**
 * @param {string} text @param {number} at @param {number} from @param {number} to @param {boolean} behind
 * @param {CodePointTest} test
 * @returns {boolean}
 */
function neighbour(text, at, from, to, behind, test) {
  if (!behind) return at < to && test(/** @type {number} */ (text.codePointAt(at)));
  if (at <= from) return false;
  const low = text.charCodeAt(at - 1);
  const pair = low >= 0xdc00 && low < 0xe000 && at - 2 >= from;
  return test(/** @type {number} */ (text.codePointAt(pair ? at - 2 : at - 1)));
}

/**
 * Lines as Oniguruma has them: behind a line feed at the very end of the text there is none.
 * @param {number} edge @param {string} text @param {number} at @param {number} from @param {number} to
 * @returns {boolean}
 */
function isEdge(edge, text, at, from, to) {
  switch (edge) {
    case EDGES.text:
      return at === from;
    case EDGES.textEnd:
      return at === to;
    case EDGES.line:
      return at === from || (at < to && text.charCodeAt(at - 1) === LINE_FEED);
    case EDGES.lineEnd:
      return at === to || text.charCodeAt(at) === LINE_FEED;
    default: {
      const differs = neighbour(text, at, from, to, true, isWord) !== neighbour(text, at, from, to, false, isWord);
      return differs === (edge === EDGES.word);
    }
  }
}
