/** The first steps of the chain of a number: from two tokens to the logit that goes into the softmax. */
import { html, nothing } from 'lit';
import { phrase, token } from '../words/isolated.js';
import { bracketed, shown } from './shown-number.js';

/** @typedef {import('./number-chain.js').NumberChain} NumberChain */
/** @typedef {ReturnType<NumberChain['numbers']>} Numbers */

/** Lengths that differ by less than this are the same, up to rounding: the vector was only turned. */
const SAME_LENGTH = 1e-3;
/** A scale that differs by less than this from 1/√dk is that. */
const SAME_SCALE = 1e-4;

/** @param {Float32Array} vector */
const lengthOf = (vector) => Math.hypot(...vector);

/** Query and key. @param {NumberChain} chain  @param {Numbers} x */
export function vectorSteps(chain, x) {
  const { t } = chain;
  const shape = `[1, ${x.width}] · [${x.width}, ${x.dk}] → [${x.dk}]`;
  return html`
    ${vectorStep(chain, x, shape, phrase(t, 'stepQuery', { token: x.from }), { ...x.query, name: 'q', label: x.from, map: 'Q' })}
    ${vectorStep(chain, x, shape, phrase(t, 'stepKey', { token: x.to }), { ...x.key, name: 'k', label: x.to, map: 'K' })}
  `;
}

/**
 * @param {NumberChain} chain
 * @param {Numbers} x
 * @param {string} shape
 * @param {unknown} what
 * @param {{ name: 'q' | 'k', label: string, map: 'Q' | 'K', at: number, values: Float32Array, linear: Float32Array, isTurned: boolean }} vector
 */
function vectorStep(chain, x, shape, what, { name, label, map, at, values, linear, isTurned }) {
  const bias = x.causal
    ? html`<span title=${chain.t('biasNote')}>(+ <i>b</i><sub>${map}</sub>)</span>`
    : html`+ <i>b</i><sub>${map}</sub>`;
  const product = html`<i>x</i><sub>${token(label)}</sub> <i>W</i><sub>${map}</sub> ${bias}`;
  const formula = html`
    <span><i>${name}</i><sub>${token(label)}</sub> = ${isTurned ? html`<i>R</i><sub>${at}</sub> ( ${product} )` : product}</span>
    <span class="read">${isTurned ? html`${shown(linear[x.d])} → ` : nothing}<i>${name}</i>[${x.d}] = <b>${shown(values[x.d])}</b></span>`;
  const notes = [isTurned ? turning(chain, at, values, linear) : nothing, name === 'k' ? sharing(chain, x) : nothing];
  return chain.step(what, shape, formula, html`${chain.headBars(name, values, x)}${notes}`);
}

/** What stands between the linear map and the score. @param {NumberChain} chain @param {number} at @param {Float32Array} values @param {Float32Array} linear */
function turning({ t }, at, values, linear) {
  const [before, after] = [lengthOf(linear), lengthOf(values)];
  const isOnlyTurned = Math.abs(after - before) <= SAME_LENGTH * before;
  const facts = { at, before: shown(before), after: shown(after) };
  return html`<p class="aside turning">${t(isOnlyTurned ? 'rotary' : 'normedRotary', facts)}</p>`;
}

/** Several heads may ask the same keys. @param {NumberChain} chain @param {Numbers} x */
function sharing({ t }, { kv }) {
  if (!kv) return nothing;
  return html`<p class="aside sharing">${t('sharedKv', kv)}</p>`;
}

/** From the score to the logit. @param {NumberChain} chain  @param {Numbers} x */
export function logitSteps(chain, x) {
  const { t } = chain;
  const product = html`
    <span><i>q</i> · <i>k</i> = Σ<sub>d</sub> <i>q</i>[d] <i>k</i>[d] = <b>${shown(x.score)}</b></span>
    <span class="read">${shown(x.query.values[x.d])} × ${bracketed(x.key.values[x.d])} = <b>${shown(x.products[x.d])}</b></span>`;
  return html`
    ${chain.step(t('stepScore'), `[${x.dk}] · [${x.dk}] → 1`, product, html`${chain.headBars('q·k', x.products, x)}${chain.dimensionTable(x)}`)}
    ${scaleStep(chain, x)}
    ${x.hasCap ? chain.step(t('stepCap'), '1 → 1', html`<span><i>c</i> tanh( ${shown(x.scaled)} / <i>c</i> ) = <b>${shown(x.capped)}</b></span>`, html`<p class="aside">${t('capNote')}</p>`) : nothing}
    ${x.hasBias ? chain.step(t('stepBias'), '1 → 1', html`<span>${shown(x.capped)} + ${bracketed(x.biased - x.capped)} = <b>${shown(x.biased)}</b></span>`, html`<p class="aside">${t('biasOfDistance')}</p>`) : nothing}
    ${maskStep(chain, x)}
  `;
}

/** @param {NumberChain} chain  @param {Numbers} x */
function scaleStep({ t, step }, x) {
  const root = Math.sqrt(x.dk);
  const isRoot = Math.abs(x.scale * root - 1) < SAME_SCALE;
  const formula = isRoot
    ? html`<span>${shown(x.score)} / √${x.dk} = ${shown(x.score)} / ${root.toFixed(4)} = <b>${shown(x.scaled)}</b></span>`
    : html`<span>${shown(x.score)} × ${shown(x.scale)} = <b>${shown(x.scaled)}</b></span>`;
  return step(t(isRoot ? 'stepScale' : 'stepScaleOwn'), '1 → 1', formula);
}

/** @param {NumberChain} chain  @param {Numbers} x */
function maskStep({ t, step }, x) {
  const isOut = x.masked === -Infinity;
  const formula = html`<span>${shown(x.biased)} + ${isOut ? '(−∞)' : bracketed(x.masked - x.biased)} = <b>${shown(x.masked)}</b></span>`;
  const note = isOut ? t(x.j > x.i ? 'maskLater' : 'maskWindow') : t(x.causal ? 'maskCausal' : 'maskNone');
  return step(t('stepMask'), '1 → 1', formula, html`<p class="aside">${note}</p>`);
}
