/**
 * A matrix as a grid of numbers, one tab stop, arrow keys move. One that can be edited takes typing, dragging up and
 * down, and pasting; a mask is switched cell by cell. What was done goes out as events, the numbers come back as
 * properties.
 */
import { html, nothing } from 'lit';
import { guard } from 'lit/directives/guard.js';
import { colourMap } from '../palette.js';
import { parseNumber } from '../sandbox/block.js';
import { shown } from './shown-number.js';
import { dressCell, drawSheet, strongest } from './sheet-cells.js';
import { View } from './view.js';

/** @typedef {{ row: number, col: number }} Cell */

/** More columns than this stand closer together. */
const MOST_ROOMY = 8;
/** More columns than this are colours only, unless all numbers are asked for. */
const MOST_NUMBERS = 16;
/** More cells than this are a picture until someone wants to change them. */
const MOST_CELLS = 1024;
const DRAG_START = 4;
const DRAG_STEP = 0.02;

/** Where a key leads. @type {Record<string, (at: Cell, last: Cell, ctrl: boolean) => Cell>} */
const MOVES = {
  ArrowUp: ({ row, col }) => ({ row: row - 1, col }),
  ArrowDown: ({ row, col }) => ({ row: row + 1, col }),
  ArrowLeft: ({ row, col }) => ({ row, col: col - 1 }),
  ArrowRight: ({ row, col }) => ({ row, col: col + 1 }),
  Home: ({ row }, _, ctrl) => ({ row: ctrl ? 0 : row, col: 0 }),
  End: ({ row }, last, ctrl) => ({ row: ctrl ? last.row : row, col: last.col }),
};
/** How much a key adds to the number under it. @type {Record<string, number>} */
const NUDGES = { PageUp: 0.1, PageDown: -0.1 };

export class NumberSheet extends View {
  static properties = {
    symbol: { attribute: false },
    of: { attribute: false },
    shape: { attribute: false },
    values: { attribute: false },
    rowLabels: { attribute: false },
    colLabels: { attribute: false },
    kind: { attribute: false },
    editable: { attribute: false },
    mark: { attribute: false },
    group: { attribute: false },
    sums: { attribute: false },
    spelled: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
    at: { state: true },
    hover: { state: true },
    editing: { state: true },
    opened: { state: true },
  };

  constructor() {
    super();
    /** Name, subscript, superscript. @type {readonly string[]} */
    this.symbol = [''];
    /** Where it comes from, in words or as a formula. @type {unknown} */
    this.of = '';
    /** @type {readonly [rows: number, cols: number]} */
    this.shape = [0, 0];
    this.values = new Float32Array(0);
    /** @type {readonly string[]} */
    this.rowLabels = [];
    /** @type {readonly string[]} */
    this.colLabels = [];
    /** @type {import('./sheet-cells.js').SheetKind} */
    this.kind = 'number';
    this.editable = false;
    /** Columns that belong to the chosen head, [from, to). @type {readonly [number, number] | null} */
    this.mark = null;
    /** Columns of a head; 0: not divided. */
    this.group = 0;
    /** Sums of the rows, to be shown. @type {Float32Array | null} */
    this.sums = null;
    /** All numbers, however many columns. */
    this.spelled = false;
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
    /** @type {Cell} */
    this.at = { row: 0, col: 0 };
    /** @type {Cell | null} */
    this.hover = null;
    /** A large one as a grid, not as a picture. */
    this.opened = false;
    /** What the editor opens with; null: closed. @type {string | null} */
    this.editing = null;
    /** @type {{ cell: Cell, y: number, value: number, moved: boolean, again: boolean } | null} */
    this.drag = null;
  }

  get name() {
    const [base, below, above] = this.symbol;
    return `${base}${below ? `_${below}` : ''}${above ? `^${above}` : ''}`;
  }

  get isCompact() {
    return !this.spelled && this.shape[1] > MOST_NUMBERS;
  }

