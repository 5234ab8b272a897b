/**
 * Where a model's files come from. Whatever the caller gives (a folder, a URL, a name on the Hugging Face hub, files
 * that were dropped, a directory handle, bytes) becomes one Source, which answers for files by their plain names, or by
 * plain paths below it ('1_Pooling/config.json'). A GGUF file is a model by itself: by path, by URL, as a File or as
 * bytes, or as the only weights in a folder.
 */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { shownAddress } from './address.js';
import { openFiles, openHandle, openNamedBytes } from './files.js';
import { openFolder, openSingle } from './folder.js';
import { listed } from './gather.js';
import { openHttp } from './http.js';
import {
  canReadFolders,
  GGUF,
  HUB_NAME,
  isFileList,
  isHandle,
  notASource,
  portableSource,
  SCHEME,
} from './portable.js';

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
const REVISION = /^[\w.-]{1,96}(\/[\w.-]{1,96}){0,3}$/;
const SAFETENSORS = ['model.safetensors', 'model.safetensors.index.json'];

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
