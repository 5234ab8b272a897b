/** A pattern as tokenizer.json writes it: {"String": ...} or {"Regex": ...}. */
import { objectAt, refusal, stringAt } from './json_checks.js';
import { createLiteral, createPattern } from '../pattern/pattern.js';

/** @typedef {import('../pattern/pattern.js').Finder} Finder */

const MAX_LITERAL = 1_000;
const FIX =
  'What published tokenizers use is run; a look behind at more than one character or back at a capture is not.';

/** @param {unknown} value @param {string} key @returns {{ find: Finder, literal: string | null }} */
export function readPattern(value, key) {
  const pattern = objectAt(value, key);
  if (pattern.String !== undefined) {
    const literal = stringAt(pattern.String, `${key}.String`, MAX_LITERAL);
    return { find: literal === '' ? () => {} : createLiteral(literal), literal };
  }
  const source = stringAt(pattern.Regex, `${key}.Regex`);
  const fail = (/** @type {string} */ problem) =>
    refusal(`${key}.Regex`, `${problem} in ${source}`, 'a pattern that can be run within bounds', FIX);
  return { find: createPattern(source, fail), literal: null };
}
