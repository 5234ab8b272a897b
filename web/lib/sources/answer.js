/** What a server answers. Every wait has an end: a server that says nothing for too long is given up, however much came before,
 * and an abort is heard at once. One that sends a byte now and then is alive, and may take as long as it likes. */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { shownAddress } from './address.js';

/**
 * timeout: milliseconds without a byte after which a server is given up; Infinity: never
 * @typedef {{ signal?: AbortSignal | null | undefined, timeout?: number | undefined }} Waiting
 */
/**
 * @typedef {object} Answer
 * @property {Response} response
 * @property {AsyncIterableIterator<Uint8Array>} chunks of its body
 * @property {() => void} end lets go of the connection; whoever reads the body to its end need not call it
 */

/** Milliseconds, unless the caller says otherwise. */
export const LONGEST_SILENCE = 60_000;
/** The longest that setTimeout can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;
/** What undici calls the limits that it has in Node. */
const TIMEOUTS = ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'];

/**
 * @param {URL} url
 * @param {Waiting} waiting
 * @returns {Promise<Answer>}
 */
export async function openAnswer(url, waiting) {
  const address = shownAddress(url);
  // fetch refuses such addresses, and quotes them.
  if (url.username !== '' || url.password !== '') {
    const fix = 'Download the files and load them from the folder.';
    throw new QkvError('source', `${address}: the URL`, { got: 'a name or password in it', want: 'none', fix });
  }
  const controller = new AbortController();
  const end = () => controller.abort();
  try {
    const asking = fetch(url, { signal: controller.signal });
    const response = await unlessSilent(asking, waiting, `${address}: no answer`);
    return { response, chunks: bodyOf(response, address, waiting, controller), end };
  } catch (error) {
    end();
    if (error instanceof QkvError) throw error;
    throw failure(`${address} cannot be fetched`, error, `Check the address and the connection${alsoInPages()}.`);
  }
}

const alsoInPages = () =>
  globalThis.location === undefined ? '' : '; the server must also allow this page to read it (CORS)';

/**
 * An iterator and no generator: the `return` of a generator that was never asked for anything would let nothing go.
 * @param {Response} response
 * @param {string} address for messages
 * @param {Waiting} waiting
 * @param {AbortController} [controller] of the request: ends what waits
 * @returns {AsyncIterableIterator<Uint8Array>}
 */
export function bodyOf({ body }, address, waiting, controller = new AbortController()) {
  const reader = body?.getReader();
  let received = 0;
  function letGo() {
    controller.abort();
    reader?.cancel().catch(() => {});
  }
  return {
    async next() {
      if (reader === undefined) return { done: true, value: undefined };
      try {
        const what = `${address}: silent after ${received} bytes`;
        const { done, value } = await unlessSilent(reader.read(), waiting, what, controller.signal);
        if (done) return { done, value: undefined };
        received += value.length;
        return { done, value };
      } catch (error) {
        letGo();
        if (error instanceof QkvError) throw error;
        throw failure(`${address}: the connection broke`, error, 'Try again.', `${received} bytes, then: `);
      }
    },
    async return() {
      letGo();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * fetch's own signal would not do: in Node a body that is cancelled between its last byte and its end stays silent for ever.
 * @template T
 * @param {Promise<T>} pending
 * @param {Waiting} waiting
 * @param {string} what for the message, if nothing comes
 * @param {AbortSignal} [ended] nobody wants it any more
 * @returns {Promise<T>}
 */
export async function unlessSilent(pending, { signal, timeout = LONGEST_SILENCE }, what, ended) {
  /** @type {() => void} */
  let stop = () => {};
  const givenUp = new Promise((/** @type {(nothing: never) => void} */ _, reject) => {
    const stopClock = startClock(timeout, () => reject(silence(what, timeout)));
    const onAbort = () => reject(new QkvError('aborted', 'Cancelled', { cause: signal?.reason }));
    const signals = [signal, ended];
    for (const one of signals) one?.addEventListener('abort', onAbort);
    stop = () => {
      stopClock();
      for (const one of signals) one?.removeEventListener('abort', onAbort);
    };
  });
  try {
    throwIfAborted(signal);
    throwIfAborted(ended);
    return await Promise.race([pending, givenUp]);
  } finally {
    stop();
    // Whoever was given up may fail later, and nobody hears of it.
    pending.catch(() => {});
  }
}

/**
 * In quarters: a program that was busy, or a machine that slept, finds one of them over and then still listens for the rest.
 * @param {number} limit
 * @param {() => void} onEnd
 * @returns {() => void} stops it
 */
function startClock(limit, onEnd) {
  if (limit / 4 > LONGEST_TIMER) return () => {};
  let left = 4;
  function tick() {
    if (--left === 0) onEnd();
    else timer = setTimeout(tick, limit / 4);
  }
  let timer = setTimeout(tick, limit / 4);
  return () => clearTimeout(timer);
}

/** @param {string} what @param {number} limit @returns {QkvError} */
function silence(what, limit) {
  const fix = 'Check the connection and try again; the option timeout says how long a server may be silent.';
  return new QkvError('timeout', what, { got: `nothing for ${limit / 1000} s`, fix });
}

/**
 * @param {string} what
 * @param {unknown} cause
 * @param {string} fix
 * @param {string} [before] the reason
 * @returns {QkvError}
 */
function failure(what, cause, fix, before = '') {
  const inner = reasonOf(cause);
  const { code = '' } = /** @type {{ code?: string }} */ (inner ?? {});
  const got = `${before}${inner instanceof Error ? inner.message || code : String(inner)}`;
  return new QkvError(TIMEOUTS.includes(code) ? 'timeout' : 'network', what, { got, fix, cause });
}

/** undici hides the reason one level down, and where several addresses were tried one more. @param {unknown} cause @returns {unknown} */
function reasonOf(cause) {
  if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors[0];
  return cause instanceof Error && cause.cause instanceof Error ? reasonOf(cause.cause) : cause;
}
