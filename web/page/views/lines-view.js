/**
 * One head as lines between two columns of tokens: left the token that looks, right where it looks. A token that is
 * hovered or focused is shown alone, with its weights as numbers.
 */
import { html } from 'lit';
import { token } from '../words/isolated.js';
import { shortWeight } from '../words/short-weight.js';
import { DrawnView, sharpContext } from './view.js';

/** @typedef {'row' | 'col'} Side */
/** @typedef {{ side: Side, index: number }} Isolated */

const TALLEST = 640;
/** Fainter lines than this cannot be seen; among many tokens, they would only hide the others. */
const FAINTEST = { few: 0.012, many: 0.06 };
const MANY = 64;
const LABEL_PART = 0.3;

export class LinesView extends DrawnView {
  static properties = {
    weights: { attribute: false },
    labels: { attribute: false },
    place: { attribute: false },
    prompt: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
    isolated: { state: true },
  };

  constructor() {
    super();
    this.weights = new Float32Array(0);
    /** @type {string[]} */
    this.labels = [];
    this.place = { layer: 0, head: 0, row: 0, col: 0 };
    /** Tokens that were given; those behind them are new. */
    this.prompt = Number.POSITIVE_INFINITY;
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
    /** @type {Isolated | null} */
    this.isolated = null;
  }

  get scroller() {
    return /** @type {HTMLElement} */ (this.querySelector('.lines-scroll'));
  }

  /** Height of a token's line in pixels; the style sheet makes it larger for fingers. */
  get step() {
    return Number.parseFloat(this.colour('--line-step')) || 24;
  }

  /** The weight between the isolated token and token i of the other side. @param {Isolated} isolated  @param {number} i */
  weightAt({ side, index }, i) {
    const n = this.labels.length;
    return side === 'row' ? this.weights[index * n + i] : this.weights[i * n + index];
  }

  render() {
    return html`
      <div class="lines-heads" aria-hidden="true"><span>${this.t('queries')}</span><span>${this.t('keys')}</span></div>
      <div class="lines-scroll" @scroll=${() => this.draw()}>
        <div class="lines-window"><canvas class="lines-canvas" aria-hidden="true"></canvas></div>
        <div class="lines-columns">
          ${this.column('row', 'from')}${this.column('col', 'to')}
        </div>
      </div>
    `;
  }

  /** @param {Side} side  @param {'from' | 'to'} name */
  column(side, name) {
    return html`<div class="lines-column" role="listbox" aria-label=${this.t(name)} data-side=${side} @keydown=${this.onKey}
      @pointerleave=${() => this.isolate(null)} @focusout=${() => this.isolate(null)}>
      ${this.labels.map((label, i) => this.token(side, label, i))}
    </div>`;
  }

  /** @param {Side} side  @param {string} label  @param {number} i */
  token(side, label, i) {
    const chosen = this.place[side] === i;
    const weight = this.isolated && this.isolated.side !== side ? this.weightAt(this.isolated, i) : null;
    return html`<button type="button" class="lines-token" role="option" ?data-new=${i >= this.prompt} aria-selected=${chosen} tabindex=${chosen ? 0 : -1} data-index=${i}
      @pointerenter=${() => this.isolate({ side, index: i })} @focus=${() => this.isolate({ side, index: i })}
      @click=${() => this.emit('pick-cell', { ...this.place, [side]: i })}><span>${token(label)}</span
      ><small>${weight === null || weight < 0.005 ? '' : shortWeight(weight)}</small></button>`;
  }

  /** @param {Isolated | null} isolated */
  isolate(isolated) {
    this.isolated = isolated;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const column = /** @type {HTMLElement} */ (event.currentTarget);
    const button = /** @type {HTMLElement | null} */ (
      /** @type {HTMLElement} */ (event.target).closest('[role=option]')
    );
    if (!button || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.labels.length - 1;
    const index = Number(button.dataset.index);
    const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: last }[event.key];
    if (next === undefined && event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    event.stopPropagation();
    if (next === undefined) {
      const other = /** @type {HTMLElement | null} */ (
        this.querySelector(`.lines-column:not([data-side=${column.dataset.side}]) [tabindex="0"]`)
      );
      other?.focus();
      return;
    }
    if (next < 0 || next > last) return;
    /** @type {HTMLElement} */ (column.children[next]).focus();
    this.emit('pick-cell', { ...this.place, [/** @type {Side} */ (column.dataset.side)]: next });
  }

  updated() {
    this.draw();
  }

  draw() {
    const n = this.labels.length;
    const width = this.clientWidth;
    if (!n || this.weights.length !== n * n || !width) return;
    const height = Math.min(TALLEST, n * this.step);
    const canvas = /** @type {HTMLCanvasElement} */ (this.querySelector('canvas'));
    const context = sharpContext(canvas, this.scroller.clientWidth, height);
    context.strokeStyle = this.colour('--accent');
    for (let row = 0; row < n; row++) {
      for (let col = 0; col < n; col++) this.line(context, row, col, height);
    }
    const { row, col } = this.place;
    if (this.isolated) return;
    context.strokeStyle = this.colour('--ink');
    context.globalAlpha = 0.9;
    context.setLineDash([5, 4]);
    this.stroke(context, row, col, 1.25);
    context.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} context  @param {number} row  @param {number} col  @param {number} height */
  line(context, row, col, height) {
    const weight = this.weights[row * this.labels.length + col];
    const { isolated, step } = this;
    if (weight < (this.labels.length > MANY && !isolated ? FAINTEST.many : FAINTEST.few)) return;
    if (isolated && isolated.index !== (isolated.side === 'row' ? row : col)) return;
    const top = this.scroller.scrollTop;
    const above = (/** @type {number} */ i) => (i + 1) * step < top;
    const below = (/** @type {number} */ i) => i * step > top + height;
    if ((above(row) && above(col)) || (below(row) && below(col))) return;
    context.globalAlpha = Math.min(1, weight);
    this.stroke(context, row, col, 1 + 2 * weight);
  }

  /** @param {CanvasRenderingContext2D} context  @param {number} row  @param {number} col  @param {number} width */
  stroke(context, row, col, width) {
    const { step } = this;
    const top = this.scroller.scrollTop;
    const wide = this.scroller.clientWidth;
    const [left, right] = [wide * LABEL_PART, wide * (1 - LABEL_PART)];
    const [from, to] = [(row + 0.5) * step - top, (col + 0.5) * step - top];
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(left, from);
    context.bezierCurveTo(left + (right - left) * 0.4, from, right - (right - left) * 0.4, to, right, to);
    context.stroke();
  }
}
