/**
 * The one store of the page's state. Its content lives in the URL hash: steps a reader would want to go back over
 * (another head, text or view) are history entries, small moves only replace the current one.
 */
import { MAX_LINK_TEXT, readHash, tooLong, writeHash } from './hash.js';

/** @typedef {import('./hash.js').PageState} PageState */

/** Browsers refuse more than some 100 history changes in half a minute; a held arrow key makes 30 a second. */
const HASH_DELAY_MS = 350;

/** @param {Window} window */
export function createStore(window) {
  let state = readHash(window.location.hash);
  /** @type {Set<(state: PageState, before: PageState) => void>} */
  const listeners = new Set();
  /** @type {number | undefined} */
  let timer;

  /** @param {PageState} next */
  function become(next) {
    const before = state;
    state = next;
    for (const listener of listeners) listener(state, before);
  }

  /** Writes what a timer still holds back. */
  function flush() {
    if (timer === undefined) return;
    window.clearTimeout(timer);
    timer = undefined;
    window.history.replaceState(null, '', writeHash(state));
  }

  window.addEventListener('hashchange', () => {
    window.clearTimeout(timer);
    timer = undefined;
    become(readHash(window.location.hash));
  });

  return {
    get state() {
      return state;
    },
    /** @param {Partial<PageState>} patch  @param {{ step?: boolean }} [options] step: make it a history entry */
    set(patch, { step = false } = {}) {
      const next = { ...state, ...patch };
      if (next.text === state.text && next.sandbox === state.sandbox && writeHash(next) === writeHash(state)) return;
      if (step) {
        flush();
        window.history.pushState(null, '', writeHash(next));
      } else {
        timer ??= window.setTimeout(flush, HASH_DELAY_MS);
      }
      become(next);
    },
    flush,
    /** The address that restores this state, and what of it is too long to be carried by one. */
    link() {
      const link = new URL(writeHash(state), window.location.href).href;
      return { link, missing: tooLong(state), max: MAX_LINK_TEXT };
    },
    /** @param {(state: PageState, before: PageState) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
    },
  };
}

/** @typedef {ReturnType<typeof createStore>} Store */
