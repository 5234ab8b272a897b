/**
 * The model, and the run behind the picture. Texts come faster than they can be run: the newest one wins, an older run
 * is aborted, and what stays on the screen until then is the last picture that was complete.
 */
import { loadModel } from 'qkv';
import { Picture } from './picture.js';
import { refuseWithoutTokenizer, troubleOf } from './troubles.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('./troubles.js').Trouble} Trouble */
/** @typedef {{ loaded: number, total: number | null, bytesPerSecond: number }} Progress */
/** @typedef {'loading' | 'ready' | 'failed' | 'cancelled'} Phase */

/** @param {unknown} error */
const isAbort = (error) =>
  error instanceof Error &&
  (error.name === 'AbortError' || /** @type {{ code?: unknown }} */ (error).code === 'aborted');

/** Bytes of all files of one load together, and how fast they come. */
function progressMeter() {
  /** @type {Map<string, { loaded: number, total: number | null }>} */
  const files = new Map();
  const start = performance.now();
  return (/** @type {{ file: string | null, loaded: number, total: number | null }} */ { file, loaded, total }) => {
    files.set(file ?? '', { loaded, total });
    let sum = 0;
    let whole = 0;
    for (const one of files.values()) {
      sum += one.loaded;
      whole = one.total === null ? Number.NaN : whole + one.total;
    }
    const seconds = (performance.now() - start) / 1000;
    return { loaded: sum, total: whole > 0 ? whole : null, bytesPerSecond: seconds > 0.3 ? sum / seconds : 0 };
  };
}

export class Session {
  /** @type {Model | null} */
  model = null;
  /** @type {Picture | null} */
  picture = null;
  /** @type {Phase} */
  phase = 'loading';
  /** @type {Progress | null} */
  progress = null;
  /** Why a model could not be loaded. @type {Trouble | null} */
  loadError = null;
  /** Why a text could not be run. @type {Trouble | null} */
  runError = null;
  busy = false;
  /** Of the model in use; while there is none, of the one that was asked for. */
  name = '';
  #asked = { source: /** @type {string | File[]} */ (''), name: '' };
  /** @type {AbortController | null} */
  #loading = null;
  /** @type {AbortController | null} */
  #running = null;

  /** @param {() => void} onChange called whenever something above has changed */
  constructor(onChange) {
    this.onChange = onChange;
  }

  /**
   * Loads a model; the one in use stays until the new one is complete.
   * @param {string | File[]} source
   * @param {string} name what to call it
   * @returns {Promise<boolean>} whether there is a new model now
   */
  async load(source, name) {
    this.#loading?.abort();
    const controller = new AbortController();
    this.#loading = controller;
    this.#asked = { source, name };
    if (!this.model) this.name = name;
    Object.assign(this, { phase: 'loading', progress: null, loadError: null });
    this.onChange();
    const meter = progressMeter();
    try {
      if (typeof source !== 'string') refuseWithoutTokenizer(source);
      const model = await loadModel(source, {
        signal: controller.signal,
        onProgress: (event) => {
          if (controller !== this.#loading || event.phase !== 'download') return;
          this.progress = meter(event);
          this.onChange();
        },
      });
      if (controller !== this.#loading) {
        model.dispose();
        return false;
      }
      this.#become(model, name);
      return true;
    } catch (error) {
      if (controller === this.#loading) this.#fail(error);
      return false;
    }
  }

  cancel() {
    this.#loading?.abort();
  }

  /** Leaves a failed attempt behind; the model in use stays. */
  dismiss() {
    if (this.model) this.phase = 'ready';
    this.onChange();
  }

  retry() {
    return this.load(this.#asked.source, this.#asked.name);
  }

  /** @param {Model} model  @param {string} name */
  #become(model, name) {
    this.#running?.abort();
    this.model?.dispose();
    Object.assign(this, { model, name, phase: 'ready', progress: null, runError: null });
    this.#loading = null;
    this.onChange();
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#loading = null;
    if (isAbort(error)) this.phase = 'cancelled';
    else Object.assign(this, { phase: 'failed', loadError: troubleOf(error) });
    this.onChange();
  }

  /**
   * Runs a text.
   * @param {string} text
   * @returns {Promise<Picture | null>} null: a newer text came in between, or it failed (see runError)
   */
  async run(text) {
    if (!this.model) return null;
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    this.busy = true;
    this.onChange();
    try {
      const picture = await this.#compute(this.model, text, controller.signal);
      if (controller !== this.#running) {
        picture.run.dispose();
        return null;
      }
      this.runError = null;
      return picture;
    } catch (error) {
      if (controller === this.#running && !isAbort(error)) this.runError = troubleOf(error);
      return null;
    } finally {
      if (controller === this.#running) {
        this.#running = null;
        this.busy = false;
        this.onChange();
      }
    }
  }

  /** @param {Model} model  @param {string} text  @param {AbortSignal} signal */
  async #compute(model, text, signal) {
    const start = performance.now();
    const run = await model.forward(text, { signal });
    const ms = performance.now() - start;
    try {
      return await Picture.of(run, { layers: model.info.layers, heads: model.info.heads }, ms);
    } catch (error) {
      run.dispose();
      throw error;
    }
  }
}
