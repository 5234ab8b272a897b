/** One-line faults that the native tests must notice: the line as it stands (once) in a file of src/, what it becomes, and the
 * program of tests/native that must fail. */
import { ATTENTION_MUTANTS } from './attention_mutants.js';
import { MODEL_MUTANTS } from './model_mutants.js';
import { THREAD_MUTANTS } from './thread_mutants.js';

/** @typedef {{ part: string, test: string, breaks: string, file: string, line: string, becomes: string }} Mutant */

export const MUTANTS = [...ATTENTION_MUTANTS, ...MODEL_MUTANTS, ...THREAD_MUTANTS];
