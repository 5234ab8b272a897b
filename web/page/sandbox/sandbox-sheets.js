/** The sheets of the sandbox: those that are filled by hand with their tools, and those that the engine answers with. */
import { html, nothing } from 'lit';
import { keyLabelsOf, labelsOf, shapeOf, valuesOf } from './setup.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('./presets.js').SheetName} SheetName */
/** @typedef {import('./setup.js').Fill} Fill */
/** @typedef {import('../words/translate.js').WordKey} WordKey */
/**
 * @typedef {object} Shown
 * @property {readonly string[]} symbol name, subscript, superscript
 * @property {unknown} [of] where it comes from, in words or as a formula
 * @property {Float32Array} values
 * @property {readonly string[]} rows
 * @property {readonly string[]} [cols] default: numbers
 * @property {number} [first] of the columns' numbers
 * @property {'number' | 'weight'} [kind]
 * @property {Float32Array} [sums]
 * @property {number} [group]
 * @property {readonly [number, number] | null} [mark]
 */

/** @type {Record<SheetName, readonly string[]>} */
const SYMBOLS = { x: ['X'], y: ['Y'], wq: ['W', 'Q'], wk: ['W', 'K'], wv: ['W', 'V'], wo: ['W', 'O'], mask: [''] };

/** @type {Record<'number' | 'mask', [Fill, WordKey][]>} */
const FILLS = {
  number: [
    ['random', 'fillRandom'],
    ['zero', 'fillZero'],
    ['identity', 'fillIdentity'],
    ['preset', 'fillPreset'],
  ],
  mask: [
    ['open', 'fillOpen'],
    ['causal', 'fillCausal'],
    ['preset', 'fillPreset'],
  ],
};

/** @param {number} count  @param {number} [first] */
const numbers = (count, first = 0) => Array.from({ length: count }, (_, i) => String(first + i));

/** What the engine answered. @param {App} app  @param {Shown} shown */
export function answerSheet({ t, theme, sandbox }, shown) {
  const { symbol, values, rows, kind = 'number', sums = null, group = 0, mark = null, of = '' } = shown;
  const cols = shown.cols ?? numbers(values.length / rows.length, shown.first);
  return html`<div class="cell-block">
    <qkv-sheet class="view" .symbol=${symbol} .of=${of} .shape=${[rows.length, cols.length]} .values=${values} .rowLabels=${rows} .colLabels=${cols}
      .kind=${kind} .sums=${sums} .group=${group} .mark=${mark} .spelled=${sandbox.spelled} .theme=${theme} .t=${t}></qkv-sheet>
  </div>`;
}

/** What is filled by hand. @param {App} app  @param {SheetName} name  @param {{ group?: number, mark?: readonly [number, number] | null }} [columns] */
export function inputSheet(app, name, { group = 0, mark = null } = {}) {
  const { t, theme, sandbox } = app;
  const { setup } = sandbox;
  const shape = shapeOf(setup, name);
  const isMask = name === 'mask';
  const rows = name === 'x' || isMask ? labelsOf(setup, 'x') : name === 'y' ? labelsOf(setup, 'y') : numbers(shape[0]);
  const cols = isMask ? keyLabelsOf(setup) : numbers(shape[1]);
  const symbol = isMask ? [t('maskSheetLabel')] : SYMBOLS[name];
  return html`<div class="cell-block" data-sheet=${name}>
    <qkv-sheet class="view" .symbol=${symbol} .of=${isMask ? t(setup.heads > 1 ? 'stepAddedAll' : 'stepAdded') : ''} .shape=${shape} .values=${valuesOf(setup, name)} .rowLabels=${rows} .colLabels=${cols}
      .kind=${isMask ? 'mask' : 'number'} .editable=${true} .group=${group} .mark=${mark} .spelled=${sandbox.spelled} .theme=${theme} .t=${t}
      @edit-cells=${(/** @type {CustomEvent<[number, number, number][]>} */ event) => sandbox.edit(name, event.detail)}
      @paste-block=${(/** @type {CustomEvent<string>} */ event) => sandbox.paste(name, event.detail)}
      @sheet-problem=${(/** @type {CustomEvent<import('./sandbox.js').Problem>} */ event) => sandbox.complain(name, event.detail)}></qkv-sheet>
    ${tools(app, name, symbol)}
  </div>`;
}

/** @param {App} app  @param {SheetName} name  @param {readonly string[]} symbol */
function tools(app, name, symbol) {
  const { t, sandbox } = app;
  const spoken = symbol.join('_');
  const isOpen = sandbox.pasting === name;
  return html`<div class="sheet-tools" role="group" aria-label=${spoken}>
      ${FILLS[name === 'mask' ? 'mask' : 'number'].map(
        ([
          fill,
          word,
        ]) => html`<button type="button" class="tool" aria-label=${t('fillOf', { name: spoken, fill: t(word) })} title=${t(word)}
          @click=${() => sandbox.fill(name, fill)}>${fill === 'identity' ? 'I' : t(word)}</button>`,
      )}
      <button type="button" class="tool" aria-expanded=${isOpen} aria-label=${t('fillOf', { name: spoken, fill: t('pasteOpen') })}
        @click=${() => sandbox.openPaste(name)}>${t('pasteOpen')}</button>
    </div>${isOpen ? pasteBox(app, name, spoken) : nothing}`;
}

/** @param {App} app  @param {SheetName} name  @param {string} spoken */
function pasteBox({ t, sandbox }, name, spoken) {
  const [rows, cols] = shapeOf(sandbox.setup, name);
  const hint = t('pasteHint', { rows, cols });
  const apply = (/** @type {Event} */ event) => {
    const box = /** @type {HTMLElement} */ (event.currentTarget).closest('.paste-box')?.querySelector('textarea');
    if (box) sandbox.paste(name, box.value);
  };
  return html`<div class="paste-box"><textarea rows="4" spellcheck="false" autocomplete="off" aria-label=${t('fillOf', { name: spoken, fill: hint })}
      placeholder=${hint}></textarea><button type="button" class="pill" @click=${apply}>${t('pasteApply')}</button></div>`;
}
