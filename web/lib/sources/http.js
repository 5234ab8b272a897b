/** A model's files below one URL, by fetch. */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { gather, plainPath } from './gather.js';

/** @typedef {import('./source.js').Source} Source */
/** @typedef {AbortSignal | null | undefined} MaybeSignal */

/** What a person can do about an answer that is no file. @type {Record<number, string>} */
const ADVICE = {
  401: 'The model is private or gated: download it yourself and load the folder.',
  403: 'The model is private or gated: download it yourself and load the folder.',
  429: 'The server is asked too often: wait a while and try again.',
};

/** A file that no folder has: what a server answers for it is what it answers for any that is not there. */
const ABSENT = 'qkv-asks-for-a-file-that-is-not-there';

/**
 * @param {URL} folder ending in a slash; its query goes with every file
 * @returns {Source}
 */
export function openHttp(folder) {
  /** @param {string} file */
  const addressOf = (file) => {
    const url = new URL(plainPath(file), folder);
    url.search = folder.search;
    return url;
  };
  return {
    name: lastPart(folder),
    where: (file) => addressOf(file).href,
    has: (file, { signal } = {}) => isThere(addressOf(file), signal),
    async bytes(file, { max, signal } = {}) {
      const url = addressOf(file);
      return gather(await openStream(url, signal), url.href, max, signal);
    },
    stream: (file, { signal } = {}) => openStream(addressOf(file), signal),
    find: (file, { signal } = {}) => findStream(addressOf(file), new URL(ABSENT, folder), signal),
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

/** @param {URL} url @param {MaybeSignal} signal @param {'GET' | 'HEAD'} method @returns {Promise<Response>} */
async function request(url, signal, method) {
  try {
    return await fetch(url, { method, signal: signal ?? null });
  } catch (cause) {
    throwIfAborted(signal);
    const isPage = globalThis.location !== undefined;
    const also = isPage ? '; the server must also allow this page to read it (CORS)' : '';
    const fix = `Check the address and the connection${also}.`;
    throw new QkvError('network', `${url.href} cannot be fetched`, { got: reason(cause), fix, cause });
  }
}

/** @param {unknown} cause @returns {string} undici hides the reason one level down */
function reason(cause) {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message : String(inner);
}

/** Servers of single-page applications answer everything that is missing with their page. @param {Response} response */
const isHtml = (response) => /^\s*text\/html\b/i.test(response.headers.get('content-type') ?? '');

/** @param {URL} url @param {MaybeSignal} signal @returns {Promise<boolean>} */
async function isThere(url, signal) {
  let response = await request(url, signal, 'HEAD');
  if (response.status === 405 || response.status === 501) {
    response = await request(url, signal, 'GET');
    await response.body?.cancel();
  }
  if (response.ok) return !isHtml(response);
  if (response.status < 500 && response.status !== 429) return false;
  throw refused(url, response);
}

/** @param {URL} url @param {Response} response @returns {QkvError} */
function refused(url, { status, statusText }) {
  const got = `${status} ${statusText}`.trim();
  const isMissing = status === 404 || status === 410;
  const fix = ADVICE[status];
  if (isMissing) return new QkvError('missing', `${url.href} is not there`, { got });
  return new QkvError('network', `${url.href}: answer of the server`, { got, want: '200', fix });
}

/**
 * A file that need not be there. Only a server that says so is believed: any other trouble is an error, since a file that is
 * passed over without a word would change what the model computes. Stores that may not be listed answer 403 for whatever is
 * not there; that a server is one of them is seen by asking for a file that cannot be.
 * @param {URL} url
 * @param {URL} absent
 * @param {MaybeSignal} signal
 * @returns {Promise<import('./source.js').ByteStream | null>}
 */
async function findStream(url, absent, signal) {
  const response = await request(url, signal, 'GET');
  const isGone = response.status === 404 || response.status === 410 || (response.ok && isHtml(response));
  if (!isGone && response.status !== 403) return streamOf(url, response, signal);
  await response.body?.cancel();
  if (isGone) return null;
  absent.search = url.search;
  const other = await request(absent, signal, 'GET');
  await other.body?.cancel();
  if (other.status === 403) return null;
  throw refused(url, response);
}

/**
 * @param {URL} url
 * @param {MaybeSignal} signal
 * @returns {Promise<import('./source.js').ByteStream>}
 */
const openStream = async (url, signal) => streamOf(url, await request(url, signal, 'GET'), signal);

/**
 * @param {URL} url
 * @param {Response} response
 * @param {MaybeSignal} signal
 * @returns {Promise<import('./source.js').ByteStream>}
 */
async function streamOf(url, response, signal) {
  if (!response.ok || isHtml(response)) await response.body?.cancel();
  if (!response.ok) throw refused(url, response);
  if (isHtml(response)) {
    const fix = 'The file is probably not at this address.';
    throw new QkvError('format', `${url.href}: content of the answer`, { got: 'an HTML page', want: 'the file', fix });
  }
  return { size: sizeOf(url, response), chunks: chunksOf(url, response, signal) };
}

/**
 * Content-Length counts compressed bytes where the answer is compressed, and across origins a page may not be told.
 * @param {URL} url
 * @param {Response} response
 * @returns {number | null}
 */
function sizeOf(url, { headers }) {
  const length = headers.get('content-length');
  const origin = globalThis.location?.origin;
  const mayHide = origin !== undefined && origin !== url.origin;
  if (length === null || !/^\d{1,15}$/.test(length) || headers.has('content-encoding') || mayHide) return null;
  return Number(length);
}

/**
 * @param {URL} url
 * @param {Response} response
 * @param {MaybeSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* chunksOf(url, { body }, signal) {
  if (body === null) return;
  const reader = body.getReader();
  let received = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      received += value.length;
      yield value;
    }
  } catch (cause) {
    if (cause instanceof QkvError) throw cause;
    throwIfAborted(signal);
    const got = `${received} bytes, then: ${reason(cause)}`;
    throw new QkvError('network', `${url.href}: the connection broke`, { got, fix: 'Try again.', cause });
  } finally {
    reader.cancel().catch(() => {});
  }
}
