/**
 * The one store of the page's state. Its content lives in the URL hash: steps a reader would want to go back over
 * (another head, text or view) are history entries, small moves only replace the current one.
 */
import { MAX_LINK_TEXT, readHash, tooLong, writeHash } from './hash.js';

/** @typedef {import('./hash.js').PageState} PageState */

/** Browsers refuse more than some 100 history changes in half a minute; a held arrow key makes 30 a second. */
const HASH_DELAY_MS = 350;
/** What a picture hangs on. */
const PICTURED = /** @type {const} */ (['text', 'layer', 'head', 'row', 'col']);

/** @param {Window} window */
export function createStore(window) {
  let state = readHash(window.location.hash);
  /** @type {Set<(state: PageState, before: PageState) => void>} */
  const listeners = new Set();
  /** @type {number | undefined} */
  let timer;
  /** Where the picture of a state is: a short text may not have the place that is wanted. */
  let drawn = { state, place: {} };

  /** What the address says: the place that is shown, and the wanted one until something is. @param {PageState} of */
  const addressOf = (of) =>
    writeHash(PICTURED.every((key) => of[key] === drawn.state[key]) ? { ...of, ...drawn.place } : of);

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
    window.history.replaceState(null, '', addressOf(state));
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
        window.history.pushState(null, '', addressOf(next));
      } else {
        timer ??= window.setTimeout(flush, HASH_DELAY_MS);
      }
      become(next);
    },
    flush,
    /**
     * A state is on the screen. Only the address moves to the place that is; the wanted one stays in the state, so
     * that it is there again when the text has grown back.
     * @param {PageState} shownState
     * @param {{ layer: number, head: number, row: number, col: number }} place
     */
    shown(shownState, place) {
      drawn = { state: shownState, place };
      if (addressOf(state) !== writeHash(state)) timer ??= window.setTimeout(flush, HASH_DELAY_MS);
    },
    /** The address that restores this state, and what of it is too long to be carried by one. */
    link() {
      const link = new URL(addressOf(state), window.location.href).href;
      return { link, missing: tooLong(state), max: MAX_LINK_TEXT };
    },
    /** @param {(state: PageState, before: PageState) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
    },
  };
}

/** @typedef {ReturnType<typeof createStore>} Store */
