/** The sentence itself, shaded twice: by where the chosen token looks, and by who looks at it. */
import { html } from 'lit';
import { colourMap, cssColour, needsLightInk, stepOf } from '../palette.js';
import { directionOf, isolated, phrase, token as fenced } from '../words/isolated.js';
import { SPACE } from '../words/piece-label.js';
import { shortWeight } from '../words/short-weight.js';
import { View } from './view.js';

/** @typedef {{ text: string, start: number, end: number, special: boolean }} TextToken */

export class TextView extends View {
  static properties = {
    weights: { attribute: false },
    tokens: { attribute: false },
    labels: { attribute: false },
    place: { attribute: false },
    reasonOf: { attribute: false },
    prompt: { attribute: false },
    scale: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
  };

  constructor() {
    super();
    this.weights = new Float32Array(0);
    /** @type {TextToken[]} */
    this.tokens = [];
    /** What the tokens are called where they stand alone. @type {string[]} */
    this.labels = [];
    /** @type {import('../first-column.js').ReasonOf} */
    this.reasonOf = () => null;
    /** Tokens that were given; those behind them are new. */
    this.prompt = Number.POSITIVE_INFINITY;
    this.place = { layer: 0, head: 0, row: 0, col: 0 };
    /** @type {import('../hash.js').PageState['scale']} */
    this.scale = 'sqrt';
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
  }

  render() {
    const chosen = this.place.row;
    const token = this.labels[chosen] ?? '';
    return html`
      ${this.passage('row', 'looksAt', token, (i) => [chosen, i])}
      ${this.passage('seen', 'lookedAtBy', token, (i) => [i, chosen])}
    `;
  }

  /** The way the sentence is read. */
  get direction() {
    return directionOf(this.tokens.map(({ text, special }) => (special ? '' : text)).join(' '));
  }

  /** @param {string} name  @param {'looksAt' | 'lookedAtBy'} key  @param {string} token  @param {(i: number) => [row: number, col: number]} cellOf */
  passage(name, key, token, cellOf) {
    const stop = this.place.row;
    const n = this.tokens.length;
    return html`<h3>${phrase(this.t, key, { token })}</h3>
      <p class="text-passage" dir=${this.direction} role="group" aria-label=${this.t(key, { token })} @keydown=${this.onKey}>
        ${this.tokens.map((token, i) => {
          const [row, col] = cellOf(i);
          const label = this.labels[i];
          const reason = this.reasonOf(row, col);
          const weight = this.weights[row * n + col] ?? 0;
          const value = reason ? this.t(`reason_${reason}`) : shortWeight(weight);
          const gap = i > 0 && (label.startsWith(SPACE) || token.start > this.tokens[i - 1].end) ? ' ' : '';
          return html`${gap}<button type="button" class="text-token" data-passage=${name} data-index=${i} data-weight=${weight}
            ?data-hidden=${reason !== null} ?data-new=${i >= this.prompt}
            aria-pressed=${i === stop} tabindex=${i === stop ? 0 : -1} aria-label=${`${label} ${value}`} title=${`${isolated(label)} ${value}`}
            @click=${() => this.emit('pick-cell', { ...this.place, row: i })}>${fenced(label.replace(/^(##|·(?=.))/, ''))}</button>`;
        })}
      </p>`;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const button = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('.text-token'));
    const last = this.tokens.length - 1;
    const index = Number(button?.dataset.index);
    const on = this.direction === 'rtl' ? -1 : 1;
    const next = { ArrowLeft: index - on, ArrowRight: index + on, Home: 0, End: last }[event.key];
    if (!button || next === undefined || next < 0 || next > last || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    event.stopPropagation();
    const name = button.dataset.passage;
    /** @type {HTMLElement} */ (this.querySelector(`[data-passage=${name}][data-index="${next}"]`)).focus();
    this.emit('pick-cell', { ...this.place, row: next });
  }

  updated() {
    const map = colourMap(this.theme);
    const buttons = /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.text-token'));
    const n = this.tokens.length;
    const most = { row: 0, seen: 0 };
    for (let i = 0; i < n; i++) {
      most.row = Math.max(most.row, this.weights[this.place.row * n + i]);
      most.seen = Math.max(most.seen, this.weights[i * n + this.place.row]);
    }
    for (const button of buttons) {
      if (button.hasAttribute('data-hidden')) {
        button.style.removeProperty('background-color');
        button.style.removeProperty('color');
        continue;
      }
      const rowMax = most[/** @type {'row' | 'seen'} */ (button.dataset.passage)];
      const step = stepOf(Number(button.dataset.weight), rowMax, this.scale);
      button.style.setProperty('background-color', cssColour(map, step));
      button.style.setProperty('color', needsLightInk(map, step) ? '#fff' : '#000');
    }
  }
}
