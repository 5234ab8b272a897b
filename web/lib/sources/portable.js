/** What a caller gives as the place of a model: checked, and in a form that a worker can be sent. Nothing is opened here. */

import { readArguments } from '../checks/arguments.js';
import { kindOf, QkvError } from '../checks/errors.js';
import { shownAddress } from './address.js';

/** @typedef {import('./source.js').SourceInput} SourceInput */

/** Anything else is a path: write ./models/minilm, not models/minilm, for a folder beside the page. */
export const HUB_NAME = /^[A-Za-z0-9][\w.-]{0,95}\/[A-Za-z0-9][\w.-]{0,95}$/;
export const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
export const GGUF = /\.gguf$/i;
const WANTED = "a folder, a .gguf file, a URL, 'org/name', files, a directory handle or {name: bytes}";

/**
 * The same source in a form that can be posted to a worker and means the same there.
 * @param {SourceInput} input
 * @returns {SourceInput}
 */
export const portableSource = (input) => readArguments('loadModel: source', () => portable(input));

/**
 * @param {SourceInput} input
 * @returns {SourceInput}
 */
function portable(input) {
  if (input instanceof URL) return checkedUrl(input).href;
  if (typeof input === 'string') return portableText(input);
  if (typeof input !== 'object' || input === null) throw notASource(input === undefined ? 'nothing' : input);
  if (isFileList(input)) return Array.from(input);
  if (isHandle(input) || Array.isArray(input)) return input;
  if (typeof File === 'function' && input instanceof File) return [input];
  if (ArrayBuffer.isView(input) || input instanceof ArrayBuffer) throw notASource('bytes without a name');
  if (kindOf(input) !== undefined) throw notASource(input);
  if (Object.keys(input).length === 0) throw notASource('an object without files');
  return input;
}

/** @param {unknown} got @returns {QkvError} */
export function notASource(got) {
  const fix = got instanceof Promise ? 'Put await before it.' : undefined;
  return new QkvError('source', 'The place to load a model from', { got, want: WANTED, fix });
}

/** @param {object} value @returns {value is FileList} */
export const isFileList = (value) => 'item' in value && typeof value.item === 'function' && 'length' in value;

/** @param {object} value @returns {value is FileSystemDirectoryHandle} */
export const isHandle = (value) => 'getFileHandle' in value && typeof value.getFileHandle === 'function';

/** @param {URL} url @returns {URL} */
function checkedUrl(url) {
  if (['http:', 'https:', 'file:', 'blob:', 'data:'].includes(url.protocol)) return url;
  throw new QkvError('source', 'The scheme of the URL', { got: url.protocol, want: 'http:, https: or file:' });
}

/** Browsers know no folders: there any text that is no hub name is a URL, relative to the page. @param {string} text */
function portableText(text) {
  if (text === '') throw notASource(text);
  const isUrl = SCHEME.test(text) && !/^[a-z]:[\\/]/i.test(text);
  if (isUrl) return checkedUrl(parsedUrl(text)).href;
  if (canReadFolders() || (HUB_NAME.test(text) && !GGUF.test(text))) return text;
  return parsedUrl(text, globalThis.document?.baseURI ?? globalThis.location?.href).href;
}

/** @param {string} text @param {string} [base] @returns {URL} */
function parsedUrl(text, base) {
  try {
    return new URL(text, base);
  } catch {
    // Without the cause, which quotes the text.
    throw new QkvError('source', 'The URL to load a model from', { got: shownAddress(text), want: 'a valid URL' });
  }
}

/** @returns {boolean} */
export const canReadFolders = () => typeof globalThis.process?.getBuiltinModule === 'function';
