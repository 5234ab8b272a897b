/** A pattern's tree as a program of single steps; pattern.js runs it. */
import { createTest } from '../unicode/code_points.js';

/** @typedef {import('./pattern_parser.js').Tree} Tree */
/** @typedef {import('../unicode/code_points.js').CodePointTest} CodePointTest */

export const SET = 0;
export const LOOK_AHEAD = 1;
export const LOOK_BEHIND = 2;
export const SPLIT = 3;
export const JUMP = 4;
export const FOUND = 5;
export const EDGE = 6;
export const INNER = 7;

/** What an inner program is for. */
export const ATOMIC = 0;
export const PRESENT = 1;
export const ABSENT = 2;

/** @type {Record<import('./pattern_parser.js').Edge, number>} */
export const EDGES = { word: 0, inside: 1, line: 2, lineEnd: 3, text: 4, textEnd: 5 };

/**
 * SET: test x, go on after it. LOOK: test x of the neighbour must give y. SPLIT: go to x, failing that to y, and z is the
 * number of this choice, -1 inside of inner programs. JUMP: go to x. EDGE: x must be here. INNER: the steps behind, up to
 * their FOUND, are a program by itself; z says what for, and x is the step after it.
 * @typedef {{ op: number, x: number, y: number, z: number }} Step
 */
/** @typedef {{ steps: Step[], tests: CodePointTest[], choices: number }} Program */

const MAX_STEPS = 500;
const MAX_CHOICES = 128;
const MAX_TESTS = 100;

/** @param {Tree} tree @returns {boolean} */
export function canBeEmpty(tree) {
  if (tree.kind === 'set') return false;
  if (tree.kind === 'look' || tree.kind === 'edge') return true;
  if (tree.kind === 'atomic') return canBeEmpty(tree.part);
  if (tree.kind === 'repeat') return tree.least === 0 || canBeEmpty(tree.part);
  return tree.kind === 'row' ? tree.parts.every(canBeEmpty) : tree.parts.some(canBeEmpty);
}

/** @param {Tree} tree @param {(problem: string) => Error} fail @returns {Program} */
export function compilePattern(tree, fail) {
  /** @type {Step[]} */
  const steps = [];
  /** @type {CodePointTest[]} */
  const tests = [];
  /** @type {Map<string, number>} */
  const known = new Map();
  let choices = 0;
  let depth = 0;

  emit(tree);
  push(FOUND, 0, 0);
  return { steps, tests, choices };

  /** @param {number} op @param {number} x @param {number} y @param {number} [z] @returns {Step} */
  function push(op, x, y, z = 0) {
    if (steps.length >= MAX_STEPS || choices >= MAX_CHOICES) throw fail('a pattern of too many steps');
    const step = { op, x, y, z };
    steps.push(step);
    return step;
  }

  /** @param {number} x @param {number} y @returns {Step} */
  function pushSplit(x, y) {
    return push(SPLIT, x, y, depth === 0 ? choices++ : -1);
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
    else if (node.kind === 'edge') push(EDGE, EDGES[node.edge], 0);
    else if (node.kind === 'look') emitLook(node);
    else if (node.kind === 'atomic') emitInner(node.part, ATOMIC);
    else if (node.kind === 'row') node.parts.forEach(emit);
    else if (node.kind === 'choice') emitChoice(node.parts);
    else emitRepeat(node);
  }

  /** @param {Tree & { kind: 'look' }} node */
  function emitLook({ part, negative, behind }) {
    if (part.kind !== 'set') emitInner(part, negative ? ABSENT : PRESENT);
    else push(behind ? LOOK_BEHIND : LOOK_AHEAD, testOf(part.set), negative ? 0 : 1);
  }

  /** @param {Tree} part @param {number} purpose */
  function emitInner(part, purpose) {
    const inner = push(INNER, 0, 0, purpose);
    depth++;
    emit(part);
    depth--;
    push(FOUND, 0, 0);
    inner.x = steps.length;
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
      const split = pushSplit(steps.length + 1, 0);
      emit(part);
      ends.push(push(JUMP, 0, 0));
      split.y = steps.length;
    });
    for (const end of ends) end.x = steps.length;
  }

  /** @param {Tree & { kind: 'repeat' }} node */
  function emitRepeat({ part, least, most, greedy }) {
    // Matchers differ in when they leave such a loop.
    if (most > 1 && canBeEmpty(part)) throw fail('a repetition of what may be nothing');
    for (let i = 0; i < least; i++) emit(part);
    /** @type {Step[]} */
    const splits = [];
    const again = steps.length;
    for (let i = least; i < (most === Infinity ? least + 1 : most); i++) {
      const split = pushSplit(0, 0);
      splits.push(split);
      split[greedy ? 'x' : 'y'] = steps.length;
      emit(part);
    }
    if (most === Infinity) push(JUMP, again, 0);
    for (const split of splits) split[greedy ? 'y' : 'x'] = steps.length;
  }
}