  get isDense() {
    return !this.spelled && !this.isCompact && this.shape[1] > MOST_ROOMY;
  }

  get isPicture() {
    return !this.opened && this.shape[0] * this.shape[1] > MOST_CELLS;
  }

  render() {
    const [rows, cols] = this.shape;
    const [base, below, above] = this.symbol;
    return html`<figure class="sheet" data-kind=${this.kind} ?data-compact=${this.isCompact} ?data-dense=${this.isDense} ?data-editable=${this.editable}>
      <figcaption class="sheet-head"><span class="sheet-name">${base}${below ? html`<sub>${below}</sub>` : nothing}${above ? html`<sup>${above}</sup>` : nothing}</span>
        <span class="shape">(${rows}, ${cols})</span> <span class="sheet-of">${this.of}</span></figcaption>
      ${this.isPicture ? this.picture() : this.grid()}
    </figure>`;
  }

  picture() {
    const [rows, cols] = this.shape;
    return html`<canvas class="sheet-picture" role="img" aria-label=${this.t('sheetPicture', { name: this.name, rows, cols })}></canvas>
      <button type="button" class="tool" @click=${() => {
        this.opened = true;
      }}>${this.t('sheetOpen', { n: rows * cols })}</button>`;
  }

  grid() {
    const [rows, cols] = this.shape;
    const label = this.t(this.editable ? 'sheetEditable' : 'sheetLabel', { name: this.name, rows, cols });
    return html`<div class="sheet-scroll">
        <table role="grid" aria-label=${label} aria-readonly=${!this.editable} @keydown=${this.onKey} @paste=${this.onPaste} @copy=${this.onCopy}
          @pointerdown=${this.onDown} @pointermove=${this.onMove} @pointerup=${this.onUp} @pointercancel=${this.onUp} @pointerleave=${this.onLeave}
          @dblclick=${this.onDouble} @focusin=${this.onFocus}>
          ${guard([rows, cols, this.rowLabels.join('\n'), this.colLabels.join('\n'), this.group, this.sums !== null], () => this.body())}
        </table>
        <input class="sheet-editor" type="text" autocomplete="off" spellcheck="false" ?hidden=${this.editing === null} aria-label=${this.readout(this.at)}
          @keydown=${this.onEditorKey} @blur=${() => this.commit(false)} @paste=${this.onPaste} />
      </div>
      <p class="sheet-read" aria-hidden="true">${this.readout(this.hover ?? this.at)}</p>`;
  }

  body() {
    const [, cols] = this.shape;
    const edge = (/** @type {number} */ col) => (this.group && col && col % this.group === 0 ? 'edge' : '');
    return html`<thead><tr><td role="presentation"></td>${this.colLabels.map((label, col) => html`<th scope="col" class=${edge(col)} title=${label}>${label}</th>`)}
      ${this.sums ? html`<th scope="col" class="sum">Σ</th>` : nothing}</tr></thead>
    <tbody>${this.rowLabels.map(
      (label, row) => html`<tr><th scope="row" title=${label}>${label}</th>
      ${Array.from({ length: cols }, (_, col) => html`<td role="gridcell" class=${edge(col)} data-row=${row} data-col=${col} tabindex="-1"></td>`)}
      ${this.sums ? html`<td class="sum"></td>` : nothing}</tr>`,
    )}</tbody>`;
  }

  /** @param {Cell} cell */
  readout({ row, col }) {
    const value = this.values[row * this.shape[1] + col];
    if (value === undefined) return '';
    const text = this.kind === 'mask' ? this.t(value ? 'maskAllowed' : 'maskedOut') : shown(value);
    return `${this.name}[${this.rowLabels[row]}, ${this.colLabels[col]}] = ${text}`;
  }

  willUpdate() {
    const [rows, cols] = this.shape;
    const { row, col } = this.at;
    if (row >= rows || col >= cols) this.at = { row: Math.min(row, rows - 1), col: Math.min(col, cols - 1) };
  }

