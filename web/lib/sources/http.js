/** A model's files below one URL, by fetch. */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { shownAddress } from './address.js';
import { openAnswer } from './answer.js';
import { gather, plainPath } from './gather.js';

/** @typedef {import('./answer.js').Answer} Answer */
/** @typedef {import('./answer.js').Waiting} Waiting */
/** @typedef {import('./source.js').ByteStream} ByteStream */
/** @typedef {import('./source.js').Source} Source */

/** What a person can do about an answer that is no file. @type {Record<number, string>} */
const ADVICE = {
  401: 'The model is private or gated: download it yourself and load the folder.',
  403: 'The model is private or gated: download it yourself and load the folder.',
  429: 'The server is asked too often: wait a while and try again.',
};
/** Status codes of answers that hold the file. */
const WHOLE = [200, 203];
/** A file that no folder has: what a server answers for it is what it answers for any that is not there. */
const ABSENT = 'qkv-asks-for-a-file-that-is-not-there';
/** An error page of at most this many bytes is read to its end, so that the connection can serve the next request. */
const SHORT = 16_384;
/** Milliseconds that reading it may take. */
const SOON = 1000;

/**
 * @param {URL} folder ending in a slash; its query goes with every file
 * @param {number} [timeout] milliseconds that the server may be silent
 * @returns {Source}
 */
export function openHttp(folder, timeout) {
  /** @param {string} file */
  const addressOf = (file) => {
    const url = new URL(plainPath(file), folder);
    url.search = folder.search;
    return url;
  };
  /** @param {string} file @param {import('./source.js').ReadOptions} [options] */
  const stream = (file, { signal } = {}) => openStream(addressOf(file), { signal, timeout });
  return {
    name: lastPart(folder),
    where: (file) => shownAddress(addressOf(file)),
    bytes: async (file, { max, signal } = {}) =>
      gather(await stream(file, { signal }), shownAddress(addressOf(file)), max, signal),
    stream,
    find: (file, { signal } = {}) => findStream(addressOf(file), addressOf(ABSENT), { signal, timeout }),
  };
}

/** @param {URL} url @returns {string} */
function lastPart(url) {
  const part = url.pathname.split('/').filter(Boolean).at(-1);
  try {
    return part === undefined ? url.host : decodeURIComponent(part);
  } catch {
    return url.host;
  }
}

/** Servers of single-page applications answer everything that is missing with their page. @param {Response} response */
const isHtml = (response) => /^\s*text\/html\b/i.test(response.headers.get('content-type') ?? '');

/** @param {URL} url @param {Response} response @returns {QkvError} */
function refused(url, { status, statusText }) {
  const got = `${status} ${statusText}`.trim();
  const isMissing = status === 404 || status === 410;
  const fix = ADVICE[status];
  if (isMissing) return new QkvError('missing', `${shownAddress(url)} is not there`, { got });
  return new QkvError('network', `${shownAddress(url)}: answer of the server`, { got, want: '200', fix });
}

/**
 * A file that need not be there. Only a server that says so is believed: any other trouble is an error, since a file that is
 * passed over without a word would change what the model computes. Stores that may not be listed answer 403 for whatever is
 * not there; that a server is one of them is seen by asking for a file that cannot be.
 * @param {URL} url
 * @param {URL} absent
 * @param {Waiting} waiting
 * @returns {Promise<ByteStream | null>}
 */
async function findStream(url, absent, waiting) {
  const answer = await openAnswer(url, waiting);
  const { response } = answer;
  const isGone = response.status === 404 || response.status === 410 || (response.ok && isHtml(response));
  if (!isGone && response.status !== 403) return streamOf(url, answer);
  await discard(answer, waiting);
  if (isGone) return null;
  const other = await openAnswer(absent, waiting);
  other.end();
  if (other.response.status === 403) return null;
  throw refused(url, response);
}

/**
 * Reads what nobody wants to its end, where that is near: the next request then needs no connection of its own.
 * @param {Answer} answer
 * @param {Waiting} waiting
 */
async function discard({ response, chunks, end }, { signal }) {
  const size = sizeOf(response);
  if (size === null || size > SHORT) {
    end();
    return;
  }
  const timer = setTimeout(end, SOON);
  try {
    for await (const _ of chunks) throwIfAborted(signal);
  } catch {
    throwIfAborted(signal);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {URL} url
 * @param {Waiting} waiting
 * @returns {Promise<ByteStream>}
 */
const openStream = async (url, waiting) => streamOf(url, await openAnswer(url, waiting));

/**
 * @param {URL} url
 * @param {Answer} answer
 * @returns {ByteStream}
 */
function streamOf(url, { response, chunks, end }) {
  const isWhole = WHOLE.includes(response.status);
  if (isWhole && !isHtml(response)) return { size: isTold(url) ? sizeOf(response) : null, chunks };
  end();
  if (!isWhole) throw refused(url, response);
  const what = `${shownAddress(url)}: content of the answer`;
  const fix = 'The file is probably not at this address.';
  throw new QkvError('format', what, { got: 'an HTML page', want: 'the file', fix });
}

/** Across origins a page may not be told the size. @param {URL} url */
function isTold({ origin }) {
  const own = globalThis.location?.origin;
  return own === undefined || own === origin;
}

/** Content-Length counts compressed bytes where the answer is compressed. @param {Response} response @returns {number | null} */
function sizeOf({ headers }) {
  const length = headers.get('content-length');
  if (length === null || !/^\d{1,15}$/.test(length) || headers.has('content-encoding')) return null;
  return Number(length);
}
