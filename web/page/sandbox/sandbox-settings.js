/** Sizes, switches and words of the sandbox. */
import { html, nothing } from 'lit';
import { live } from 'lit/directives/live.js';
import { labelsOf, MOST } from './setup.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../words/translate.js').WordKey} WordKey */

const TEMPERATURE_STEP = 0.05;

/** @param {number} least  @param {number} most  @param {number} [step] */
const steps = (least, most, step = 1) =>
  Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, i) => least + i * step);

/** @param {App} app */
export function settings(app) {
  const { t, sandbox } = app;
  const { setup } = sandbox;
  const { n, m, width, heads, cross, scaled, temperature } = setup;
  const number = (/** @type {string} */ value) => Number(value);
  return html`<section class="settings" aria-label=${t('settings')}>
    ${choice(app, 'wordCount', n, steps(1, MOST.words), (value) => ({ n: number(value) }))}
    ${cross ? choice(app, 'otherCount', m, steps(1, MOST.words), (value) => ({ m: number(value) })) : nothing}
    ${choice(app, 'headsOf', heads, steps(1, MOST.heads), (value) => ({ heads: number(value) }))}
    ${choice(app, 'widthOf', width, steps(heads, MOST.width, heads), (value) => ({ width: number(value) }))}
    <label class="choice"><span>${t('source')}</span><select @change=${(/** @type {Event} */ event) => sandbox.change({ cross: textOf(event) === 'cross' })}>
      <option value="self" .selected=${live(!cross)}>${t('sourceSelf')}</option><option value="cross" .selected=${live(cross)}>${t('sourceCross')}</option></select></label>
    <label class="choice temperature"><span>${t('temperature')}</span><span class="temperature-line">
      <input type="range" min="-1" max="1" step=${TEMPERATURE_STEP} .value=${String(Math.log10(temperature))} aria-valuetext=${temperature}
        @input=${(/** @type {Event} */ event) => sandbox.change({ temperature: 10 ** Number(textOf(event)) })} /><output>${temperature}</output></span></label>
    <label class="switch"><input type="checkbox" .checked=${scaled} @change=${(/** @type {Event} */ event) => sandbox.change({ scaled: checkedOf(event) })} />${t('divide')}</label>
    <label class="switch"><input type="checkbox" .checked=${sandbox.spelled} @change=${(/** @type {Event} */ event) => sandbox.spell(checkedOf(event))} />${t('spellOut')}</label>
    ${words(app, 'x', cross ? 'wordsLook' : 'wordsAll')}${cross ? words(app, 'y', 'wordsLookedAt') : nothing}
  </section>`;
}

/** @param {Event} event */
const textOf = (event) => /** @type {HTMLInputElement} */ (event.target).value;
/** @param {Event} event */
const checkedOf = (event) => /** @type {HTMLInputElement} */ (event.target).checked;

/**
 * A select. The options are told which is chosen, not the select: it could only take a value that it offers already.
 * @param {App} app  @param {WordKey} name  @param {number} value  @param {number[]} values  @param {(value: string) => Parameters<App['sandbox']['change']>[0]} patch
 */
function choice({ t, sandbox }, name, value, values, patch) {
  return html`<label class="choice"><span>${t(name)}</span>
    <select @change=${(/** @type {Event} */ event) => sandbox.change(patch(textOf(event)))}>
      ${values.map((one) => html`<option value=${one} .selected=${live(one === value)}>${one}</option>`)}</select></label>`;
}

/** @param {App} app  @param {'x' | 'y'} side  @param {WordKey} title */
function words({ t, sandbox }, side, title) {
  return html`<div class="words" role="group" aria-label=${t(title)}><span class="dim">${t(title)}</span>${labelsOf(
    sandbox.setup,
    side,
  ).map(
    (
      label,
      i,
    ) => html`<input type="text" class="word" maxlength=${MOST.label} autocomplete="off" spellcheck="false" .value=${label}
      aria-label=${t('wordLabel', { side: t(title), n: i + 1 })} @input=${(/** @type {InputEvent} */ event) => {
        if (!event.isComposing) sandbox.label(side, i, textOf(event));
      }} @compositionend=${(/** @type {Event} */ event) => sandbox.label(side, i, textOf(event))} />`,
  )}</div>`;
}