  /** @param {Map<string, unknown>} changed */
  updated(changed) {
    const most = strongest(this.values);
    if (this.isPicture) {
      const colours = { plus: this.colour('--accent'), minus: this.colour('--warn'), zero: this.colour('--bg') };
      drawSheet(
        /** @type {HTMLCanvasElement} */ (this.querySelector('canvas')),
        this.values,
        this.shape,
        most,
        colours,
      );
      return;
    }
    const cells = this.querySelectorAll('td[role=gridcell]');
    const map = colourMap(this.theme);
    const [from, to] = this.mark ?? [0, 0];
    const cols = this.shape[1];
    cells.forEach((element, i) => {
      const cell = /** @type {HTMLElement} */ (element);
      const col = i % cols;
      dressCell(cell, this.values[i], this.kind, most, map);
      cell.tabIndex = i === this.at.row * cols + this.at.col ? 0 : -1;
      cell.classList.toggle('on', col >= from && col < to);
    });
    this.querySelectorAll('td.sum').forEach((cell, row) => {
      cell.textContent = (this.sums?.[row] ?? 0).toFixed(3);
    });
    if (changed.has('editing') && this.editing !== null) this.placeEditor();
  }

  // ---- moving -------------------------------------------------------------------------------------------------------

  /** @param {Cell} cell */
  cellAt({ row, col }) {
    return /** @type {HTMLElement} */ (this.querySelector(`td[data-row="${row}"][data-col="${col}"]`));
  }

  /** @param {Event} event  @returns {Cell | null} */
  cellOf(event) {
    const cell = /** @type {HTMLElement} */ (event.target).closest('td[role=gridcell]');
    return cell instanceof HTMLElement ? { row: Number(cell.dataset.row), col: Number(cell.dataset.col) } : null;
  }

