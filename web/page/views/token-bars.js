/** The tokens that a model's head finds likeliest, each a button with its probability as a bar. */
import { html } from 'lit';
import { isolated, token } from '../words/isolated.js';
import { isWholeText, pieceLabel } from '../words/piece-label.js';
import { View } from './view.js';

/** Two digits that never round to all or nothing. @param {number} probability */
export function percentOf(probability) {
  const percent = 100 * probability;
  if (percent === 0 || percent === 100) return String(percent);
  if (percent < 0.1) return '<0.1';
  if (percent > 99.9) return '>99.9';
  return percent.toFixed(percent < 10 || percent > 99 ? 1 : 0);
}

export class TokenBars extends View {
  static properties = {
    next: { attribute: false },
    t: { attribute: false },
  };

  constructor() {
    super();
    /** @type {import('qkv').NextToken[]} */
    this.next = [];
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
  }

  render() {
    return html`<ul class="next-list" @keydown=${this.onKey}>${this.next.map((one, i) => this.bar(one, i))}</ul>`;
  }

  /** @param {import('qkv').NextToken} next  @param {number} i */
  bar({ id, text, probability }, i) {
    const label = pieceLabel(text);
    const percent = this.t('percent', { value: percentOf(probability) });
    /* Neither a part of a character nor an id without a piece is text that could be added. */
    const canAdd = isWholeText(text) && text !== `#${id}`;
    const title = this.t(canAdd ? 'nextAdd' : 'nextPart', { token: isolated(label) });
    return html`<li><button type="button" class="next-token" data-probability=${probability} data-id=${id} aria-disabled=${!canAdd} tabindex=${i ? -1 : 0} title=${title} @click=${() => canAdd && this.emit('pick-token', text)}>
      <span class="next-text">${token(label)}</span><span class="next-percent">${percent}</span><span class="next-bar" aria-hidden="true"><i></i></span></button></li>`;
  }

  /** One tab stop; arrows move along. @param {KeyboardEvent} event */
  onKey(event) {
    const buttons = [.../** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.next-token'))];
    const at = buttons.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = {
      ...{ ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1 },
      ...{ Home: 0, End: buttons.length - 1 },
    }[event.key];
    if (at < 0 || next === undefined || !buttons[next] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    for (const button of buttons) button.tabIndex = -1;
    buttons[next].tabIndex = 0;
    buttons[next].focus();
  }

  updated() {
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('.next-token'))) {
      button.style.setProperty('--share', button.dataset.probability ?? '0');
    }
  }
}
