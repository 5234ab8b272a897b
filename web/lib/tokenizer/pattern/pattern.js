/**
 * Finds a pattern in a text. A file's pattern is hostile until shown otherwise ((a+)+$), so it is no RegExp: it becomes a
 * small program whose every choice is tried at most once at each place. The first match in the order of the choices
 * wins, as with any backtracking matcher, yet the time is (choices in the pattern) x (length of the text) at most.
 */
import { sizeAt } from '../text/aligned_text.js';
import { createTest } from '../unicode/code_points.js';
import { parsePattern } from './pattern_parser.js';

/** @typedef {import('./pattern_parser.js').Tree} Tree */
/** @typedef {import('../unicode/code_points.js').CodePointTest} CodePointTest */
/** @typedef {(text: string, from: number, to: number, onMatch: (start: number, end: number) => void) => void} Finder */

const SET = 0;
const LOOK_AHEAD = 1;
const LOOK_BEHIND = 2;
const SPLIT = 3;
const JUMP = 4;
const FOUND = 5;

/**
 * SET: test x, go on after it. LOOK: test x of the neighbour must give y. SPLIT: go to x, failing that to y, and z is the
 * number of this choice. JUMP: go to x.
 * @typedef {{ op: number, x: number, y: number, z: number }} Step
 */
/** @typedef {{ steps: Step[], tests: CodePointTest[], choices: number }} Program */

const MAX_STEPS = 500;
const MAX_CHOICES = 128;
const MAX_TESTS = 100;

/**
 * @param {string} source
 * @param {(problem: string) => Error} fail
 * @returns {Finder}
 */
export function createPattern(source, fail) {
  const tree = parsePattern(source, fail);
  if (canBeEmpty(tree)) throw fail('a pattern that can match nothing at all');
  return createMachine(compile(tree, fail));
}

/** @param {string} literal not empty @returns {Finder} */
export function createLiteral(literal) {
  return (text, from, to, onMatch) => {
    let start = text.indexOf(literal, from);
    while (start >= 0 && start + literal.length <= to) {
      onMatch(start, start + literal.length);
      start = text.indexOf(literal, start + literal.length);
    }
  };
}

/** @param {Tree} tree @returns {boolean} */
function canBeEmpty(tree) {
  if (tree.kind === 'set') return false;
  if (tree.kind === 'look') return true;
  if (tree.kind === 'repeat') return tree.least === 0 || canBeEmpty(tree.part);
  return tree.kind === 'row' ? tree.parts.every(canBeEmpty) : tree.parts.some(canBeEmpty);
}

/** @param {Tree} tree @param {(problem: string) => Error} fail @returns {Program} */
function compile(tree, fail) {
  /** @type {Step[]} */
  const steps = [];
  /** @type {CodePointTest[]} */
  const tests = [];
  /** @type {Map<string, number>} */
  const known = new Map();
  let choices = 0;

  emit(tree);
  push(FOUND, 0, 0);
  return { steps, tests, choices };

  /** @param {number} op @param {number} x @param {number} y @returns {Step} */
  function push(op, x, y) {
    if (steps.length >= MAX_STEPS || choices >= MAX_CHOICES) throw fail('a pattern of too many steps');
    const step = { op, x, y, z: op === SPLIT ? choices++ : 0 };
    steps.push(step);
    return step;
  }

  /** @param {readonly number[]} set @returns {number} */
  function testOf(set) {
    const key = set.join();
    const before = known.get(key);
    if (before !== undefined) return before;
    if (tests.length >= MAX_TESTS) throw fail('a pattern of too many different sets');
    known.set(key, tests.length);
    return tests.push(createTest(set)) - 1;
  }

  /** @param {Tree} node */
  function emit(node) {
    if (node.kind === 'set') push(SET, testOf(node.set), 0);
    else if (node.kind === 'look')
      push(node.behind ? LOOK_BEHIND : LOOK_AHEAD, testOf(node.set), node.negative ? 0 : 1);
    else if (node.kind === 'row') node.parts.forEach(emit);
    else if (node.kind === 'choice') emitChoice(node.parts);
    else emitRepeat(node);
  }

  /** @param {Tree[]} parts */
  function emitChoice(parts) {
    /** @type {Step[]} */
    const ends = [];
    parts.forEach((part, i) => {
      if (i === parts.length - 1) {
        emit(part);
        return;
      }
      const split = push(SPLIT, steps.length + 1, 0);
      emit(part);
      ends.push(push(JUMP, 0, 0));
      split.y = steps.length;
    });
    for (const end of ends) end.x = steps.length;
  }

  /** @param {Tree & { kind: 'repeat' }} node */
  function emitRepeat({ part, least, most, greedy }) {
    for (let i = 0; i < least; i++) emit(part);
    /** @type {Step[]} */
    const splits = [];
    const again = steps.length;
    for (let i = least; i < (most === Infinity ? least + 1 : most); i++) {
      splits.push(push(SPLIT, 0, 0));
      const body = steps.length;
      splits[splits.length - 1][greedy ? 'x' : 'y'] = body;
      emit(part);
    }
    if (most === Infinity) push(JUMP, again, 0);
    for (const split of splits) split[greedy ? 'y' : 'x'] = steps.length;
  }
}

/** @param {Program} program @returns {Finder} */
function createMachine({ steps, tests, choices }) {
  const ops = Uint8Array.from(steps, ({ op }) => op);
  const xs = Int32Array.from(steps, ({ x }) => x);
  const ys = Int32Array.from(steps, ({ y }) => y);
  const zs = Int32Array.from(steps, ({ z }) => z);
  /** One bit for each choice at each place: it has been taken here, so coming again can only fail again. */
  let tried = new Uint8Array(0);
  /** @type {number[]} what is left to try: a step and a place, one after the other */
  const rest = [];

  /** @param {string} text @param {number} at @param {number} from @param {number} to @returns {number} end, or -1 */
  const matchAt = (text, at, from, to) => {
    rest.length = 0;
    let step = 0;
    for (;;) {
      const op = ops[step];
      if (op === FOUND) return at;
      let ok = true;
      if (op === SET) {
        const point = at < to ? /** @type {number} */ (text.codePointAt(at)) : -1;
        ok = point >= 0 && tests[xs[step]](point);
        if (ok) at += point > 0xffff ? 2 : 1;
        step++;
      } else if (op === SPLIT) {
        const bit = (at - from) * choices + zs[step];
        ok = (tried[bit >> 3] & (1 << (bit & 7))) === 0;
        tried[bit >> 3] |= 1 << (bit & 7);
        if (ok) rest.push(ys[step], at);
        step = xs[step];
      } else if (op === JUMP) {
        step = xs[step];
      } else {
        ok = neighbour(text, at, from, to, op === LOOK_BEHIND, tests[xs[step]]) === (ys[step] === 1);
        step++;
      }
      if (ok) continue;
      if (rest.length === 0) return -1;
      at = /** @type {number} */ (rest.pop());
      step = /** @type {number} */ (rest.pop());
    }
  };

  return (text, from, to, onMatch) => {
    const bytes = Math.ceil(((to - from + 1) * choices) / 8);
    if (tried.length < bytes) tried = new Uint8Array(bytes);
    else tried.fill(0, 0, bytes);
    for (let at = from; at < to; ) {
      const end = matchAt(text, at, from, to);
      if (end > at) onMatch(at, end);
      at = end > at ? end : at + sizeAt(text, at);
    }
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