  /** @param {FocusEvent} event */
  onFocus(event) {
    this.at = this.cellOf(event) ?? this.at;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const cell = this.cellOf(event);
    if (!cell || event.altKey || event.metaKey) return;
    const last = { row: this.shape[0] - 1, col: this.shape[1] - 1 };
    const move = MOVES[event.key];
    if (move) {
      const next = move(cell, last, event.ctrlKey);
      if (next.row >= 0 && next.col >= 0 && next.row <= last.row && next.col <= last.col) this.cellAt(next).focus();
    } else if (event.ctrlKey || !this.editable || !this.editKey(event, cell)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {KeyboardEvent} event  @param {Cell} cell  @returns {boolean} whether the key meant something */
  editKey(event, cell) {
    if (this.kind === 'mask') {
      if (event.key !== 'Enter' && event.key !== ' ') return false;
      this.toggle(cell);
    } else if (event.key === 'Enter' || event.key === 'F2') this.edit(cell);
    else if (NUDGES[event.key]) {
      this.put(cell, this.valueAt(cell) + NUDGES[event.key] * (event.shiftKey ? 10 : 1));
    } else if (event.key === 'Delete' || event.key === 'Backspace') this.put(cell, 0);
    else if (/^[-−+.\d]$/.test(event.key)) this.edit(cell, event.key);
    else return false;
    return true;
  }

  // ---- changing -----------------------------------------------------------------------------------------------------

  /** @param {Cell} cell */
  valueAt({ row, col }) {
    return this.values[row * this.shape[1] + col];
  }

  /** @param {Cell} cell  @param {number} value */
  put({ row, col }, value) {
    this.emit('edit-cells', [[row, col, value]]);
  }

  /** @param {Cell} cell */
  toggle(cell) {
    this.put(cell, this.valueAt(cell) ? 0 : 1);
  }

  /** Opens the editor over a cell. @param {Cell} cell  @param {string} [text] */
  edit(cell, text) {
    this.at = cell;
    this.editing = text ?? String(Number(this.valueAt(cell).toPrecision(6)));
    this.overwrites = text !== undefined;
  }

  get editor() {
    return /** @type {HTMLInputElement} */ (this.querySelector('.sheet-editor'));
  }

  placeEditor() {
    const { editor } = this;
    const cell = this.cellAt(this.at);
    const side = { left: cell.offsetLeft, top: cell.offsetTop, width: cell.offsetWidth, height: cell.offsetHeight };
    for (const [name, size] of Object.entries(side)) editor.style.setProperty(name, `${size}px`);
    editor.value = this.editing ?? '';
    editor.focus();
    if (!this.overwrites) editor.select();
  }

  /** @param {KeyboardEvent} event */
  onEditorKey(event) {
    event.stopPropagation();
    if (event.key === 'Enter') this.commit(true);
    else if (event.key === 'Escape') this.close(true);
    else return;
    event.preventDefault();
  }

  /** Takes the typed number over; one that is none stays to be corrected. @param {boolean} stays with the focus in the grid */
  commit(stays) {
    if (this.editing === null) return;
    const value = parseNumber(this.editor.value);
    if (Number.isFinite(value)) this.put(this.at, value);
    else if (this.editor.value.trim() !== '')
      this.emit('sheet-problem', { problem: 'notANumber', facts: { got: this.editor.value.slice(0, 24) } });
    this.close(stays);
  }

  /** @param {boolean} stays */
  close(stays) {
    this.editing = null;
    if (stays) this.cellAt(this.at).focus();
  }

  /** @param {ClipboardEvent} event */
  onPaste(event) {
    const text = event.clipboardData?.getData('text') ?? '';
    if (!this.editable) return;
    const isOne = Number.isFinite(parseNumber(text));
    if (isOne && this.editing !== null) return;
    event.preventDefault();
    this.editing = null;
    if (isOne && this.kind !== 'mask') this.put(this.at, parseNumber(text));
    else this.emit('paste-block', text);
  }

  /** Gives the whole matrix, to be pasted elsewhere. @param {ClipboardEvent} event */
  onCopy(event) {
    const cols = this.shape[1];
    const lines = this.rowLabels.map((_, row) => [...this.values.subarray(row * cols, (row + 1) * cols)].join('\t'));
    event.clipboardData?.setData('text/plain', lines.join('\n'));
    event.preventDefault();
  }

  // ---- pointers -----------------------------------------------------------------------------------------------------

  /** @param {PointerEvent} event */
  onDown(event) {
    const cell = this.cellOf(event);
    if (!cell || event.button !== 0) return;
    const again = document.activeElement === this.cellAt(cell);
    this.drag = { cell, y: event.clientY, value: this.valueAt(cell), moved: false, again };
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const { drag } = this;
    if (!drag) {
      const cell = this.cellOf(event);
      if (cell?.row !== this.hover?.row || cell?.col !== this.hover?.col) this.hover = cell;
      return;
    }
    /* A finger that moves scrolls the page, except on the cell that was chosen before. */
    if (!this.editable || this.kind === 'mask' || (event.pointerType === 'touch' && !drag.again)) return;
    const way = drag.y - event.clientY;
    if (!drag.moved && Math.abs(way) < DRAG_START) return;
    if (!drag.moved) /** @type {HTMLElement} */ (event.currentTarget).setPointerCapture(event.pointerId);
    drag.moved = true;
    const step = DRAG_STEP * (event.shiftKey ? 10 : 1);
    this.hover = drag.cell;
    this.put(drag.cell, Math.round((drag.value + way * step) * 100) / 100);
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.moved || !this.editable || event.type === 'pointercancel') return;
    if (this.kind === 'mask') this.toggle(drag.cell);
    else if (event.pointerType === 'touch' && drag.again) this.edit(drag.cell);
  }

  onLeave() {
    if (!this.drag) this.hover = null;
  }

  /** @param {MouseEvent} event */
  onDouble(event) {
    const cell = this.cellOf(event);
    if (cell && this.editable && this.kind !== 'mask') this.edit(cell);
  }
}
