/**
 * Where a model's files come from. Whatever the caller gives (a folder, a URL, a name on the Hugging Face hub, files
 * that were dropped, a directory handle, bytes) becomes one Source, which answers for files by their plain names, or by
 * plain paths below it ('1_Pooling/config.json'). A GGUF file is a model by itself: by path, by URL, as a File or as
 * bytes, or as the only weights in a folder.
 */
import { readArguments } from '../checks/arguments.js';
import { kindOf, QkvError, throwIfAborted } from '../checks/errors.js';
import { shownAddress } from './address.js';
import { openFiles, openHandle, openNamedBytes } from './files.js';
import { openFolder, openSingle } from './folder.js';
import { listed } from './gather.js';
import { openHttp } from './http.js';

/** @typedef {Record<string, Uint8Array | ArrayBuffer>} NamedBytes file names ('config.json', '1_Pooling/config.json') and what the files hold */
/** @typedef {string | URL | File | File[] | FileList | NamedBytes | FileSystemDirectoryHandle} SourceInput */
/** @typedef {{ signal?: AbortSignal | null }} ReadOptions */
/** @typedef {ReadOptions & { max?: number }} BytesOptions max: a larger file is refused */
/** @typedef {import('../formats/safetensors.js').ByteStream} ByteStream */

/**
 * @typedef {object} Source
 * @property {string} name short, for people
 * @property {string | null} [gguf] the one file that is the whole model
 * @property {(file: string) => string} where a file is, in full, for messages
 * @property {(file: string, options?: BytesOptions) => Promise<Uint8Array>} bytes
 * @property {(file: string, options?: ReadOptions) => Promise<ByteStream>} stream
 * @property {(file: string, options?: ReadOptions) => Promise<ByteStream | null>} find null where it is not there
 * @property {() => Promise<string[]>} [names] of the files at its top; servers do not tell
 * @property {(name: string) => Source} [single] a GGUF file among them, by itself
 */

const HUB = 'https://huggingface.co';
/** Anything else is a path: write ./models/minilm, not models/minilm, for a folder beside the page. */
const HUB_NAME = /^[A-Za-z0-9][\w.-]{0,95}\/[A-Za-z0-9][\w.-]{0,95}$/;
const REVISION = /^[\w.-]{1,96}(\/[\w.-]{1,96}){0,3}$/;
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
const WANTED = "a folder, a .gguf file, a URL, 'org/name', files, a directory handle or {name: bytes}";
const GGUF = /\.gguf$/i;
const SAFETENSORS = ['model.safetensors', 'model.safetensors.index.json'];

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

/**
 * @param {SourceInput} input
 * @param {{ signal?: AbortSignal | null | undefined, revision?: string | undefined, timeout?: number | undefined }} [options] revision:
 * branch, tag or commit of a hub model; timeout: milliseconds that a server may be silent
 * @returns {Promise<Source>}
 */
export async function openSource(input, { signal, ...options } = {}) {
  throwIfAborted(signal);
  const source = portableSource(input);
  if (typeof source === 'string') return openText(source, options);
  if (source instanceof URL || source instanceof File || isFileList(source)) throw notASource(source);
  if (isHandle(source)) return ggufWithin(openHandle(source));
  return ggufWithin(Array.isArray(source) ? openFiles(source) : openNamedBytes(source));
}

/**
 * A source whose only weights are one GGUF file is that model; what lies beside it says nothing more.
 * @param {Source} source
 * @returns {Promise<Source>}
 */
async function ggufWithin(source) {
  if (!source.names || !source.single) return source;
  const names = await source.names();
  const found = names.filter((name) => GGUF.test(name)).sort();
  if (found.length === 0 || names.some((name) => SAFETENSORS.includes(name))) return source;
  if (found.length === 1) return source.single(found[0]);
  const fix = `Choose one of them: ${listed(found)}.`;
  throw new QkvError('source', `${source.name}: GGUF files`, { got: found.length, want: 'one model', fix });
}

/** @param {unknown} got @returns {QkvError} */
function notASource(got) {
  const fix = got instanceof Promise ? 'Put await before it.' : undefined;
  return new QkvError('source', 'The place to load a model from', { got, want: WANTED, fix });
}

/** @param {object} value @returns {value is FileList} */
const isFileList = (value) => 'item' in value && typeof value.item === 'function' && 'length' in value;

/** @param {object} value @returns {value is FileSystemDirectoryHandle} */
const isHandle = (value) => 'getFileHandle' in value && typeof value.getFileHandle === 'function';

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
const canReadFolders = () => typeof globalThis.process?.getBuiltinModule === 'function';

/** @param {string} text @param {{ revision?: string | undefined, timeout?: number | undefined }} options @returns {Promise<Source>} */
async function openText(text, { revision = 'main', timeout }) {
  if (/^https?:/i.test(text)) return openUrl(new URL(text), timeout);
  if (/^file:/i.test(text) && canReadFolders()) return openPath(pathOf(text));
  if (canReadFolders() && GGUF.test(text)) return openPath(text);
  if (canReadFolders() && !SCHEME.test(text)) {
    const folder = await openFolder(text).catch((error) => {
      if (HUB_NAME.test(text) && error instanceof QkvError && error.code === 'missing') return null;
      throw error;
    });
    if (folder !== null) return ggufWithin(folder);
  }
  if (HUB_NAME.test(text)) return openHub(text, revision, timeout);
  throw notASource(shownAddress(text));
}

/** @param {string} text a URL with the scheme file: @returns {string} */
function pathOf(text) {
  try {
    return process.getBuiltinModule('node:url').fileURLToPath(text);
  } catch {
    const want = 'a path on this machine';
    throw new QkvError('source', 'The URL to load a model from', { got: shownAddress(text), want });
  }
}

/** @param {string} path @returns {Promise<Source>} */
async function openPath(path) {
  return GGUF.test(path) ? openSingle(path) : ggufWithin(await openFolder(path));
}

/** @param {URL} url @param {number} [timeout] @returns {Source} */
function openUrl(url, timeout) {
  const file = url.pathname.split('/').at(-1) ?? '';
  if (!GGUF.test(file)) return openHttp(asFolder(url), timeout);
  const folder = new URL('.', url);
  folder.search = url.search;
  return { ...openHttp(folder, timeout), name: file, gguf: file };
}

/** @param {string} repository @param {string} revision @param {number} [timeout] @returns {Source} */
function openHub(repository, revision, timeout) {
  if (!REVISION.test(revision) || revision.includes('..')) {
    throw new QkvError('argument', 'loadModel: revision', {
      got: revision,
      want: 'the name of a branch, tag or commit',
    });
  }
  const folder = new URL(`${HUB}/${repository}/resolve/${encodeURIComponent(revision)}/`);
  return { ...openHttp(folder, timeout), name: repository };
}

/** The folder that a URL names, with or without a slash at its end. @param {URL} url @returns {URL} */
function asFolder(url) {
  if (/\.(safetensors|bin|pt|onnx|json)$/i.test(url.pathname)) {
    const fix = 'Give the URL of the folder that holds config.json and model.safetensors.';
    const want = 'a folder or a .gguf file';
    throw new QkvError('source', 'The URL to load a model from', { got: shownAddress(url), want, fix });
  }
  const folder = new URL(url);
  if (!folder.pathname.endsWith('/')) folder.pathname += '/';
  return folder;
}
