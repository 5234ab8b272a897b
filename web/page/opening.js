/**
 * A model from the disk, on its way in: its files were chosen, what it is and how much memory it would take is known, and
 * the reader says with what precision it is to be held.
 */
import { init, inspectModel } from 'qkv';
import { linkName } from './hash.js';
import { modelAmong } from './local-files.js';

/** @typedef {import('qkv').ModelPreview} ModelPreview */
/** @typedef {'auto' | 'f32' | 'q10' | 'q8'} Choice */
/** @typedef {import('./session.js').Order} Order */

/** Longer texts are cut: the page has a picture of every head for every text. */
const MOST_TOKENS = 512;
export const CHOICES = /** @type {const} */ (['auto', 'f32', 'q10', 'q8']);

export class Opening {
  name = '';
  /** @type {ModelPreview | null} */
  preview = null;
  /** @type {Choice} */
  choice = 'auto';
  /** @type {File[]} */
  #files = [];
  /** @type {AbortController | null} */
  #reading = null;

  /**
   * Looks at files, without reading any weights.
   * @param {File[]} files
   * @param {string} folder their folder's name, if they have one
   * @returns {Promise<boolean>} whether there is something to choose now; no: newer files came in between
   */
  async read(files, folder) {
    this.close();
    const { source, name } = modelAmong(files);
    const controller = new AbortController();
    this.#reading = controller;
    const engine = await init();
    const preview = await inspectModel(source, { engine, signal: controller.signal });
    if (controller.signal.aborted) return false;
    Object.assign(this, { name: name ?? (folder || preview.name), preview, choice: 'auto' });
    if (!this.fits('auto')) this.choice = CHOICES.find((choice) => this.fits(choice)) ?? 'auto';
    this.#files = source;
    return true;
  }

  close() {
    this.#reading?.abort();
    this.preview = null;
    this.#files = [];
  }

  /** Bytes of the weights in memory; null: the files do not allow it. @param {Choice} choice */
  bytes(choice) {
    const { preview } = this;
    if (!preview) return null;
    return preview.bytes[choice === 'auto' ? preview.precision : choice] ?? null;
  }

  /** @param {Choice} choice */
  fits(choice) {
    const bytes = this.bytes(choice);
    return bytes !== null && bytes <= (this.preview?.available ?? 0);
  }

  /** What to load. @returns {Order} */
  order() {
    const own = this.preview?.maxTokens ?? MOST_TOKENS;
    const options = { precision: this.choice, maxTokens: Math.min(MOST_TOKENS, own) };
    return {
      source: this.#files,
      name: this.name,
      linkName: linkName(this.name),
      isCapped: own > MOST_TOKENS,
      options,
    };
  }
}
