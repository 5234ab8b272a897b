/**
 * The page's state as a URL hash, `#text=…&layer=4&head=7&row=2&col=5&view=matrix&lang=zh&theme=dark`, and back.
 *
 * A hash is written by strangers. What is read is capped, checked field by field against a fixed list, and silently left
 * out where it does not fit; it never names a model, so opening a link never starts a download from elsewhere.
 */

import { MAX_SANDBOX_LINK, readSetup, writeSetup } from './sandbox/link.js';

export const PLACES = /** @type {const} */ (['model', 'sandbox']);
export const VIEWS = /** @type {const} */ (['matrix', 'lines', 'text']);
export const SCALES = /** @type {const} */ (['linear', 'sqrt', 'log', 'row']);

/**
 * @typedef {object} PageState
 * @property {typeof PLACES[number]} place of the page
 * @property {string} text
 * @property {number} layer
 * @property {number} head
 * @property {number} row the query token
 * @property {number} col the key token
 * @property {typeof VIEWS[number]} view
 * @property {typeof SCALES[number]} scale
 * @property {'en' | 'zh' | null} lang null: the browser's
 * @property {'light' | 'dark' | null} theme null: the system's
 * @property {string} sandbox its setup as sandbox/link.js writes it; '': the first preset
 */

/** What opens first: the real model's head that takes "it" for the animal. @type {Readonly<PageState>} */
export const FIRST_SIGHT = Object.freeze({
  place: 'model',
  text: "The animal didn't cross the street because it was too tired.",
  layer: 3,
  head: 1,
  row: 10,
  col: 2,
  view: 'matrix',
  scale: 'sqrt',
  lang: null,
  theme: null,
  sandbox: '',
});

/** Written only where they differ from first sight. @type {(keyof PageState)[]} */
const UNWRITTEN = ['place', 'scale', 'sandbox'];

/** Longer texts work, but no link carries them. */
export const MAX_LINK_TEXT = 4000;
const MAX_HASH = 80_000; // 4,000 characters of three UTF-8 bytes each, three hash characters a byte, the sandbox and the rest
const MAX_INDEX = 9999;

/** @param {string} value */
function index(value) {
  return /^\d{1,4}$/.test(value) ? Math.min(Number(value), MAX_INDEX) : undefined;
}

/**
 * @template {string} T
 * @param {readonly T[]} allowed
 * @returns {(value: string) => T | undefined}
 */
const oneOf = (allowed) => (value) => allowed.find((candidate) => candidate === value);

/** @param {string} value */
const linkText = (value) => (value.length <= MAX_LINK_TEXT ? value : value.slice(0, MAX_LINK_TEXT));

/** @param {string} value */
const setupText = (value) => (value && value.length <= MAX_SANDBOX_LINK ? writeSetup(readSetup(value)) : undefined);

/** Key by key, what a value may be. A Map, so that `__proto__` and its like are just unknown keys. */
const READERS = new Map(
  /** @type {[keyof PageState, (value: string) => string | number | undefined][]} */ ([
    ['place', oneOf(PLACES)],
    ['text', linkText],
    ['layer', index],
    ['head', index],
    ['row', index],
    ['col', index],
    ['view', oneOf(VIEWS)],
    ['scale', oneOf(SCALES)],
    ['lang', oneOf(['en', 'zh'])],
    ['theme', oneOf(['light', 'dark'])],
    ['sandbox', setupText],
  ]),
);

/**
 * @param {string} hash with or without '#'
 * @returns {PageState} first sight, changed by what is valid in the hash
 */
export function readHash(hash) {
  /** @type {PageState} */
  const state = { ...FIRST_SIGHT };
  if (hash.length > MAX_HASH) return state;
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ''))) {
    const field = /** @type {keyof PageState} */ (key);
    const checked = READERS.get(field)?.(value);
    if (checked !== undefined) Object.assign(state, { [field]: checked });
  }
  return state;
}

/** What of a state is too long to be carried by a link. @param {PageState} state */
export const tooLong = ({ text, sandbox }) => ({
  text: text.length > MAX_LINK_TEXT,
  sandbox: sandbox.length > MAX_SANDBOX_LINK,
});

/**
 * @param {PageState} state
 * @returns {string} '#…'; without the text and the sandbox where they are too long for a link
 */
export function writeHash(state) {
  const pairs = new URLSearchParams();
  const omitted = tooLong(state);
  for (const key of READERS.keys()) {
    const value = state[key];
    if (value === null || (UNWRITTEN.includes(key) && value === FIRST_SIGHT[key])) continue;
    if ((key === 'text' || key === 'sandbox') && omitted[key]) continue;
    pairs.set(key, String(value));
  }
  return `#${pairs}`;
}
