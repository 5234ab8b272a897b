/** A model's files as a page has them: dropped or chosen files, a directory handle, or bytes with names. */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { GGUF_NAME, gather, listed, plainPath } from './gather.js';

/** @typedef {import('./source.js').Source} Source */
/** @typedef {AbortSignal | null | undefined} MaybeSignal */

const CHUNK = 1 << 20;
/** Names asked for of one folder, at most. */
const MOST_NAMES = 10_000;

/** @typedef {{ size: number, chunks: (where: string, signal: MaybeSignal) => AsyncIterable<Uint8Array> }} Entry */

/**
 * @param {string} name
 * @param {(file: string) => Promise<Entry | null>} find
 * @param {() => Promise<string[]>} names of all files that are there
 * @returns {Source}
 */
function sourceOf(name, find, names) {
  /** @param {string} file */
  const where = (file) => `${name}/${file}`;
  /** @param {string} file @param {MaybeSignal} signal */
  const stream = async (file, signal) => {
    throwIfAborted(signal);
    const entry = await find(plainPath(file));
    if (entry === null) {
      throw new QkvError('missing', `${file} is not among the files of ${name}`, { got: listed(await names()) });
    }
    return { size: entry.size, chunks: entry.chunks(where(file), signal) };
  };
  return {
    name,
    where,
    bytes: async (file, { max, signal } = {}) => gather(await stream(file, signal), where(file), max, signal),
    stream: (file, { signal } = {}) => stream(file, signal),
    async find(file, { signal } = {}) {
      throwIfAborted(signal);
      const entry = await find(plainPath(file));
      return entry && { size: entry.size, chunks: entry.chunks(where(file), signal) };
    },
    names,
    single: (only) => ({
      ...sourceOf(
        only,
        async (asked) => (asked === GGUF_NAME ? find(only) : null),
        async () => [only],
      ),
      where: () => only,
      gguf: GGUF_NAME,
    }),
  };
}

/** @param {Blob} blob @returns {Entry} */
const blobEntry = (blob) => ({ size: blob.size, chunks: (where, signal) => blobChunks(blob, where, signal) });

/**
 * @param {Blob} blob
 * @param {string} where
 * @param {MaybeSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* blobChunks(blob, where, signal) {
  const reader = blob.stream().getReader();
  try {
    for (;;) {
      throwIfAborted(signal);
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    if (cause instanceof QkvError) throw cause;
    throw new QkvError('missing', `${where} can no longer be read`, { fix: 'Choose the files again.', cause });
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** @param {Uint8Array} bytes @returns {Entry} */
const memoryEntry = (bytes) => ({ size: bytes.length, chunks: (_, signal) => memoryChunks(bytes, signal) });

/** In pieces, so that progress can be told and loading cancelled. @param {Uint8Array} bytes @param {MaybeSignal} signal */
async function* memoryChunks(bytes, signal) {
  for (let at = 0; at < bytes.length; at += CHUNK) {
    throwIfAborted(signal);
    yield bytes.subarray(at, at + CHUNK);
  }
}

/** @param {unknown} value @returns {value is File} */
function isFile(value) {
  return typeof value === 'object' && value !== null && 'stream' in value && 'name' in value && 'size' in value;
}

/** The folders that a file lies in, the chosen one first. @param {File} file @returns {string[]} */
const foldersOf = (file) => (file.webkitRelativePath ?? '').split('/').slice(0, -1);

/**
 * @param {File[]} files of one folder; of a chosen folder's tree the files at its top are the model, and those below it
 * are what modules.json may name
 * @returns {Source}
 */
export function openFiles(files) {
  /** @type {Map<string, File>} */
  const byName = new Map();
  const stranger = files.findIndex((file) => !isFile(file));
  if (stranger >= 0) {
    throw new QkvError('source', 'The files of the model', { got: files[stranger], want: 'a list of File objects' });
  }
  const depth = Math.min(...files.map((file) => foldersOf(file).length));
  const top = files.filter((file) => foldersOf(file).length === depth);
  for (const file of top) {
    if (byName.has(file.name)) {
      const fix = 'Give the files of one model only.';
      throw new QkvError('source', 'The files of the model', {
        got: `${file.name} twice`,
        want: 'each name once',
        fix,
      });
    }
    byName.set(file.name, file);
  }
  const names = [...byName.keys()];
  const root = top.length > 0 ? foldersOf(top[0]) : [];
  for (const file of files) {
    const folders = foldersOf(file);
    if (folders.length === depth || root.some((folder, i) => folder !== folders[i])) continue;
    byName.set([...folders.slice(depth), file.name].join('/'), file);
  }
  return sourceOf(
    root.at(-1) || 'files',
    async (name) => {
      const file = byName.get(name);
      return file === undefined ? null : blobEntry(file);
    },
    async () => names,
  );
}

/**
 * @param {import('./source.js').NamedBytes} named
 * @returns {Source}
 */
export function openNamedBytes(named) {
  /** @type {Map<string, Entry>} */
  const byName = new Map();
  for (const [name, bytes] of Object.entries(named)) {
    if (!(bytes instanceof ArrayBuffer) && !(bytes instanceof Uint8Array)) {
      throw new QkvError('source', `The file ${JSON.stringify(name)}`, {
        got: bytes,
        want: 'a Uint8Array or ArrayBuffer',
      });
    }
    byName.set(name, memoryEntry(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)));
  }
  return sourceOf(
    'bytes',
    async (name) => byName.get(name) ?? null,
    async () => [...byName.keys()].filter((name) => !name.includes('/')),
  );
}

/**
 * @param {FileSystemDirectoryHandle} handle
 * @returns {Source}
 */
export function openHandle(handle) {
  return sourceOf(
    handle.name || 'folder',
    async (name) => {
      try {
        const parts = name.split('/');
        let folder = handle;
        for (const part of parts.slice(0, -1)) folder = await folder.getDirectoryHandle(part);
        return blobEntry(await (await folder.getFileHandle(parts[parts.length - 1])).getFile());
      } catch (cause) {
        if (isNotFound(cause)) return null;
        throw new QkvError('source', `The folder ${handle.name}`, {
          got: String(cause),
          want: 'permission to read it',
          cause,
        });
      }
    },
    () => namesIn(handle),
  );
}

/** A folder that may not be listed counts as empty: reading its files then gives the error. @param {FileSystemDirectoryHandle} handle @returns {Promise<string[]>} */
async function namesIn(handle) {
  /** @type {string[]} */
  const names = [];
  try {
    for await (const { kind, name } of handle.values()) {
      if (kind === 'file') names.push(name);
      if (names.length === MOST_NAMES) break;
    }
    return names;
  } catch {
    return [];
  }
}

/** @param {unknown} cause @returns {boolean} */
const isNotFound = (cause) =>
  cause instanceof Error && (cause.name === 'NotFoundError' || cause.name === 'TypeMismatchError');
