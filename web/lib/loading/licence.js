/** The licence that a folder states. It is shown and decides nothing, so its README is read beside the weights, and whatever
 * is wrong with that file, the model loads: without a licence. */

import { throwIfAborted } from '../checks/errors.js';

/** @typedef {import('../sources/source.js').Source} Source */

const README = 'README.md';
/** Bytes of it that are read: the front matter of some model cards lists hundreds of kB of results before the licence. */
const ENOUGH = 1 << 20;
/** Milliseconds that a load waits for the README when everything else is there. */
const PATIENCE = 1000;

/**
 * @param {Source} source
 * @param {Record<string, unknown>} config
 * @param {AbortSignal} signal
 * @returns {Promise<string | null>} never rejects
 */
export async function readLicence(source, config, signal) {
  if (typeof config.license === 'string') return config.license;
  try {
    const stream = await source.find(README, { signal });
    return stream && licenceIn(await beginningOf(stream));
  } catch {
    return null;
  }
}

/**
 * What is found, if that comes soon.
 * @template T
 * @param {Promise<T>} finding never rejects
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<T | null>}
 */
export async function soon(finding, signal) {
  throwIfAborted(signal);
  /** @type {() => void} */
  let stop = () => {};
  const late = new Promise((/** @type {(nothing: null) => void} */ resolve) => {
    const timer = setTimeout(resolve, PATIENCE, null);
    const onAbort = () => resolve(null);
    signal?.addEventListener('abort', onAbort);
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  const found = await Promise.race([finding, late]);
  stop();
  throwIfAborted(signal);
  return found;
}

/** @param {import('../formats/safetensors.js').ByteStream} stream @returns {Promise<string>} */
async function beginningOf({ chunks }) {
  const decoder = new TextDecoder();
  let text = '';
  let count = 0;
  for await (const chunk of chunks) {
    text += decoder.decode(chunk.subarray(0, ENOUGH - count), { stream: true });
    count += chunk.length;
    // The last line may be cut.
    if (count > ENOUGH) return text.slice(0, text.lastIndexOf('\n') + 1);
  }
  return text + decoder.decode();
}

/** `license: mit` in the front matter that the hub wants, or a line of its own. @param {string} text @returns {string | null} */
function licenceIn(text) {
  return /^(?:[-*] )?licen[cs]e:[ \t]*["']?([\w.+-]+)["']?[ \t]*(?:\(.*)?\r?$/im.exec(text)?.[1] ?? null;
}
