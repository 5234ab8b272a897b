/**
 * The number: every step from the two tokens to the chosen weight and on to W_O, as formulas with the run's own numbers
 * in them. One dimension is read out along the whole chain; at first it is the one with the largest product.
 */
import { html, nothing } from 'lit';
import { phrase, token } from '../words/isolated.js';
import { View } from './view.js';

/** @typedef {import('../picture.js').Selection} Selection */

/** A number of a chain: four decimals, or a power of ten where those would say nothing. @param {number} x */
export function shown(x) {
  if (x === -Infinity) return '−∞';
  if (x === 0) return '0';
  const size = Math.abs(x);
  const text = size < 0.0005 || size >= 1e6 ? x.toExponential(3) : x.toFixed(size >= 1000 ? 1 : size >= 10 ? 3 : 4);
  return text.replace('-', '−');
}

/** A number inside a product or sum. @param {number} x */
const bracketed = (x) => (x < 0 ? `(${shown(x)})` : shown(x));

export class NumberChain extends View {
  static properties = {
    selection: { attribute: false },
    labels: { attribute: false },
    shape: { attribute: false },
    t: { attribute: false },
    dimension: { state: true },
    wide: { state: true },
    open: { state: true },
  };

  constructor() {
    super();
    /** @type {Selection | null} */
    this.selection = null;
    /** @type {string[]} */
    this.labels = [];
    this.shape = { layers: 0, heads: 0 };
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
    /** The dimension of the head that is read out; null: the one with the largest product. @type {number | null} */
    this.dimension = null;
    /** The same for the model's width. @type {number | null} */
    this.wide = null;
    /** Which tables are unfolded. */
    this.open = { dimensions: false, row: false };
  }

  /** Everything the chain shows, cut out of the run's arrays. @param {Selection} selection */
  numbers({ place, head, row }) {
    const { row: i, col: j } = place;
    const { dk, width } = head;
    const n = this.labels.length;
    const q = head.q.subarray(i * dk, (i + 1) * dk);
    const k = head.k.subarray(j * dk, (j + 1) * dk);
    const products = q.map((value, d) => value * k[d]);
    const largest = products.reduce((best, value, d) => (Math.abs(value) > Math.abs(products[best]) ? d : best), 0);
    const weights = head.weights.subarray(i * n, (i + 1) * n);
    const d = Math.min(this.dimension ?? largest, dk - 1);
    const rowMax = row.masked.reduce((a, b) => Math.max(a, b), -Infinity);
    const exps = row.masked.map((s) => Math.exp(s - rowMax));
    return {
      i,
      j,
      dk,
      width,
      n,
      q,
      k,
      products,
      d,
      weights,
      rowMax,
      exps,
      sum: exps.reduce((a, b) => a + b, 0),
      v: head.v.subarray(j * dk, (j + 1) * dk),
      context: head.context.subarray(i * dk, (i + 1) * dk),
      concat: head.concat.subarray(i * width, (i + 1) * width),
      output: head.output.subarray(i * width, (i + 1) * width),
      score: row.scores[j],
      scaled: row.scaled[j],
      masked: row.masked[j],
      weight: weights[j],
      row,
      from: this.labels[i],
      to: this.labels[j],
      wide: Math.min(this.wide ?? place.head * dk + d, width - 1),
    };
  }

  render() {
    if (!this.selection) return nothing;
    const x = this.numbers(this.selection);
    const { t } = this;
    return html`
      <p class="question">${this.question(x)}</p>
      <p class="result"><b>${x.weight.toFixed(4)}</b> <span>${t('percent', { value: (100 * x.weight).toFixed(1) })}</span></p>
      <ol class="chain">
        ${this.vectorSteps(x)}${this.scoreSteps(x)}${this.softmaxStep(x)}${this.answerSteps(x)}
      </ol>
    `;
  }

  /** The sentence of the dictionary with the two tokens set off. @param {ReturnType<NumberChain['numbers']>} x */
  question({ from, to }) {
    return phrase(this.t, 'question', { from, to }, (text) => html`<b>${token(text)}</b>`);
  }

  /**
   * @param {unknown} what said in words
   * @param {string} shape
   * @param {unknown} formula
   * @param {unknown} [more]
   */
  step(what, shape, formula, more = nothing) {
    return html`<li><p class="what"><span>${what}</span><span class="shape">${shape}</span></p><div class="formula">${formula}</div>${more}</li>`;
  }

