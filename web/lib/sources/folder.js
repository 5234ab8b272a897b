/** A model's files in a folder, under Node. */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { GGUF_NAME, gather, listed, plainPath } from './gather.js';

/** @typedef {import('./source.js').Source} Source */
/** @typedef {AbortSignal | null | undefined} MaybeSignal */

const CHUNK = 1 << 20;
const CHECK = 'Check the path.';

/**
 * @param {string} folder
 * @returns {Promise<Source>}
 */
export async function openFolder(folder) {
  const { promises: fs } = process.getBuiltinModule('node:fs');
  const path = process.getBuiltinModule('node:path');
  const stat = await fs.stat(folder).catch(() => null);
  const want = 'a folder with config.json and model.safetensors, or with one .gguf file';
  if (stat === null) throw new QkvError('missing', `${folder} is not there`, { want, fix: CHECK });
  if (!stat.isDirectory()) throw new QkvError('source', folder, { got: 'a file', want });

  /** @param {string} file */
  const where = (file) => path.join(folder, plainPath(file));
  /** @param {string} file @param {MaybeSignal} signal */
  const stream = async (file, signal) => {
    const full = where(file);
    const size = await sizeOf(fs, full, names);
    return { size, chunks: chunksOf(fs, full, signal) };
  };
  const names = async () => {
    const entries = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  };
  return {
    name: path.basename(path.resolve(folder)),
    where,
    bytes: async (file, { max, signal } = {}) => gather(await stream(file, signal), where(file), max, signal),
    stream: (file, { signal } = {}) => stream(file, signal),
    find: async (file, { signal } = {}) => ((await isFile(fs, where(file))) ? stream(file, signal) : null),
    names,
    single: (name) => openSingle(path.join(folder, name)),
  };
}

/** @typedef {typeof import('node:fs').promises} Fs */

/**
 * One GGUF file, whatever its name, as the only file of a source.
 * @param {string} full its path
 * @returns {Source}
 */
export function openSingle(full) {
  const { promises: fs } = process.getBuiltinModule('node:fs');
  /** @param {MaybeSignal} signal */
  const stream = async (signal) => ({ size: await sizeOf(fs, full), chunks: chunksOf(fs, full, signal) });
  return {
    name: process.getBuiltinModule('node:path').basename(full),
    where: () => full,
    gguf: GGUF_NAME,
    bytes: async (_, { max, signal } = {}) => gather(await stream(signal), full, max, signal),
    stream: (_, { signal } = {}) => stream(signal),
    find: async (asked, { signal } = {}) => (asked === GGUF_NAME ? stream(signal) : null),
  };
}

/**
 * A folder of that name is no file; one that may not be looked into does not say what is in it.
 * @param {Fs} fs
 * @param {string} full
 * @returns {Promise<boolean>}
 */
async function isFile(fs, full) {
  try {
    return (await fs.stat(full)).isFile();
  } catch (cause) {
    const error = /** @type {NodeJS.ErrnoException} */ (cause);
    if (isAbsent(error)) return false;
    throw unreadable(full, error);
  }
}

/** @param {NodeJS.ErrnoException} error */
const isAbsent = ({ code }) => code === 'ENOENT' || code === 'ENOTDIR';

/**
 * @param {Fs} fs
 * @param {string} full
 * @param {() => Promise<string[]>} [names] of the files that are there instead, for the message
 * @returns {Promise<number>}
 */
async function sizeOf(fs, full, names) {
  const stat = await fs.stat(full).catch(async (cause) => {
    if (!isAbsent(cause)) throw unreadable(full, cause);
    if (!names) throw new QkvError('missing', `${full} is not there`, { want: 'a .gguf file', fix: CHECK, cause });
    const fix = 'A model is a folder with config.json, model.safetensors and tokenizer.json, or one .gguf file.';
    throw new QkvError('missing', `${full} is not there`, { got: listed(await names()), fix, cause });
  });
  // A pipe or device would never end.
  if (!stat.isFile()) throw new QkvError('missing', full, { got: 'no ordinary file', want: 'a file' });
  return stat.size;
}

/**
 * @param {string} full
 * @param {NodeJS.ErrnoException} cause
 */
function unreadable(full, cause) {
  const isForbidden = cause.code === 'EACCES' || cause.code === 'EPERM';
  const got = isForbidden ? 'no permission' : cause.code;
  const fix = isForbidden ? 'Let this user read it.' : CHECK;
  return new QkvError('missing', `${full} cannot be opened`, { got, want: 'a file that can be read', fix, cause });
}

/**
 * Two buffers in turn: each chunk is used before the next is asked for, and that one is being read meanwhile.
 * @param {Fs} fs
 * @param {string} full
 * @param {MaybeSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* chunksOf(fs, full, signal) {
  const file = await fs.open(full).catch((cause) => {
    throw unreadable(full, cause);
  });
  const buffers = [new Uint8Array(CHUNK), new Uint8Array(CHUNK)];
  const read = (/** @type {number} */ turn) => {
    const reading = file.read(buffers[turn % 2], 0, CHUNK, null);
    // It may fail before anybody waits for it; whoever does still hears of that.
    reading.catch(() => {});
    return reading;
  };
  let reading = read(0);
  try {
    for (let turn = 0; ; turn++) {
      const { bytesRead } = await reading;
      throwIfAborted(signal);
      if (bytesRead === 0) return;
      reading = read(turn + 1);
      yield buffers[turn % 2].subarray(0, bytesRead);
    }
  } finally {
    // Whoever asks for no more hears nothing of the chunk that is on its way.
    await reading.catch(() => {});
    await file.close();
  }
}
