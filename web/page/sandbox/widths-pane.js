/** The table that shows why scores are divided: every number in it comes from the engine. */
import { html, nothing } from 'lit';
import { TOKENS } from './widths.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('./widths.js').Sharpness} Sharpness */

/** @param {App} app */
export function widthsPane({ t, sandbox }) {
  const { widths } = sandbox;
  if (!widths) return nothing;
  const cells = (/** @type {Sharpness} */ { largest, entropy }) => html`
    <td class="bar-cell"><meter min="0" max="1" .value=${largest} aria-hidden="true"></meter></td><td>${largest.toFixed(3)}</td><td>${entropy.toFixed(3)}</td>`;
  const pair = html`<th scope="col" colspan="2">${t('widthsLargest')}</th><th scope="col">${t('widthsEntropy')}</th>`;
  return html`<section class="pane part" aria-labelledby="widths-title">
    <div class="pane-head"><h2 id="widths-title">${t('widthsTitle')}</h2></div>
    <p class="s">${t('widthsNote', { tokens: TOKENS })}</p>
    <div class="widths-scroll" tabindex="0" role="group" aria-labelledby="widths-title"><table class="widths">
      <thead><tr><td></td><th scope="colgroup" colspan="3">${t('widthsRaw')}</th><th scope="colgroup" colspan="3">${t('widthsDivided')}</th></tr>
        <tr><th scope="col">dk</th>${pair}${pair}</tr></thead>
      <tbody>${widths.map(({ dk, divided, raw }) => html`<tr><th scope="row">${dk}</th>${cells(raw)}${cells(divided)}</tr>`)}</tbody>
    </table></div>
    <p class="aside">${t('widthsLimits', { even: (1 / TOKENS).toFixed(3), bits: Math.log2(TOKENS) })}</p>
  </section>`;
}
