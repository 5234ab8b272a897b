/** Texts at which generating ends. What may be the beginning of one is held back until it is clear, so nothing is told that is
 * cut later. Of several the one counts that is complete first, wherever tokens begin and end; of two that end together the
 * longer one. The work of a token is bounded by the length of the texts. */

import { QkvError } from '../checks/errors.js';

/** @typedef {ReturnType<typeof createStopTexts>} StopTexts */

const MOST_TEXTS = 64;
const LONGEST_TEXT = 1000;

/**
 * @param {unknown} stop
 * @returns {string[]}
 */
export function readStopTexts(stop) {
  if (stop === undefined) return [];
  const want = `an array of up to ${MOST_TEXTS} texts`;
  if (!Array.isArray(stop)) throw new QkvError('argument', 'generate: stop', { got: stop, want });
  if (stop.length > MOST_TEXTS) {
    throw new QkvError('argument', 'generate: stop', { got: `${stop.length} texts`, want });
  }
  for (const [index, text] of Array.from(stop).entries()) {
    if (typeof text === 'string' && text.length > 0 && text.length <= LONGEST_TEXT) continue;
    const got = typeof text === 'string' ? `${text.length} characters` : (text ?? 'nothing');
    throw new QkvError('argument', `generate: stop[${index}]`, {
      got,
      want: `a text of 1 to ${LONGEST_TEXT} characters`,
    });
  }
  return [...stop];
}

/** @param {readonly string[]} texts */
export function createStopTexts(texts) {
  /** What came and is not told: the beginning of one of the texts. */
  let held = '';

  return {
    /** Whether one of the texts would be complete. @param {string} text that may come next */
    endsIn: (text) => texts.length > 0 && text !== '' && findFirst(texts, held + text) !== null,

    /**
     * @param {string} text that has come
     * @param {boolean} isLast nothing more will
     * @returns {{ told: string, isEnd: boolean }}
     */
    push(text, isLast) {
      if (texts.length === 0) return { told: text, isEnd: false };
      const all = held + text;
      const found = findFirst(texts, all);
      const until = found ?? (isLast ? all.length : all.length - beginningAtEnd(texts, all));
      held = all.slice(until);
      return { told: all.slice(0, until), isEnd: found !== null };
    },
  };
}

/**
 * @param {readonly string[]} texts
 * @param {string} all
 * @returns {number | null} where the one begins that is complete first
 */
function findFirst(texts, all) {
  let start = null;
  let end = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    const at = all.indexOf(text);
    if (at < 0 || at + text.length > end) continue;
    start = at + text.length < end || start === null ? at : Math.min(start, at);
    end = at + text.length;
  }
  return start;
}

/**
 * @param {readonly string[]} texts
 * @param {string} all
 * @returns {number} how much of its end is the beginning of one of the texts, at most
 */
function beginningAtEnd(texts, all) {
  let most = 0;
  for (const text of texts) {
    for (let length = Math.min(text.length - 1, all.length); length > most; length--) {
      if (!all.endsWith(text.slice(0, length))) continue;
      most = length;
      break;
    }
  }
  return most;
}
