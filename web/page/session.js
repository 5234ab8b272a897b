/**
 * The model, and the run behind the picture. Texts come faster than they can be run: the newest one wins, an older run
 * is aborted, and what stays on the screen until then is the last picture that was complete.
 */
import { init, loadModel } from 'qkv';
import { Picture } from './picture.js';
import { troubleOf } from './troubles.js';
import { tokenLabel } from './words/piece-label.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('./troubles.js').Trouble} Trouble */
/** @typedef {{ loaded: number, total: number | null, bytesPerSecond: number }} Progress */
/** @typedef {'loading' | 'ready' | 'failed' | 'cancelled'} Phase */
/** What to load. linkName: of a model from the disk, for the address; '': the one beside the page.
 * isCapped: the model itself takes longer texts than the page does
 * @typedef {{ source: string | File[], name: string, linkName: string, isCapped?: boolean, options?: Pick<import('qkv').LoadModelOptions, 'precision' | 'maxTokens'> }} Order */
/** A model, and what pictures of it need. @typedef {{ model: Model, shape: import('./picture.js').Shape }} Loaded */

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

/** Of no model. @type {import('./picture.js').Shape} */
const NO_SHAPE = { layers: 0, heads: 0, kvHeads: 0, causal: false, hasHead: false };

/** @param {import('qkv').ModelInfo} info @returns {import('./picture.js').Shape} */
const shapeOf = ({ layers, heads, kvHeads, kinds, headRows }) => ({
  ...{ layers, heads, kvHeads },
  causal: kinds[0] === 'decoder',
  hasHead: headRows > 1,
});

export class Session {
  /** @type {Loaded | null} */
  #loaded = null;
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
  /** Of the model in use, for the address. */
  linkName = '';
  /** The model in use takes longer texts than the page does. */
  isCapped = false;
  /** What can be tried again. @type {Order | null} */
  asked = null;
  /** @type {AbortController | null} */
  #loading = null;
  /** @type {AbortController | null} */
  #running = null;

  /** @param {() => void} onChange called whenever something above has changed */
  constructor(onChange) {
    this.onChange = onChange;
  }

  get model() {
    return this.#loaded?.model ?? null;
  }

  get shape() {
    return this.#loaded?.shape ?? NO_SHAPE;
  }

  /**
   * Loads a model; the one in use stays until the new one is complete.
   * @param {Order} order
   * @returns {Promise<boolean>} whether there is a new model now
   */
  async load(order) {
    this.#loading?.abort();
    const controller = new AbortController();
    this.#loading = controller;
    this.asked = order;
    if (!this.model) this.name = order.name;
    Object.assign(this, { phase: 'loading', progress: null, loadError: null });
    this.onChange();
    const meter = progressMeter();
    try {
      // More than one thread only where the server isolates the page.
      const engine = await init({ threads: 'auto' });
      const model = await loadModel(order.source, {
        ...order.options,
        engine,
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
      this.#become({ model, shape: shapeOf(model.info) }, order);
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

  async retry() {
    return this.asked !== null && this.load(this.asked);
  }

  /** @param {Loaded} loaded  @param {Order} order */
  #become(loaded, { name, linkName, isCapped = false }) {
    this.#running?.abort();
    this.model?.dispose();
    this.#loaded = loaded;
    Object.assign(this, { name, linkName, isCapped, phase: 'ready', progress: null, runError: null });
    this.#loading = null;
    this.onChange();
  }

  /** What could not even be started. @param {string} name  @param {unknown} error */
  refuse(name, error) {
    this.#loading?.abort();
    this.asked = null;
    if (!this.model) this.name = name;
    this.#fail(error);
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
   * @returns {Promise<Picture | null>} null: a newer call came in between, or it failed (see runError)
   */
  run(text) {
    return this.#alone(async ({ model, shape }, signal) => {
      const start = performance.now();
      const run = await model.forward(text, { signal });
      const ms = performance.now() - start;
      const labels = run.tokens.map((token) => tokenLabel(token, text));
      return pictureOf(run, { shape, tokens: run.tokens, labels, prompt: run.tokens.length, ms });
    });
  }

  /**
   * Goes on from a text.
   * @param {string} text
   * @param {import('qkv').GenerateOptions} options
   * @returns {Promise<Picture | null>} null: it was stopped or a newer call came in between, or it failed (see runError)
   */
  generate(text, options) {
    return this.#alone(async ({ model, shape }, signal) => {
      const start = performance.now();
      const run = await model.generate(text, { ...options, signal });
      const ms = performance.now() - start;
      const whole = text + (run.text ?? '');
      const labels = run.tokens.map((token) => tokenLabel(token, whole));
      return pictureOf(run, { shape, tokens: run.tokens, labels, prompt: run.promptTokens, ms });
    });
  }

  /**
   * A text and the tokens that were generated before generating was stopped.
   * @param {string} text
   * @param {import('qkv').NewToken[]} added
   * @returns {Promise<Picture | null>} as of run
   */
  take(text, added) {
    return this.#alone(async ({ model, shape }, signal) => {
      const start = performance.now();
      const given = await model.tokenize(text);
      const ids = [...given, ...added].map(({ id }) => id);
      const run = await model.forward({ ids }, { signal });
      const ms = performance.now() - start;
      const tokens = run.tokens.map((token, i) => given[i] ?? { ...token, special: added[i - given.length].special });
      const labels = tokens.map((token, i) => tokenLabel(token, i < given.length ? text : ''));
      return pictureOf(run, { shape, tokens, labels, prompt: given.length, ms });
    });
  }

  /** Ends what is being computed; the picture on the screen stays. */
  stop() {
    this.#running?.abort();
  }

  /**
   * One computation at a time: a newer one ends the older.
   * @param {(loaded: Loaded, signal: AbortSignal) => Promise<Picture>} compute
   * @returns {Promise<Picture | null>}
   */
  async #alone(compute) {
    if (!this.#loaded) return null;
    this.#running?.abort();
    const controller = new AbortController();
    this.#running = controller;
    this.busy = true;
    this.onChange();
    try {
      const picture = await compute(this.#loaded, controller.signal);
      if (controller !== this.#running || controller.signal.aborted) {
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
}

/** @param {import('qkv').Run} run  @param {Parameters<typeof Picture.of>[1]} parts */
async function pictureOf(run, parts) {
  try {
    return await Picture.of(run, parts);
  } catch (error) {
    run.dispose();
    throw error;
  }
}
