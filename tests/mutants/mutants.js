/** One-line faults that the tests must notice: the code as it stands (once) in a file, whatever its layout (pin.js), and what it
 * becomes. In the engine, the file is one of src/ and the test a program of tests/native; in the library, both are paths. */
import { ATTENTION_MUTANTS } from './attention_mutants.js';
import { CALL_MUTANTS } from './call_mutants.js';
import { FORMAT_MUTANTS } from './format_mutants.js';
import { MODEL_MUTANTS } from './model_mutants.js';
import { PIECE_MUTANTS } from './piece_mutants.js';
import { THREAD_MUTANTS } from './thread_mutants.js';
import { TOKENIZER_MUTANTS } from './tokenizer_mutants.js';

/**
 * @typedef {object} Mutant
 * @property {string} part
 * @property {string} breaks
 * @property {string} file
 * @property {string} line
 * @property {string} becomes
 * @property {string} test that must notice
 * @property {string} [only] of a slow test file, the tests with such a name alone
 */

/** @type {Mutant[]} */
export const MUTANTS = [
  ...ATTENTION_MUTANTS,
  ...MODEL_MUTANTS,
  ...THREAD_MUTANTS,
  ...FORMAT_MUTANTS,
  ...TOKENIZER_MUTANTS,
  ...PIECE_MUTANTS,
  ...CALL_MUTANTS,
];

/** @param {Mutant} mutant */
export const isNative = ({ file }) => /\.[ch]$/.test(file);

/** @param {Mutant} mutant */
export const titleOf = ({ part, breaks }) => `${part}: ${breaks}`;

/** @param {Mutant} mutant @returns {string} the path of its file in the tree */
export const pathOf = (mutant) => (isNative(mutant) ? `src/${mutant.file}` : mutant.file);
