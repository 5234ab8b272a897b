/** All heads of the model as live thumbnails: an ARIA grid, rows are layers, one tab stop, arrow keys move. */
import { html } from 'lit';
import { blockHidden, hidesNothing } from '../mask.js';
import { colourCells, colourMap } from '../palette.js';
import { View } from './view.js';

/** Where a key leads from (layer, head). @type {Record<string, (at: number[], last: number[], ctrl: boolean) => number[]>} */
const MOVES = {
  ArrowLeft: ([layer, head]) => [layer, head - 1],
  ArrowRight: ([layer, head]) => [layer, head + 1],
  ArrowUp: ([layer, head]) => [layer - 1, head],
  ArrowDown: ([layer, head]) => [layer + 1, head],
  PageUp: ([layer, head]) => [layer - 1, head],
  PageDown: ([layer, head]) => [layer + 1, head],
  Home: ([layer], _, ctrl) => [ctrl ? 0 : layer, 0],
  End: ([layer], [lastLayer, lastHead], ctrl) => [ctrl ? lastLayer : layer, lastHead],
};

/** Sides of a thumbnail, and the height of all layers together, in pixels. */
const CELL = { least: 20, most: 64, height: 660 };
/** So many layers scroll in a window of their own on a phone. */
const MANY = 12;

export class HeadsGrid extends View {
  static properties = {
    overview: { attribute: false },
    masks: { attribute: false },
    count: { attribute: false },
    shape: { attribute: false },
    place: { attribute: false },
    scale: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
  };

  constructor() {
    super();
    /** @type {import('../findings.js').Overview | null} */
    this.overview = null;
    /** One a layer. @type {import('../mask.js').LayerMask[]} */
    this.masks = [];
    /** Tokens behind a thumbnail. */
    this.count = 0;
    this.shape = { layers: 0, heads: 0 };
    this.place = { layer: 0, head: 0 };
    /** @type {import('../hash.js').PageState['scale']} */
    this.scale = 'sqrt';
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const cell = /** @type {HTMLElement | null} */ (
      /** @type {HTMLElement} */ (event.target).closest('[role=gridcell]')
    );
    const move = MOVES[event.key];
    if (!cell || !move || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const last = [this.shape.layers - 1, this.shape.heads - 1];
    const [layer, head] = move([Number(cell.dataset.layer), Number(cell.dataset.head)], last, event.ctrlKey);
    if (layer < 0 || head < 0 || layer > last[0] || head > last[1]) return;
    this.cellAt(layer, head).focus();
    this.emit('pick-head', { layer, head });
  }

  /** @param {number} layer  @param {number} head */
  cellAt(layer, head) {
    return /** @type {HTMLElement} */ (this.querySelector(`[data-layer="${layer}"][data-head="${head}"]`));
  }

  render() {
    const { layers, heads } = this.shape;
    const numbers = Array.from({ length: heads }, (_, head) => head);
    return html`
      <div class="heads-top" aria-hidden="true">${this.numberRow(numbers, '')}${this.numberRow(numbers, 'heads-again')}</div>
      <div role="grid" aria-label=${this.t('allHeads')} aria-rowcount=${layers} aria-colcount=${heads} @keydown=${this.onKey}>
        ${Array.from({ length: layers }, (_, layer) => this.row(layer, numbers))}
      </div>
    `;
  }

  /** Over each column of layers. @param {number[]} numbers  @param {string} name */
  numberRow(numbers, name) {
    return html`<div class="heads-row ${name}"><span></span>${numbers.map((head) => html`<span>${head}</span>`)}</div>`;
  }

  /** @param {number} layer  @param {number[]} numbers */
  row(layer, numbers) {
    return html`
      <div role="row" class="heads-row" aria-rowindex=${layer + 1}>
        <span class="heads-layer" aria-hidden="true"><span class="wide">${layer}</span><span class="narrow">${this.t('layerShort', { layer })}</span></span>
        ${numbers.map((head) => this.cell(layer, head))}
      </div>
    `;
  }

  /** @param {number} layer  @param {number} head */
  cell(layer, head) {
    const chosen = layer === this.place.layer && head === this.place.head;
    const name = this.t('headName', { layer, head });
    return html`
      <button type="button" role="gridcell" class="heads-cell" data-layer=${layer} data-head=${head}
        aria-colindex=${head + 1} aria-label=${name} title=${name} aria-selected=${chosen} tabindex=${chosen ? 0 : -1}
        @click=${() => this.emit('pick-head', { layer, head })}>
        <canvas aria-hidden="true"></canvas><span class="heads-number" aria-hidden="true">${head}</span>
      </button>
    `;
  }

  /** @param {Map<string, unknown>} changed */
  updated(changed) {
    if (changed.has('shape')) this.fit();
    if (changed.has('overview') || changed.has('scale') || changed.has('theme')) this.draw();
  }

  /** Many layers make small thumbnails, so that all of them are in sight. */
  fit() {
    const { layers, heads } = this.shape;
    this.style.setProperty('--heads', String(heads));
    this.style.setProperty('--cell', `${Math.max(CELL.least, Math.min(CELL.most, CELL.height / (layers || 1)))}px`);
    this.toggleAttribute('data-many', layers > MANY);
  }

  draw() {
    if (!this.overview) return;
    const { thumbnails, s } = this.overview;
    const map = colourMap(this.theme);
    this.querySelectorAll('canvas').forEach((canvas, number) => {
      const cells = thumbnails.subarray(number * s * s, (number + 1) * s * s);
      const pixels = colourCells(cells, s, this.scale, map);
      this.clearHidden(pixels, s, this.masks[Math.floor(number / this.shape.heads)]);
      canvas.width = s;
      canvas.height = s;
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
      context.putImageData(new ImageData(pixels, s, s), 0, 0);
    });
  }

  /** Where no pair takes part the hatching behind the thumbnail shows. @param {Uint8ClampedArray} pixels  @param {number} s  @param {import('../mask.js').LayerMask | undefined} mask */
  clearHidden(pixels, s, mask) {
    if (!mask || hidesNothing(mask, this.count)) return;
    const isHidden = blockHidden(mask, this.count, s);
    for (let cell = 0; cell < s * s; cell++) if (isHidden(Math.floor(cell / s), cell % s)) pixels[4 * cell + 3] = 0;
  }
}
