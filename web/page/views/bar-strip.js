/**
 * A row of signed numbers as bars, to be read one by one: it is a slider over the index, so mouse, finger and arrow keys
 * all pick a bar, and the event tells the others to show the same one.
 */
import { html, svg } from 'lit';
import { View } from './view.js';

const HIGH = 100;

export class BarStrip extends View {
  static properties = {
    values: { attribute: false },
    active: { attribute: false },
    slice: { attribute: false },
    label: { attribute: false },
    text: { attribute: false },
  };

  constructor() {
    super();
    /** @type {ArrayLike<number>} */
    this.values = [];
    /** Index of the bar that is read out. */
    this.active = 0;
    /** Bars to mark, [from, to). @type {[number, number] | null} */
    this.slice = null;
    this.label = '';
    /** The active bar in words. */
    this.text = '';
    this.pressed = false;
  }

  render() {
    const n = this.values.length;
    const { path, zero } = this.bars();
    return html`<div class="bars" role="slider" tabindex="0" aria-label=${this.label} aria-valuemin="0" aria-valuemax=${n - 1}
      aria-valuenow=${this.active} aria-valuetext=${this.text} @keydown=${this.onKey} @pointermove=${this.onPoint} @pointerdown=${this.onPoint}>
      <svg viewBox="0 0 ${n} ${HIGH}" preserveAspectRatio="none" aria-hidden="true">
        ${this.slice && svg`<rect class="bars-slice" x=${this.slice[0]} width=${this.slice[1] - this.slice[0]} y="0" height=${HIGH}></rect>`}
        <rect class="bars-active" x=${this.active} width="1" y="0" height=${HIGH}></rect>
        <path class="bars-plus" d=${path.plus}></path><path class="bars-minus" d=${path.minus}></path>
        <path class="bars-zero" d="M0 ${zero}H${n}"></path>
      </svg>
    </div>`;
  }

  /** One path for each sign; the tallest bar fills the strip. */
  bars() {
    let least = 0;
    let most = 0;
    for (let i = 0; i < this.values.length; i++) {
      least = Math.min(least, this.values[i]);
      most = Math.max(most, this.values[i]);
    }
    const span = most - least || 1;
    const zero = (most / span) * HIGH;
    const gap = this.values.length > 100 ? 0 : 0.08;
    const path = { plus: '', minus: '' };
    for (let i = 0; i < this.values.length; i++) {
      const height = (this.values[i] / span) * HIGH;
      const bar = `M${i + gap} ${zero.toFixed(2)}v${(-height).toFixed(2)}h${1 - 2 * gap}V${zero.toFixed(2)}z`;
      if (height >= 0) path.plus += bar;
      else path.minus += bar;
    }
    return { path, zero: zero.toFixed(2) };
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const last = this.values.length - 1;
    const steps = {
      ArrowLeft: this.active - 1,
      ArrowDown: this.active - 1,
      ArrowRight: this.active + 1,
      ArrowUp: this.active + 1,
      Home: 0,
      End: last,
    };
    const next = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.pick(next);
  }

  /** @param {PointerEvent} event */
  onPoint(event) {
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    this.pick(Math.floor(((event.clientX - box.left) / box.width) * this.values.length));
  }

  /** @param {number} index */
  pick(index) {
    if (index < 0 || index >= this.values.length || index === this.active) return;
    this.emit('pick-bar', index);
  }
}
