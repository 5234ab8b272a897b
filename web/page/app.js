/**
 * The page: one store of state, one session with the model, and the views between them. Views get arrays and send
 * events; everything that changes the picture goes through here.
 */
import { render } from 'lit';
import { findInHeads } from './findings.js';
import { withoutFirst } from './first-column.js';
import { Generation } from './generation.js';
import { LAST, LIMITS } from './hash.js';
import { onPageKey } from './keyboard.js';
import { pageTemplate } from './layout.js';
import { maskReason } from './mask.js';
import { Opening } from './opening.js';
import { Sandbox } from './sandbox/sandbox.js';
import { Session } from './session.js';
import { createStore } from './store.js';
import { troubleOf } from './troubles.js';
import { added } from './typed-token.js';
import { browserLanguage, languageTag, translateTo } from './words/translate.js';

/** @typedef {import('./hash.js').PageState} PageState */
/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {import('./picture.js').Selection} Selection */

/** Long enough to swallow a burst of keys, too short to be felt; a slow model waits for a longer pause. */
const TYPING_PAUSE_MS = { least: 60, most: 600 };
const DARK = '(prefers-color-scheme: dark)';

export class App {
  /** The picture on the screen. @type {Picture | null} */
  picture = null;
  /** The newest complete picture, perhaps not drawn yet. @type {Picture | null} */
  #newest = null;
  /** The text it shows. */
  #text = '';
  /** Pictures that are no longer on the screen. @type {Picture[]} */
  #retired = [];
  /** @type {Selection | null} */
  selection = null;
  /** @type {string[]} */
  labels = [];
  /** @type {import('./findings.js').Finding[]} */
  findings = [];
  /** The weights as they are shown. @type {Float32Array} */
  weights = new Float32Array(0);
  /** Why a cell of the head on the screen shows no weight. @type {import('./first-column.js').ReasonOf} */
  reasonOf = () => null;
  /** What the copy button says for a moment. @type {string | null} */
  notice = null;
  #ticket = 0;
  #timer = 0;
  /** Milliseconds the newest picture took, from the text to the screen. */
  #lastTime = 0;

  /**
   * @param {HTMLElement} root
   * @param {import('./session.js').Order} bundled the model beside the page
   */
  constructor(root, bundled) {
    this.root = root;
    this.bundled = bundled;
    this.store = createStore(window);
    this.session = new Session(() => this.render());
    this.generation = new Generation(this.session, () => this.render());
    this.opening = new Opening();
    this.sandbox = new Sandbox({
      text: () => this.state.sandbox,
      become: (sandbox, step) => this.store.set({ sandbox }, { step }),
      onChange: () => this.render(),
    });
    this.darkSystem = matchMedia(DARK);
    this.darkSystem.addEventListener('change', () => this.render());
    window.addEventListener('keydown', (event) => onPageKey(this, event));
    this.store.subscribe((state, before) => this.#onState(state, before));
  }

  get state() {
    return this.store.state;
  }

  /** @returns {import('./words/translate.js').Language} */
  get language() {
    return this.state.lang ?? browserLanguage(navigator.languages);
  }

  get shape() {
    return this.session.shape;
  }

  /** Whether the presets' places were chosen in the model that is in use. */
  get isBundled() {
    return this.session.linkName === '';
  }

  get t() {
    return translateTo(this.language);
  }

  /** @returns {'light' | 'dark'} */
  get theme() {
    return this.state.theme ?? (this.darkSystem.matches ? 'dark' : 'light');
  }

  /** Where the picture is; before there is one, where it will be. */
  get place() {
    const { layer, head, row, col } = this.state;
    return this.selection?.place ?? { layer, head, row, col };
  }

  /** The place asked for last, which keys move on from even when they come faster than pictures. */
  get wanted() {
    return this.picture?.clamp(this.state) ?? this.place;
  }

  /** @param {PageState} state  @param {PageState} before */
  #onState(state, before) {
    if (state.text !== before.text) this.generation.clear();
    if (state.first !== before.first) this.#dress();
    this.render();
    this.#keepFocus();
    if (state.text !== before.text) this.#runSoon();
    else if (
      ['layer', 'head', 'row', 'col'].some(
        (key) => state[/** @type {'row'} */ (key)] !== before[/** @type {'row'} */ (key)],
      )
    ) {
      void this.#refresh();
    }
  }

