/**
 * What \p{...} of a pattern stands for: general categories and scripts, under their long and short names. All code points
 * belong to exactly one of each kind, so a kind is one row of runs (unicode_classes.js), read when it is first asked for.
 */
import { LAST, union } from './code_points.js';
import { CATEGORIES, CATEGORY_NAMES, SCRIPT_NAMES, SCRIPTS } from './unicode_classes.js';

/** @typedef {import('./code_points.js').Ranges} Ranges */

/** Long names of general categories, as the package takes them; those of one letter are what begins with it. */
const LONG = {
  l: 'letter lu=uppercaseletter ll=lowercaseletter lt=titlecaseletter lm=modifierletter lo=otherletter',
  m: 'mark=combiningmark mn=nonspacingmark mc=spacingmark me=enclosingmark',
  n: 'number nd=decimalnumber nl=letternumber no=othernumber',
  p: 'punctuation pc=connectorpunctuation pd=dashpunctuation ps=openpunctuation pe=closepunctuation pi=initialpunctuation pf=finalpunctuation po=otherpunctuation',
  s: 'symbol sm=mathsymbol sc=currencysymbol sk=modifiersymbol so=othersymbol',
  z: 'separator zs=spaceseparator zl=lineseparator zp=paragraphseparator',
  c: 'other cc=control cf=format cs=surrogate co=privateuse cn=unassigned',
};

/** @param {string} text runs @param {string} names @returns {Map<string, Ranges>} */
function readPartition(text, names) {
  /** @type {number[][]} */
  const sets = names
    .trim()
    .split(/\s+/)
    .map(() => []);
  let at = 0;
  for (const [, code, length] of text.replaceAll('\n', '').matchAll(/([A-Z]{2})([0-9a-z]*)/g)) {
    const end = at + (length === '' ? 1 : Number.parseInt(length, 36));
    sets[26 * (code.charCodeAt(0) - 65) + code.charCodeAt(1) - 65].push(at, end - 1);
    at = end;
  }
  /** @type {Map<string, Ranges>} */
  const found = new Map();
  for (const [i, entry] of names.trim().split(/\s+/).entries()) {
    for (const name of entry.split('=')) found.set(name.toLowerCase(), sets[i]);
  }
  return found;
}

/** @returns {Map<string, Ranges>} */
function readCategories() {
  const found = readPartition(CATEGORIES, CATEGORY_NAMES);
  const together = (/** @type {string[]} */ names) => union(...names.map((name) => found.get(name) ?? []));
  for (const [letter, names] of Object.entries(LONG)) {
    const leaves = [...found.keys()].filter((name) => name.length === 2 && name[0] === letter);
    found.set(letter, together(leaves));
    for (const entry of names.split(' ')) {
      const parts = entry.split('=');
      const short = leaves.includes(parts[0]) ? parts[0] : letter;
      for (const name of parts) found.set(name, /** @type {Ranges} */ (found.get(short)));
    }
  }
  for (const name of ['lc', 'casedletter']) found.set(name, together(['lu', 'll', 'lt']));
  found.set('any', [0, LAST]);
  found.set('ascii', [0, 0x7f]);
  return found;
}

/** @type {Map<string, Ranges> | null} */
let categories = null;
/** @type {Map<string, Ranges> | null} */
let scripts = null;

/** @param {string} name spaces, "_", "-" and case do not count @returns {Ranges | null} null when there is no such property */
export function propertyOf(name) {
  const key = name.toLowerCase().replace(/[\s_-]/g, '');
  categories ??= readCategories();
  const category = categories.get(key);
  if (category !== undefined) return category;
  scripts ??= readPartition(SCRIPTS, SCRIPT_NAMES);
  return scripts.get(key) ?? null;
}
