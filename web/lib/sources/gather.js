/** What all sources share: plain paths only, lists of names for messages, and a small file as one array. */
import { QkvError, throwIfAborted } from '../checks/errors.js';

/** @typedef {import('./source.js').ByteStream} ByteStream */

const PLAIN_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;
/** Folders that a file may lie in, one inside the other. */
const DEEPEST = 4;
const LARGEST = 100_000_000;
const NAMES_SHOWN = 8;
const LONGEST_NAME = 80;

/** The name that a GGUF file goes by as the only file of a source: its own may hold anything. */
export const GGUF_NAME = 'model.gguf';

/** For messages. @param {string[]} names @returns {string} */
export function listed(names) {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => name.slice(0, LONGEST_NAME));
  const more = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : '';
  return `${shown.join(', ')}${more}` || 'no files';
}

/**
 * @param {string} file a name, or a path of plain names below the folder: '1_Pooling/config.json'
 * @returns {string} the same, if it cannot lead out of the folder
 */
export function plainPath(file) {
  if (isPlainPath(file)) return file;
  const want = 'plain names of letters, digits, ".", "_" and "-", at most four folders deep';
  throw new QkvError('source', 'The name of a file', { got: file, want });
}

/** Names that modules.json or an index gives are input like any other. @param {string} file @returns {boolean} */
export function isPlainPath(file) {
  const parts = file.split('/');
  return parts.length <= DEEPEST + 1 && parts.every((part) => PLAIN_NAME.test(part));
}

/** @param {string} where @param {number | string} got @param {number} max @returns {QkvError} */
const tooLarge = (where, got, max) => new QkvError('format', `${where}: bytes`, { got, want: `at most ${max}` });

/**
 * @param {ByteStream} stream
 * @param {string} where for messages
 * @param {number} [max]
 * @param {AbortSignal | null} [signal]
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function gather({ size, chunks }, where, max = LARGEST, signal) {
  if (size !== null && size > max) throw tooLarge(where, size, max);
  /** @type {Uint8Array[]} */
  const parts = [];
  let total = 0;
  for await (const chunk of chunks) {
    throwIfAborted(signal);
    total += chunk.length;
    if (total > max) throw tooLarge(where, `more than ${max}`, max);
    parts.push(chunk.slice());
  }
  const all = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