  /** Keys and the back button may choose another head while one of the grid has the focus: it goes along. */
  #keepFocus() {
    if (!document.activeElement?.matches('qkv-heads [role=gridcell]')) return;
    const { layer, head } = this.wanted;
    /** @type {HTMLElement | null} */ (
      this.root.querySelector(`[data-layer="${layer}"][data-head="${head}"]`)
    )?.focus();
  }

  /** @param {import('./session.js').Order} order */
  async load(order) {
    if (await this.session.load(order)) await this.#adopt();
  }

  /** From a model of the disk back to the one beside the page. */
  async loadBundled() {
    if (!(await this.session.load(this.bundled))) return;
    this.store.set({ model: '' });
    await this.#adopt();
  }

  async retry() {
    if (await this.session.retry()) await this.#adopt();
  }

  /** Files from the disk: says what they are, and asks how to load them. @param {File[]} files  @param {string} folder */
  async openFiles(files, folder) {
    try {
      if (!(await this.opening.read(files, folder))) return;
    } catch (error) {
      this.session.refuse(folder || (files[0]?.name ?? ''), error);
      return;
    }
    this.session.dismiss();
    this.render();
    this.openDialog('open');
  }

  /** @param {import('./opening.js').Choice} choice */
  choosePrecision(choice) {
    this.opening.choice = choice;
    this.render();
  }

  async loadOpened() {
    const order = this.opening.order();
    this.closeOpening();
    await this.load(order);
  }

  closeOpening() {
    if (!this.opening.preview) return;
    this.opening.close();
    /** @type {HTMLDialogElement | null} */ (document.getElementById('open-dialog'))?.close();
    this.render();
  }

  /** A new model is there: show it. A link's model that is not is named until another one is chosen. */
  async #adopt() {
    const { model, linkName } = this.session;
    if (!model) return;
    globalThis.qkv = { model, run: null };
    this.generation.clear();
    this.#lastTime = 0;
    if (linkName !== '') this.store.set({ model: linkName, ...(this.shape.causal ? { row: LAST } : {}) });
    await this.#run();
  }

  #runSoon() {
    clearTimeout(this.#timer);
    const { least, most } = TYPING_PAUSE_MS;
    const pause = Math.max(least, Math.min(most, this.#lastTime / 2));
    this.#timer = window.setTimeout(() => void this.#run(), pause);
  }

  async #run() {
    clearTimeout(this.#timer);
    const { text } = this.state;
    const start = performance.now();
    const picture = await this.session.run(text);
    if (!picture) return;
    await this.#show(picture, text);
    this.#lastTime = performance.now() - start;
  }

  /** @param {Picture} picture  @param {string} text that was given for it */
  async #show(picture, text) {
    this.#text = text;
    if (this.#newest !== this.picture) this.#newest?.run.dispose();
    this.#newest = picture;
    await this.#refresh();
  }

  /** Draws the newest picture at the newest place; an older call that is still waiting gives up. */
  async #refresh() {
    const picture = this.#newest;
    if (!picture) return;
    const ticket = ++this.#ticket;
    const { state } = this;
    try {
      const selection = await picture.select(state);
      if (ticket !== this.#ticket) return;
      this.#become(picture, selection);
      if (state.text === this.#text) this.store.shown(state, selection.place);
    } catch (error) {
      if (ticket !== this.#ticket) return;
      this.session.runError = troubleOf(error);
      this.render();
      return;
    }
    await this.drawn();
    if (this.picture === picture) this.#publish(picture);
  }

  /** The drawn run becomes the console's; those before it are given back. @param {Picture} picture */
  #publish(picture) {
    if (globalThis.qkv) globalThis.qkv.run = picture.run;
    for (const old of this.#retired.splice(0)) old.run.dispose();
  }

  /** @param {Picture} picture  @param {Selection} selection */
  #become(picture, selection) {
    const old = this.picture;
    this.selection = selection;
    if (old !== picture) {
      this.picture = picture;
      this.labels = picture.labels;
      this.findings = findInHeads(picture);
      if (old) this.#retired.push(old);
    }
    this.#dress();
    this.render();
  }

  /** What of the head is shown. */
  #dress() {
    if (!this.selection) return;
    const { mask, head } = this.selection;
    const hidesFirst = this.state.first === 'hidden';
    this.weights = hidesFirst ? withoutFirst(head.weights, this.labels.length) : head.weights;
    this.reasonOf = (row, col) => (hidesFirst && col === 0 ? 'first' : maskReason(mask, row, col));
  }

  /** Resolves when every view has drawn what it was given. */
  async drawn() {
    const views = /** @type {NodeListOf<import('./views/view.js').View>} */ (this.root.querySelectorAll('.view'));
    for (const view of views) while (!(await view.updateComplete));
  }

  render() {
    this.#dressDocument();
    if (this.state.place === 'sandbox') void this.sandbox.open();
    render(pageTemplate(this), this.root);
  }

  /** Theme, language and title; only when they change, since the style of everything hangs on them. */
  #dressDocument() {
    const { documentElement: root } = document;
    const lang = languageTag(this.language);
    if (root.dataset.theme !== this.theme) root.dataset.theme = this.theme;
    if (root.lang === lang && document.title === this.t('title')) return;
    root.lang = lang;
    document.title = this.t('title');
  }

  /** @param {string} text */
  type(text) {
    this.store.set({ text });
  }

  /** @param {import('./presets.js').AnyPreset} preset */
  choosePreset({ text, layer, head, row, col }) {
    const elsewhere = this.shape.causal ? { text, row: LAST } : { text };
    this.store.set(this.isBundled ? { text, layer, head, row, col } : elsewhere, { step: true });
  }

  async generate() {
    clearTimeout(this.#timer);
    const { state } = this;
    const picture = await this.generation.run(state.text, state);
    if (!picture) return;
    this.store.set({ row: LAST });
    await this.#show(picture, state.text);
  }

  stopGenerating() {
    this.generation.stop();
    this.render();
  }

  /** @param {keyof typeof LIMITS} name  @param {number} value */
  setGeneration(name, value) {
    const { least, most, step } = LIMITS[name];
    if (!Number.isFinite(value)) return;
    const tidy = step < 1 ? Math.round(value * 100) / 100 : Math.round(value);
    this.store.set({ [name]: Math.max(least, Math.min(most, tidy)) });
  }

  /** The generated text becomes part of the sentence. */
  keepText() {
    this.store.set({ text: this.state.text + this.generation.text, row: LAST }, { step: true });
  }

  /** A token that the model's head proposes becomes part of the text. @param {string} piece */
  addToken(piece) {
    const { picture, place, state } = this;
    const at = { row: place.row, text: state.text, generated: this.generation };
    const text = picture && added(piece, { picture, ...at });
    if (text === null) return;
    this.store.set(picture?.shape.causal ? { text, row: LAST } : { text }, { step: true });
  }

  /** @param {{ layer: number, head: number }} wanted */
  pickHead({ layer, head }) {
    const { layers, heads } = this.shape;
    if (layer < 0 || head < 0 || layer >= layers || head >= heads) return;
    this.store.set({ layer, head }, { step: true });
  }

  /** @param {{ row: number, col: number }} wanted */
  pickCell({ row, col }) {
    const last = this.labels.length - 1;
    if (row < 0 || col < 0 || row > last || col > last) return;
    this.store.set({ row, col });
  }

  /** One head on or back, over the ends of layers. @param {1 | -1} by */
  stepHead(by) {
    const { layer, head } = this.wanted;
    const { layers, heads } = this.shape;
    const next = layer * heads + head + by;
    if (next >= 0 && next < layers * heads) this.pickHead({ layer: Math.floor(next / heads), head: next % heads });
  }

  /** @param {Partial<PageState>} patch */
  choose(patch) {
    this.store.set(patch, { step: true });
  }

  async copyLink() {
    const { t } = this;
    this.store.flush();
    const { link, missing, max } = this.store.link();
    try {
      await navigator.clipboard.writeText(link);
      this.notice = missing.sandbox ? t('sandboxTooLong') : missing.text ? t('linkTooLong', { max }) : t('copied');
    } catch {
      this.notice = t('copyFailed');
    }
    this.render();
    window.setTimeout(() => {
      this.notice = null;
      this.render();
    }, 2500);
  }

  /** @param {import('./dialog-frame.js').DialogName} name */
  openDialog(name) {
    const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(`${name}-dialog`));
    if (!dialog?.open) dialog?.showModal();
  }
}