  /**
   * @param {string} name
   * @param {ArrayLike<number>} values
   * @param {number} active
   * @param {(index: number) => void} pick
   * @param {string} text
   * @param {[number, number] | null} [slice]
   */
  bars(name, values, active, pick, text, slice = null) {
    const label = this.t('barsLabel', { name, n: values.length });
    return html`<qkv-bars .values=${values} .active=${active} .slice=${slice} .label=${label} .text=${text}
      @pick-bar=${(/** @type {CustomEvent<number>} */ event) => pick(event.detail)}></qkv-bars>`;
  }

  /** @param {string} name  @param {ArrayLike<number>} values  @param {ReturnType<NumberChain['numbers']>} x */
  headBars(name, values, x) {
    const text = `${name}[${x.d}] = ${shown(values[x.d])}`;
    return this.bars(
      name,
      values,
      x.d,
      (d) => {
        this.dimension = d;
      },
      text,
    );
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  vectorSteps(x) {
    const shape = `[1, ${x.width}] · [${x.width}, ${x.dk}] → [${x.dk}]`;
    const line = (
      /** @type {string} */ name,
      /** @type {string} */ label,
      /** @type {string} */ map,
      /** @type {ArrayLike<number>} */ values,
    ) => html`
      <span><i>${name}</i><sub>${token(label)}</sub> = <i>x</i><sub>${token(label)}</sub> <i>W</i><sub>${map}</sub> + <i>b</i><sub>${map}</sub></span>
      <span class="read"><i>${name}</i>[${x.d}] = <b>${shown(values[x.d])}</b></span>`;
    return html`
      ${this.step(phrase(this.t, 'stepQuery', { token: x.from }), shape, line('q', x.from, 'Q', x.q), this.headBars('q', x.q, x))}
      ${this.step(phrase(this.t, 'stepKey', { token: x.to }), shape, line('k', x.to, 'K', x.k), this.headBars('k', x.k, x))}
    `;
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  scoreSteps(x) {
    const { t } = this;
    const root = Math.sqrt(x.dk);
    const product = html`
      <span><i>q</i> · <i>k</i> = Σ<sub>d</sub> <i>q</i>[d] <i>k</i>[d] = <b>${shown(x.score)}</b></span>
      <span class="read">${shown(x.q[x.d])} × ${bracketed(x.k[x.d])} = <b>${shown(x.products[x.d])}</b></span>`;
    return html`
      ${this.step(t('stepScore'), `[${x.dk}] · [${x.dk}] → 1`, product, html`${this.headBars('q·k', x.products, x)}${this.dimensionTable(x)}`)}
      ${this.step(t('stepScale'), '1 → 1', html`<span>${shown(x.score)} / √${x.dk} = ${shown(x.score)} / ${root.toFixed(4)} = <b>${shown(x.scaled)}</b></span>`)}
      ${this.step(
        t('stepMask'),
        '1 → 1',
        html`<span>${shown(x.scaled)} + ${x.masked === -Infinity ? '(−∞)' : bracketed(x.masked - x.scaled)} = <b>${shown(x.masked)}</b></span>`,
        html`<p class="aside">${x.masked === -Infinity ? t('maskHidden') : t('maskNone')}</p>`,
      )}
    `;
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  softmaxStep(x) {
    const { t } = this;
    const most = bracketed(x.rowMax);
    const formula = html`<span>exp(${shown(x.masked)} − ${most}) / Σ<sub>j</sub> exp(<i>s</i><sub>j</sub> − ${most})</span>
      <span>= ${shown(x.exps[x.j])} / ${shown(x.sum)} = <b>${x.weight.toFixed(4)}</b></span>`;
    const text = `${x.from} → ${x.to} ${x.weight.toFixed(4)}`;
    const bars = this.bars('softmax', x.weights, x.j, (col) => this.emit('pick-cell', { row: x.i, col }), text);
    return this.step(
      t('stepSoftmax'),
      `[${x.n}] → [${x.n}]`,
      formula,
      html`${bars}<p class="aside">${t('softmaxNote')}</p>${this.rowTable(x)}`,
    );
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  answerSteps(x) {
    const { t } = this;
    const { head } = /** @type {Selection} */ (this.selection).place;
    const share = x.weight * x.v[x.d];
    const mix = html`<span><i>Z</i><sub>${token(x.from)}</sub> = Σ<sub>j</sub> <i>a</i><sub>${token(x.from)},j</sub> <i>v</i><sub>j</sub></span>
      <span class="read"><i>Z</i>[${x.d}] = <b>${shown(x.context[x.d])}</b></span>`;
    const note = html`<p class="aside">${phrase(t, 'share', { token: x.to })} ${x.weight.toFixed(4)} × ${bracketed(x.v[x.d])} = ${shown(share)}</p>`;
    const pickWide = (/** @type {number} */ c) => {
      this.wide = c;
    };
    const slice = /** @type {[number, number]} */ ([head * x.dk, (head + 1) * x.dk]);
    const concat = html`<span>concat = [ <i>Z</i><sup>0</sup> | … | <b><i>Z</i><sup>${head}</sup></b> | … | <i>Z</i><sup>${this.shape.heads - 1}</sup> ]</span>
      <span class="read">concat[${x.wide}] = <b>${shown(x.concat[x.wide])}</b></span>`;
    const output = html`<span>output = concat <i>W</i><sub>O</sub> + <i>b</i><sub>O</sub></span>
      <span class="read">output[${x.wide}] = <b>${shown(x.output[x.wide])}</b></span>`;
    const place = `${Math.floor(x.wide / x.dk)}`;
    return html`
      ${this.step(t('stepContext'), `[1, ${x.n}] · [${x.n}, ${x.dk}] → [${x.dk}]`, mix, html`${this.headBars('Z', x.context, x)}${note}`)}
      ${this.step(
        t('stepConcat', { heads: this.shape.heads }),
        `${this.shape.heads} × [${x.dk}] → [${x.width}]`,
        concat,
        this.bars(
          'concat',
          x.concat,
          x.wide,
          pickWide,
          `concat[${x.wide}] = ${shown(x.concat[x.wide])}, ${t('inHead', { head: place })}`,
          slice,
        ),
      )}
      ${this.step(
        t('stepOutput'),
        `[1, ${x.width}] · [${x.width}, ${x.width}] → [${x.width}]`,
        output,
        this.bars('output', x.output, x.wide, pickWide, `output[${x.wide}] = ${shown(x.output[x.wide])}`),
      )}
    `;
  }

  /**
   * A table under a step, built only while it is open.
   * @param {'dimensions' | 'row'} name
   * @param {string} title
   * @param {() => unknown} table
   */
  fold(name, title, table) {
    const onToggle = (/** @type {Event} */ event) => {
      this.open = { ...this.open, [name]: /** @type {HTMLDetailsElement} */ (event.target).open };
    };
    const body = () => html`<div class="scroll" tabindex="0" role="group" aria-label=${title}>${table()}</div>`;
    return html`<details @toggle=${onToggle}><summary>${title}</summary>${this.open[name] ? body() : nothing}</details>`;
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  dimensionTable(x) {
    const heads = ['d', 'q', 'k', 'q·k', 'v', 'Z'].map((name) => html`<th scope="col">${name}</th>`);
    const row = (/** @type {number} */ d) => html`<tr class=${d === x.d ? 'on' : ''}><th scope="row">${d}</th>
      ${[x.q, x.k, x.products, x.v, x.context].map((values) => html`<td>${shown(values[d])}</td>`)}</tr>`;
    const table = () =>
      html`<table><thead><tr>${heads}</tr></thead><tbody>${Array.from(x.q, (_, d) => row(d))}</tbody></table>`;
    return this.fold('dimensions', this.t('dimensionTable', { n: x.dk }), table);
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  rowTable(x) {
    const { t } = this;
    const heads = [t('token'), 'q·k', '÷ √dk', 'exp', t('weight')].map((name) => html`<th scope="col">${name}</th>`);
    const row = (
      /** @type {string} */ label,
      /** @type {number} */ j,
    ) => html`<tr class=${j === x.j ? 'on' : ''}><th scope="row">${token(label)}</th>
      ${[x.row.scores[j], x.row.scaled[j], x.exps[j]].map((value) => html`<td>${shown(value)}</td>`)}<td>${x.weights[j].toFixed(4)}</td></tr>`;
    const table = () => html`<table><thead><tr>${heads}</tr></thead><tbody>${this.labels.map(row)}</tbody></table>`;
    return this.fold('row', t('rowTable', { n: x.n }), table);
  }
}
