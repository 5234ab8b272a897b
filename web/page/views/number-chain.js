/**
 * The number: every step from the two tokens to the chosen weight and on to W_O, as formulas with the run's own numbers
 * in them. One dimension is read out along the whole chain; at first it is the one with the largest product.
 */
import { html, nothing } from 'lit';
import { phrase, token } from '../words/isolated.js';
import { logitSteps, vectorSteps } from './logit-steps.js';
import { bracketed, shown } from './shown-number.js';
import { View } from './view.js';

/** @typedef {import('../picture.js').Selection} Selection */

/** @param {Float32Array} a  @param {Float32Array} b */
const differ = (a, b) => a.some((value, i) => value !== b[i]);

/** In percent, which is 0 only for a weight of 0. @param {number} weight */
const percent = (weight) => (weight > 0 && weight < 0.0005 ? '<0.1' : (100 * weight).toFixed(1));

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
    /** @type {import('../picture.js').Shape} */
    this.shape = { layers: 0, heads: 0, kvHeads: 0, causal: false, hasHead: false };
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
    const { dk, wide: concatWidth, width } = head;
    const n = this.labels.length;
    const line = (/** @type {Float32Array} */ all, /** @type {number} */ at, size = dk) =>
      all.subarray(at * size, (at + 1) * size);
    const [q, k] = [line(head.q, i), line(head.k, j)];
    const products = q.map((value, d) => value * k[d]);
    const largest = products.reduce((best, value, d) => (Math.abs(value) > Math.abs(products[best]) ? d : best), 0);
    const weights = line(head.weights, i, n);
    const d = Math.min(this.dimension ?? largest, dk - 1);
    const rowMax = row.masked.reduce((a, b) => Math.max(a, b), -Infinity);
    const exps = row.masked.map((s) => Math.exp(s - rowMax));
    const first = row.scores.findIndex((score) => score !== 0);
    return {
      ...{ i, j, dk, width, concatWidth, n, products, d, weights, rowMax, exps, row },
      query: { at: i, values: q, linear: line(head.qLinear, i), isTurned: differ(head.q, head.qLinear) },
      key: { at: j, values: k, linear: line(head.kLinear, j), isTurned: differ(head.k, head.kLinear) },
      kv: this.kvHead(place.head),
      causal: this.shape.causal,
      sum: exps.reduce((a, b) => a + b, 0),
      v: line(head.v, j),
      context: line(head.context, i),
      concat: line(head.concat, i, concatWidth),
      output: line(head.output, i, width),
      scale: first < 0 ? 1 / Math.sqrt(dk) : row.scaled[first] / row.scores[first],
      hasCap: differ(row.capped, row.scaled),
      hasBias: differ(row.biased, row.capped),
      score: row.scores[j],
      scaled: row.scaled[j],
      capped: row.capped[j],
      biased: row.biased[j],
      masked: row.masked[j],
      weight: weights[j],
      from: this.labels[i],
      to: this.labels[j],
      wide: Math.min(this.wide ?? place.head * dk + d, concatWidth - 1, width - 1),
    };
  }

  /** The key and value head that a query head reads, where heads share them. @param {number} head */
  kvHead(head) {
    const { heads, kvHeads } = this.shape;
    if (kvHeads === heads) return null;
    const share = heads / kvHeads;
    const kv = Math.floor(head / share);
    return { kv, from: kv * share, to: (kv + 1) * share - 1 };
  }

  render() {
    if (!this.selection) return nothing;
    const x = this.numbers(this.selection);
    const { t } = this;
    return html`
      <p class="question">${this.question(x)}</p>
      <p class="result">${
        x.masked === -Infinity
          ? html`<b>–</b> <span>${t(x.j > x.i ? 'maskLater' : 'maskWindow')}</span>`
          : html`<b>${x.weight.toFixed(4)}</b> <span>${t('percent', { value: percent(x.weight) })}</span>`
      }</p>
      <ol class="chain">
        ${vectorSteps(this, x)}${logitSteps(this, x)}${this.softmaxStep(x)}${this.answerSteps(x)}
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
    const output = html`<span>output = concat <i>W</i><sub>O</sub> ${x.causal ? html`<span title=${t('biasNote')}>(+ <i>b</i><sub>O</sub>)</span>` : html`+ <i>b</i><sub>O</sub>`}</span>
      <span class="read">output[${x.wide}] = <b>${shown(x.output[x.wide])}</b></span>`;
    const place = `${Math.floor(x.wide / x.dk)}`;
    return html`
      ${this.step(t('stepContext'), `[1, ${x.n}] · [${x.n}, ${x.dk}] → [${x.dk}]`, mix, html`${this.headBars('Z', x.context, x)}${note}${x.kv ? html`<p class="aside">${t('sharedValues', x.kv)}</p>` : nothing}`)}
      ${this.step(
        t('stepConcat', { heads: this.shape.heads }),
        `${this.shape.heads} × [${x.dk}] → [${x.concatWidth}]`,
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
        `[1, ${x.concatWidth}] · [${x.concatWidth}, ${x.width}] → [${x.width}]`,
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
      ${[x.query.values, x.key.values, x.products, x.v, x.context].map((values) => html`<td>${shown(values[d])}</td>`)}</tr>`;
    const table = () =>
      html`<table><thead><tr>${heads}</tr></thead><tbody>${Array.from(x.products, (_, d) => row(d))}</tbody></table>`;
    return this.fold('dimensions', this.t('dimensionTable', { n: x.dk }), table);
  }

  /** @param {ReturnType<NumberChain['numbers']>} x */
  rowTable(x) {
    const { t } = this;
    const { scores, scaled, capped, biased } = x.row;
    /** @type {[string, Float32Array][]} */
    const columns = [
      ['q·k', scores],
      [t('scaledScore'), scaled],
    ];
    if (x.hasCap) columns.push([t('cappedScore'), capped]);
    if (x.hasBias) columns.push([t('biasedScore'), biased]);
    columns.push(['exp', x.exps]);
    const names = [t('token'), ...columns.map(([name]) => name), t('weight')];
    const heads = names.map((name) => html`<th scope="col">${name}</th>`);
    const row = (
      /** @type {string} */ label,
      /** @type {number} */ j,
    ) => html`<tr class=${j === x.j ? 'on' : ''}><th scope="row">${token(label)}</th>
      ${columns.map(([, values]) => html`<td>${shown(values[j])}</td>`)}<td>${x.row.masked[j] === -Infinity ? '–' : x.weights[j].toFixed(4)}</td></tr>`;
    const table = () => html`<table><thead><tr>${heads}</tr></thead><tbody>${this.labels.map(row)}</tbody></table>`;
    return this.fold('row', t('rowTable', { n: x.n }), table);
  }
}
