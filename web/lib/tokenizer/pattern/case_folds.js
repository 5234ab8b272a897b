/**
 * What (?i) adds to a set: everything that folds to the same character as a member of it. The folds are JavaScript's, but
 * only for characters that the package's version of Unicode has; Unicode promises that those never change. Where several
 * characters fold together ("ss" and "ß"), Oniguruma matches more than one character by a set; such patterns are refused.
 */
import { union } from '../unicode/code_points.js';
import { propertyOf } from '../unicode/properties.js';

/** @typedef {import('../unicode/code_points.js').Ranges} Ranges */
/** @typedef {import('./pattern_parser.js').Tree} Tree */
/** @typedef {{ partners: Map<number, number[]>, together: Map<number, string> }} Folds */

const YPOGEGRAMMENI = 0x345;
const DOTLESS_I = 0x131;

/** @type {Folds | null} */
let folds = null;

/** @returns {Folds} partners: all that fold to one; together: what a character folds to, if that is more than one */
function readFolds() {
  /** @type {Map<string, number[]>} */
  const classes = new Map();
  /** @type {Map<number, string>} */
  const together = new Map();
  const cased = union(...['Lu', 'Ll', 'Lt', 'Nl', 'So'].map((name) => propertyOf(name) ?? []), [
    YPOGEGRAMMENI,
    YPOGEGRAMMENI,
  ]);
  for (let i = 0; i < cased.length; i += 2) {
    for (let code = cased[i]; code <= cased[i + 1]; code++) {
      const char = String.fromCodePoint(code);
      const upper = char.toUpperCase();
      const folded = upper.toLowerCase();
      if (Array.from(folded).length > 1) together.set(code, folded);
      if (code === DOTLESS_I || (upper === char && folded === char)) continue;
      const key = Array.from(folded).length === 1 ? folded : char.toLowerCase();
      classes.set(key, [...(classes.get(key) ?? []), code]);
    }
  }
  /** @type {Map<number, number[]>} */
  const partners = new Map();
  for (const codes of classes.values()) if (codes.length > 1) for (const code of codes) partners.set(code, codes);
  return { partners, together };
}

/** @param {Ranges} set @param {number} code @returns {boolean} */
function has(set, code) {
  for (let i = 0; i < set.length; i += 2) if (code >= set[i] && code <= set[i + 1]) return true;
  return false;
}

/** @type {import('./pattern_sets.js').Fold} */
export function foldedSet(set, negative, fail) {
  folds ??= readFolds();
  /** @type {number[][]} */
  const more = [];
  for (const [code, codes] of folds.partners) {
    if (has(set, code)) more.push(...codes.map((other) => [other, other]));
  }
  if (!negative) {
    for (const code of folds.together.keys()) {
      if (has(set, code)) throw fail(`"(?i" over ${String.fromCodePoint(code)}, which folds to several characters`);
    }
  }
  return union(set, ...more);
}

/** @param {Tree[]} row @returns {boolean} whether no letters of (?i) that follow each other are the fold of another one */
export function foldsAlone(row) {
  const letters = row.map((part) =>
    part.kind === 'set' && part.letter !== undefined ? part.letter.toLowerCase() : '\n',
  );
  const text = letters.join('');
  if (!/[^\n][^\n]/.test(text)) return true;
  folds ??= readFolds();
  for (const together of folds.together.values()) if (text.includes(together)) return false;
  return true;
}
