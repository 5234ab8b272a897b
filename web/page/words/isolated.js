/**
 * Tokens among other words. A token written from right to left, as in Hebrew or Arabic, must not drag the arrow, the
 * digits and the token beside it along: each stands in a fence of its own.
 */
import { html } from 'lit';

/** @typedef {import('./translate.js').Translate} Translate */
/** @typedef {import('./translate.js').WordKey} WordKey */

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The way a text is read: that of its first letter. @param {string} text  @returns {'ltr' | 'rtl'} */
export function directionOf(text) {
  const letter = /\p{L}/u.exec(text)?.[0];
  return letter !== undefined && RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr';
}

/** Where markup is impossible: options and titles. @param {string} text */
export const isolated = (text) => `\u2068${text}\u2069`;

/** @param {string} text */
export const token = (text) => html`<bdi>${text}</bdi>`;

/**
 * A sentence of the dictionary with tokens in the places of its names.
 * @param {Translate} t
 * @param {WordKey} key
 * @param {Record<string, string>} tokens
 * @param {(text: string) => unknown} [dress]
 */
export const phrase = (t, key, tokens, dress = token) =>
  t(key)
    .split(/\{(\w+)\}/)
    .map((part, i) => (i % 2 ? dress(tokens[part]) : part));
