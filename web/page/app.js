/**
 * The page: one store of state, one session with the model, and the views between them. Views get arrays and send
 * events; everything that changes the picture goes through here.
 */
import { render } from 'lit';
import { findInHeads } from './findings.js';
import { onPageKey } from './keyboard.js';
import { pageTemplate } from './layout.js';
import { Sandbox } from './sandbox/sandbox.js';
import { Session } from './session.js';
import { createStore } from './store.js';
import { troubleOf } from './troubles.js';
import { browserLanguage, languageTag, translateTo } from './words/translate.js';

/** @typedef {import('./hash.js').PageState} PageState */
/** @typedef {import('./picture.js').Picture} Picture */
/** @typedef {import('./picture.js').Selection} Selection */
/** @typedef {import('./presets.js').Preset} Preset */

/** Long enough to swallow a burst of keys, too short to be felt. */
const TYPING_PAUSE_MS = 60;
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
  shape = { layers: 0, heads: 0 };
  /** What the copy button says for a moment. @type {string | null} */
  notice = null;
  #ticket = 0;
  #timer = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.store = createStore(window);
    this.session = new Session(() => this.render());
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

  /** @param {string | File[]} source  @param {string} name */
  async load(source, name) {
    if (await this.session.load(source, name)) await this.#adopt();
  }

  async retry() {
    if (await this.session.retry()) await this.#adopt();
  }

  /** A new model is there: show it. */
  async #adopt() {
    const { model } = this.session;
    if (!model) return;
    this.shape = { layers: model.info.layers, heads: model.info.heads };
    globalThis.qkv = { model, run: null };
    await this.#run();
  }

  #runSoon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#run(), TYPING_PAUSE_MS);
  }

  async #run() {
    const { text } = this.state;
    const picture = await this.session.run(text);
    if (!picture) return;
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
      this.labels = picture.tokens.map((token) => token.text);
      this.findings = findInHeads(picture.overview, picture.tokens);
      if (old) this.#retired.push(old);
    }
    this.render();
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

  /** @param {Preset} preset */
  choosePreset({ text, layer, head, row, col }) {
    this.store.set({ text, layer, head, row, col }, { step: true });
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

  /** @param {'help' | 'model'} name */
  openDialog(name) {
    const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(`${name}-dialog`));
    if (!dialog?.open) dialog?.showModal();
  }
}
