/**
 * The sandbox behind the picture: its setup is the text in the page's state, its answer the engine's. The engine is
 * started when the sandbox is opened for the first time; the sizes are so small that it computes in this thread.
 */
import { init } from 'qkv';
import { attend } from './attention.js';
import { parseBlock } from './block.js';
import { readSetup, writeSetup } from './link.js';
import { changed, edited, filled, labelled, MOST, setupOf, shapeOf, tidy } from './setup.js';
import { measureWidths } from './widths.js';

/** @typedef {import('qkv').Engine} Engine */
/** @typedef {import('./attention.js').Answer} Answer */
/** @typedef {import('./setup.js').Setup} Setup */
/** @typedef {import('./presets.js').SheetName} SheetName */
/** @typedef {{ problem: import('../words/translate.js').WordKey, facts: Record<string, string | number> }} Problem */

/** @param {unknown} error */
const sentenceOf = (error) => (error instanceof Error ? error.message : String(error));

export class Sandbox {
  /** @type {Engine | null} */
  #engine = null;
  #starting = false;
  #read = { text: '', setup: readSetup('') };
  /** @type {{ setup: Setup, answer: Answer } | null} */
  #computed = null;
  /** @type {import('./widths.js').WidthRow[] | null} */
  #widths = null;
  /** One sentence about what went wrong. @type {string | null} */
  error = null;
  /** What was wrong with what was put into a sheet. @type {(Problem & { sheet: SheetName }) | null} */
  problem = null;
  /** All numbers in their cells. */
  spelled = false;
  /** The sheet whose box for pasting is open. @type {SheetName | null} */
  pasting = null;

  /**
   * @param {object} page
   * @param {() => string} page.text the setup in the page's state
   * @param {(text: string, step: boolean) => void} page.become
   * @param {() => void} page.onChange
   */
  constructor({ text, become, onChange }) {
    this.page = { text, become, onChange };
  }

  get setup() {
    const text = this.page.text();
    if (text !== this.#read.text) this.#read = { text, setup: readSetup(text) };
    return this.#read.setup;
  }

  /** Starts the engine; a second call does nothing. */
  async open() {
    if (this.#engine || this.#starting || this.error) return;
    this.#starting = true;
    try {
      this.#engine = await init();
    } catch (error) {
      this.error = sentenceOf(error);
    }
    this.#starting = false;
    this.page.onChange();
  }

  /** A new engine after one that failed. */
  retry() {
    this.#engine = null;
    this.#computed = null;
    this.error = null;
    return this.open();
  }

  /** The engine's answer to the setup; null while there is none. @returns {Answer | null} */
  get answer() {
    const { setup } = this;
    if (this.#engine && !this.error && this.#computed?.setup !== setup) {
      try {
        this.#computed = { setup, answer: attend(this.#engine, setup) };
      } catch (error) {
        this.error = sentenceOf(error);
      }
    }
    return this.#computed?.setup === setup ? this.#computed.answer : null;
  }

  get widths() {
    if (this.#engine) this.#widths ??= measureWidths(this.#engine);
    return this.#widths;
  }

  /** @param {Setup} setup  @param {boolean} [step] a place to come back to */
  become(setup, step = false) {
    const text = writeSetup(setup);
    const isNew = text !== this.page.text();
    this.problem = null;
    if (isNew) this.page.become(text, step);
    else this.page.onChange();
  }

  /** @param {Setup['preset']} preset */
  choose(preset) {
    this.pasting = null;
    this.become(setupOf(preset), true);
  }

  /** @param {Parameters<typeof changed>[1]} patch */
  change(patch) {
    this.become(changed(this.setup, patch));
  }

  /** @param {1 | -1} by */
  stepHead(by) {
    this.change({ head: this.setup.head + by });
  }

  /** @param {SheetName} name  @param {[number, number, number][]} cells */
  edit(name, cells) {
    this.become(edited(this.setup, name, cells));
    const beyond = cells.map(([, , value]) => value).find((value) => Math.abs(value) > MOST.value);
    if (beyond === undefined) return;
    const written = (/** @type {number} */ value) => String(value).replace(/^-/, '−');
    const facts = { got: written(beyond), most: MOST.value, took: written(tidy(beyond)) };
    this.complain(name, { problem: 'numberLimited', facts });
  }

  /** @param {SheetName} name  @param {import('./setup.js').Fill} fill */
  fill(name, fill) {
    this.become(filled(this.setup, name, fill));
  }

  /** @param {'x' | 'y'} side  @param {number} index  @param {string} label */
  label(side, index, label) {
    this.become(labelled(this.setup, side, index, label));
  }

  /** @param {SheetName} name  @param {string} text  @returns {boolean} whether the block was taken */
  paste(name, text) {
    const block = parseBlock(text, shapeOf(this.setup, name));
    if ('problem' in block) {
      this.complain(name, block);
      return false;
    }
    const cells = block.values.flatMap((row, i) =>
      row.map(
        (value, j) => /** @type {[number, number, number]} */ ([i, j, name === 'mask' ? Number(value !== 0) : value]),
      ),
    );
    this.pasting = null;
    this.edit(name, cells);
    return true;
  }

  /** @param {SheetName} sheet  @param {Problem} problem */
  complain(sheet, problem) {
    this.problem = { ...problem, sheet };
    this.page.onChange();
  }

  /** @param {SheetName | null} name */
  openPaste(name) {
    this.pasting = this.pasting === name ? null : name;
    this.problem = null;
    this.page.onChange();
  }

  /** @param {boolean} spelled */
  spell(spelled) {
    this.spelled = spelled;
    this.page.onChange();
  }
}
