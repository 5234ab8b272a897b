/** The chosen head as a plain table, for screen readers and for copying; built only when it is opened. */
import { html, nothing } from 'lit';
import { token } from '../words/isolated.js';
import { View } from './view.js';

const MAX_TOKENS = 64;

export class WeightsTable extends View {
  static properties = {
    weights: { attribute: false },
    labels: { attribute: false },
    place: { attribute: false },
    reasonOf: { attribute: false },
    t: { attribute: false },
    open: { state: true },
  };

  constructor() {
    super();
    this.weights = new Float32Array(0);
    /** @type {string[]} */
    this.labels = [];
    this.place = { layer: 0, head: 0, row: 0, col: 0 };
    /** @type {import('../first-column.js').ReasonOf} */
    this.reasonOf = () => null;
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
    this.open = false;
  }

  render() {
    const n = this.labels.length;
    if (n > MAX_TOKENS) return html`<p class="aside">${this.t('tableTooBig', { max: MAX_TOKENS, n })}</p>`;
    return html`<details @toggle=${(/** @type {Event} */ event) => {
      this.open = /** @type {HTMLDetailsElement} */ (event.target).open;
    }}>
      <summary>${this.t('asTable')}</summary>${this.open ? this.table(n) : nothing}
    </details>`;
  }

  /** A dash where there is no weight, with the reason. @param {number} row  @param {number} col  @param {number} weight */
  cellText(row, col, weight) {
    const reason = this.reasonOf(row, col);
    return reason ? html`<span title=${this.t(`reason_${reason}`)}>–</span>` : weight.toFixed(4);
  }

  /** @param {number} n */
  table(n) {
    const { layer, head, row: chosenRow, col: chosenCol } = this.place;
    const caption = this.t('tableCaption', { layer, head });
    return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}><table>
      <caption>${caption}</caption>
      <thead><tr><td></td>${this.labels.map((label) => html`<th scope="col">${token(label)}</th>`)}</tr></thead>
      <tbody>${this.labels.map(
        (label, row) =>
          html`<tr><th scope="row">${token(label)}</th>${Array.from(
            this.weights.subarray(row * n, (row + 1) * n),
            (weight, col) =>
              html`<td class=${row === chosenRow && col === chosenCol ? 'on' : ''}>${this.cellText(row, col, weight)}</td>`,
          )}</tr>`,
      )}</tbody>
    </table></div>`;
  }
}
