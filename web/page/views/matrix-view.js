/**
 * One head as a heat map: rows look, columns are looked at. The keyboard moves the chosen cell, the mouse hovers and
 * clicks, two fingers or Ctrl and the wheel zoom, dragging pans.
 */
import { html, nothing } from 'lit';
import { SCALES } from '../hash.js';
import { colourMap, PLACES, TICKS } from '../palette.js';
import { token } from '../words/isolated.js';
import { cellUnder, drawLegend, drawMatrix, layOut, longestLabel } from './matrix-drawing.js';
import { DrawnView, sharpContext } from './view.js';

/** @typedef {{ row: number, col: number }} Cell */

const LARGEST_CELL = 56;
const TALLEST = 640;

export class MatrixView extends DrawnView {
  static properties = {
    weights: { attribute: false },
    labels: { attribute: false },
    place: { attribute: false },
    reasonOf: { attribute: false },
    prompt: { attribute: false },
    scale: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
    hover: { state: true },
    camera: { state: true },
  };

  constructor() {
    super();
    this.weights = new Float32Array(0);
    /** @type {string[]} */
    this.labels = [];
    this.place = { layer: 0, head: 0, row: 0, col: 0 };
    /** @type {import('../first-column.js').ReasonOf} */
    this.reasonOf = () => null;
    /** Tokens that were given; those behind them are new. */
    this.prompt = Number.POSITIVE_INFINITY;
    /** @type {import('../hash.js').PageState['scale']} */
    this.scale = 'sqrt';
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
    /** @type {Cell | null} */
    this.hover = null;
    this.camera = { zoom: 1, panX: 0, panY: 0 };
    /** @type {Map<number, { x: number, y: number }>} */
    this.pointers = new Map();
    this.dragged = 0;
    this.summary = '';
  }

  get canvas() {
    return /** @type {HTMLCanvasElement} */ (this.querySelector('.matrix-canvas'));
  }

  render() {
    const n = this.labels.length;
    const { layer, head } = this.place;
    return html`
      <div class="matrix-stage" role="application" tabindex="0" aria-label=${this.t('matrixLabel', { layer, head, n })}
        aria-describedby="matrix-summary" @keydown=${this.onKey}>
        <canvas class="matrix-canvas" role="img" aria-label=${this.summary} ?data-zoomed=${this.camera.zoom > 1}
          @pointermove=${this.onMove} @pointerdown=${this.onDown} @pointerup=${this.onUp} @pointercancel=${this.onUp}
          @pointerleave=${this.onLeave}></canvas>
        <div class="matrix-tip" aria-hidden="true" ?hidden=${!this.hover}>${this.hover && this.tipText(this.hover)}</div>
      </div>
      <p id="matrix-summary" class="visually-hidden">${this.summary}</p>
      <div class="matrix-foot">${this.legend()}${this.scaleList()}${this.zoomButtons()}</div>
    `;
  }

  legend() {
    const ticks = TICKS[this.scale];
    const name = (/** @type {number} */ tick) => {
      if (this.scale === 'row') return tick === 1 ? this.t('rowMaximum') : String(tick);
      return this.scale === 'log' && tick === 0.0001 ? '≤ 0.0001' : String(tick);
    };
    return html`<div class="legend">
      <canvas class="legend-map" aria-hidden="true"></canvas>
      <div class="legend-ticks">${ticks.map((tick) => html`<span data-place=${PLACES[this.scale](tick, 1)}>${name(tick)}</span>`)}</div>
    </div>`;
  }

  scaleList() {
    const onChange = (/** @type {Event} */ event) =>
      this.emit('pick-scale', /** @type {HTMLSelectElement} */ (event.target).value);
    return html`<label class="choice"><span>${this.t('scale')}</span><select .value=${this.scale} @change=${onChange}>
      ${SCALES.map((scale) => html`<option value=${scale} ?selected=${scale === this.scale}>${this.t(`scale_${scale}`)}</option>`)}
    </select></label>`;
  }

  zoomButtons() {
    const button = (
      /** @type {string} */ sign,
      /** @type {'zoomOut' | 'zoomFit' | 'zoomIn'} */ key,
      /** @type {number} */ factor,
    ) => html`
      <button type="button" class="small" aria-label=${this.t(key)} title=${this.t(key)}
        ?disabled=${factor <= 1 && this.camera.zoom <= 1} @click=${() => this.zoomBy(factor)}>${sign}</button>`;
    return html`<div class="group" role="group" aria-label=${this.t('zoomFit')}>
      ${button('−', 'zoomOut', 1 / 1.6)}${button(this.t('zoomFit'), 'zoomFit', 0)}${button('+', 'zoomIn', 1.6)}
    </div>`;
  }

  /** @param {Cell} cell */
  tipText({ row, col }) {
    const value = this.weights[row * this.labels.length + col];
    if (value === undefined) return nothing;
    const reason = this.reasonOf(row, col);
    return html`${token(this.labels[row])} → ${token(this.labels[col])} ${reason ? this.t(`reason_${reason}`) : value.toFixed(4)}`;
  }

  /** What a glance at the picture tells, for those who cannot glance. */
  summarise() {
    const n = this.labels.length;
    let best = -1;
    for (let i = 0; i < this.weights.length; i++) {
      if (i % (n + 1) !== 0 && this.weights[i] > (this.weights[best] ?? 0)) best = i;
    }
    if (best < 0) return this.t('view_matrix');
    const value = this.weights[best].toFixed(4);
    return this.t('matrixSummary', { from: this.labels[Math.floor(best / n)], to: this.labels[best % n], value });
  }

