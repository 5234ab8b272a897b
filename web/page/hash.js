/**
 * The page's state as a URL hash, `#text=…&layer=4&head=7&row=2&col=5&view=matrix&lang=zh&theme=dark`, and back.
 *
 * A hash is written by strangers. What is read is capped, checked field by field against a fixed list, and silently left
 * out where it does not fit. A model is in it by its name alone, which is only shown: opening a link never loads one.
 */

import { MAX_SANDBOX_LINK, readSetup, writeSetup } from './sandbox/link.js';

export const PLACES = /** @type {const} */ (['model', 'sandbox']);
export const VIEWS = /** @type {const} */ (['matrix', 'lines', 'text']);
export const SCALES = /** @type {const} */ (['linear', 'sqrt', 'log', 'row']);
export const FIRST_COLUMN = /** @type {const} */ (['shown', 'hidden']);

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
 * @property {string} model name of the model from the reader's disk; '': the one beside the page
 * @property {typeof FIRST_COLUMN[number]} first the column of the first token, on which many heads rest
 * @property {number} tokens to generate
 * @property {number} temp temperature of generating; 0: always the likeliest token
 * @property {number} topk draw from so many tokens; 0: all
 * @property {number} topp draw from the likeliest tokens that together reach this
 * @property {number} seed
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
  model: '',
  first: 'shown',
  tokens: 24,
  temp: 0.8,
  topk: 40,
  topp: 0.95,
  seed: 1,
});

/** What generating takes. */
export const LIMITS = Object.freeze({
  tokens: { least: 1, most: 200, step: 1 },
  temp: { least: 0, most: 2, step: 0.05 },
  topk: { least: 0, most: 1000, step: 1 },
  topp: { least: 0.01, most: 1, step: 0.01 },
  seed: { least: 0, most: 2 ** 32 - 1, step: 1 },
});

/** Written only where they differ from first sight. @type {readonly (keyof PageState)[]} */
const UNWRITTEN = ['place', 'scale', 'sandbox', 'model', 'first', 'tokens', 'temp', 'topk', 'topp', 'seed'];

/** Longer texts work, but no link carries them. */
export const MAX_LINK_TEXT = 4000;
const MAX_HASH = 80_000; // 4,000 characters of three UTF-8 bytes each, three hash characters a byte, the sandbox and the rest
const MAX_INDEX = 9999;
/** A row that stays the last one, however long the text becomes. */
export const LAST = MAX_INDEX;
const MAX_NAME = 96;
const MODEL_NAME = /^[\p{L}\p{N}._-]{1,96}$/u;

/** @param {string} value */
function index(value) {
  return /^\d{1,4}$/.test(value) ? Math.min(Number(value), MAX_INDEX) : undefined;
}

/**
 * A number as a person writes it, in the limits of its field.
 * @param {keyof typeof LIMITS} name
 * @returns {(value: string) => number | undefined}
 */
const limited = (name) => (value) => {
  const { least, most, step } = LIMITS[name];
  const form = step < 1 ? /^\d{1,2}(\.\d{1,4})?$/ : /^\d{1,10}$/;
  const number = form.test(value) ? Number(value) : Number.NaN;
  return number >= least && number <= most ? number : undefined;
};

/** @param {string} value */
const modelName = (value) => (MODEL_NAME.test(value) ? value : undefined);

/** What a name from the disk becomes in an address. @param {string} name */
export const linkName = (name) => cut(name.replace(/[^\p{L}\p{N}._-]+/gu, '_'), MAX_NAME) || '_';

/**
 * @template {string} T
 * @param {readonly T[]} allowed
 * @returns {(value: string) => T | undefined}
 */
const oneOf = (allowed) => (value) => allowed.find((candidate) => candidate === value);

/** Leaves no half of a character at the end, which no address can hold. @param {string} text @param {number} most */
const cut = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, '');

/** @param {string} value */
const linkText = (value) => cut(value, MAX_LINK_TEXT);

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
    ['model', modelName],
    ['first', oneOf(FIRST_COLUMN)],
    ['tokens', limited('tokens')],
    ['temp', limited('temp')],
    ['topk', limited('topk')],
    ['topp', limited('topp')],
    ['seed', limited('seed')],
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