  /** @param {Map<string, unknown>} changed */
  willUpdate(changed) {
    const before = /** @type {string[] | undefined} */ (changed.get('labels'));
    if (before && before.length !== this.labels.length) this.camera = { zoom: 1, panX: 0, panY: 0 };
    else if (changed.has('place')) this.keepInSight();
    if (changed.has('weights') || changed.has('t')) this.summary = this.summarise();
  }

  /** @param {Map<string, unknown>} changed */
  updated(changed) {
    if (changed.has('scale') || changed.has('theme')) {
      drawLegend(/** @type {HTMLCanvasElement} */ (this.querySelector('.legend-map')), colourMap(this.theme));
      for (const tick of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.legend-ticks span'))) {
        tick.style.setProperty('left', `${100 * Number(tick.dataset.place)}%`);
      }
    }
    this.draw();
  }

  draw() {
    const n = this.labels.length;
    if (!n || this.weights.length !== n * n || !this.clientWidth) return;
    const { canvas } = this;
    const probe = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const font = getComputedStyle(this).fontFamily;
    const longest = longestLabel(probe, this.labels, font);
    const wide = this.clientWidth;
    const geometry = layOut(Math.min(wide, TALLEST + 80), longest, n, this.camera);
    this.geometry = geometry;
    const context = sharpContext(canvas, geometry.width, geometry.height);
    const colours = {
      ink: this.colour('--ink'),
      dim: this.colour('--dim'),
      accent: this.colour('--accent'),
      panel: this.colour('--panel'),
      hatch: this.colour('--hatch'),
      fresh: this.colour('--warn'),
      font,
    };
    const { weights, labels, place, hover, scale, reasonOf, prompt } = this;
    const map = colourMap(this.theme);
    drawMatrix(context, { geometry, weights, labels, cell: place, hover, scale, map, reasonOf, prompt, colours });
    this.placeTip();
  }

  placeTip() {
    const tip = /** @type {HTMLElement} */ (this.querySelector('.matrix-tip'));
    if (!this.hover || !this.geometry) return;
    const g = this.geometry;
    const x = g.left + (this.hover.col + 0.5) * g.cell - g.panX;
    const y = g.top + this.hover.row * g.cell - g.panY;
    tip.style.setProperty('left', `${Math.max(70, Math.min(g.width - 80, x))}px`);
    tip.style.setProperty('top', `${y - 6}px`);
  }

  /** Scrolls a zoomed matrix so that the chosen cell is in the window. */
  keepInSight() {
    const g = this.geometry;
    if (!g || this.camera.zoom <= 1) return;
    const into = (/** @type {number} */ pan, /** @type {number} */ i) =>
      Math.max((i + 1) * g.cell - g.size, Math.min(pan, i * g.cell));
    this.camera = { zoom: this.camera.zoom, panX: into(g.panX, this.place.col), panY: into(g.panY, this.place.row) };
  }

  /** @param {number} factor 0: back to the whole  @param {{ x: number, y: number }} [about] stays where it is */
  zoomBy(factor, about) {
    const g = this.geometry;
    if (!g) return;
    const most = Math.max(1, (LARGEST_CELL * g.n) / g.size);
    const zoom = factor === 0 ? 1 : Math.max(1, Math.min(most, this.camera.zoom * factor));
    const grown = zoom / this.camera.zoom;
    const x = about ? about.x - g.left : (this.place.col + 0.5) * g.cell - g.panX;
    const y = about ? about.y - g.top : (this.place.row + 0.5) * g.cell - g.panY;
    this.camera = { zoom, panX: (g.panX + x) * grown - x, panY: (g.panY + y) * grown - y };
    if (!about) queueMicrotask(() => this.keepInSight());
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const factor = { '+': 1.6, '=': 1.6, '-': 1 / 1.6, 0: 0 }[event.key];
    if (factor === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.zoomBy(factor);
  }

  firstUpdated() {
    /* Not through the template: only a listener that is not passive may keep Ctrl + wheel from zooming the page. */
    this.canvas.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 200), { x: event.offsetX, y: event.offsetY });
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.dragged = this.pointers.size > 1 ? Infinity : 0;
    this.canvas.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const now = { x: event.offsetX, y: event.offsetY };
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const cell = this.geometry ? cellUnder(this.geometry, now.x, now.y) : null;
      if (cell?.row !== this.hover?.row || cell?.col !== this.hover?.col) this.hover = cell;
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    this.pointers.set(event.pointerId, now);
    if (others.length) this.pinch(before, now, others[0]);
    else this.pan(now.x - before.x, now.y - before.y);
  }

  /** @typedef {{ x: number, y: number }} Point */
  /** @param {Point} before  @param {Point} now  @param {Point} other */
  pinch(before, now, other) {
    const span = (/** @type {Point} */ p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
    this.zoomBy(span(now) / span(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  }

  /** @param {number} dx  @param {number} dy */
  pan(dx, dy) {
    this.dragged += Math.hypot(dx, dy);
    const g = this.geometry;
    if (!g || this.camera.zoom <= 1 || this.dragged < 4) return;
    this.camera = { zoom: this.camera.zoom, panX: g.panX - dx, panY: g.panY - dy };
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    const wasClick = this.pointers.delete(event.pointerId) && this.dragged < 4 && event.type === 'pointerup';
    const cell = this.geometry ? cellUnder(this.geometry, event.offsetX, event.offsetY) : null;
    if (wasClick && cell) this.emit('pick-cell', cell);
  }

  onLeave() {
    this.hover = null;
  }
}
