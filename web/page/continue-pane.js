/** What the model's head says: which tokens come next, or fit in a gap, and a text that goes on by itself. */
import { html, nothing } from 'lit';
import { LIMITS } from './hash.js';
import { phrase } from './words/isolated.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {keyof typeof LIMITS} Setting */
/** @typedef {import('./words/translate.js').WordKey} WordKey */

/** @type {[Setting, WordKey, WordKey][]} */
const SETTINGS = [
  ['tokens', 'setTokens', 'setTokensHint'],
  ['temp', 'setTemperature', 'setTemperatureHint'],
  ['topk', 'setTopK', 'setTopKHint'],
  ['topp', 'setTopP', 'setTopPHint'],
  ['seed', 'setSeed', 'setSeedHint'],
];

/** Nothing for a model without a head. @param {App} app */
export function continuePane(app) {
  const { t, selection, picture } = app;
  if (!picture?.shape.hasHead) return nothing;
  const { causal } = picture.shape;
  const position = picture.positionOf(app.place.row);
  const label = app.labels[position] ?? '';
  const title = phrase(t, causal ? 'nextAfter' : 'nextAt', { token: label });
  return html`<section class="pane continue" aria-label=${t(causal ? 'nextTitle' : 'nextFits')}>
    <div class="pane-head"><h2>${title}</h2><span class="dim">${t(causal ? 'nextNote' : 'nextGapNote')}</span></div>
    <qkv-next class="view" .next=${selection?.next ?? []} .t=${t}
      @pick-token=${(/** @type {CustomEvent<string>} */ event) => app.addToken(event.detail)}></qkv-next>
    ${causal ? generating(app) : nothing}
  </section>`;
}

/** @param {App} app */
function generating(app) {
  const { t, generation } = app;
  const isRunning = generation.phase === 'running';
  return html`<form class="generate" @submit=${(/** @type {Event} */ event) => {
    event.preventDefault();
    if (isRunning) app.stopGenerating();
    else void app.generate();
  }}>
    <button type="submit" class="pill strong">${t(isRunning ? 'stop' : 'generate')}</button>
    ${SETTINGS.map(([name, label, hint]) => setting(app, name, t(label), t(hint)))}
  </form>
  ${generation.phase === 'idle' ? nothing : stream(app)}`;
}

/** @param {App} app  @param {Setting} name  @param {string} label  @param {string} hint */
function setting(app, name, label, hint) {
  const { least, most, step } = LIMITS[name];
  const onChange = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    app.setGeneration(name, input.valueAsNumber);
    input.value = String(app.state[name]);
  };
  return html`<label class="choice" title=${hint}><span>${label}</span><input type="number" inputmode="decimal" min=${least} max=${most} step=${step}
    .value=${String(app.state[name])} ?disabled=${app.generation.phase === 'running'} @change=${onChange} /></label>`;
}

/** @param {App} app */
function stream(app) {
  const { t, generation, state } = app;
  const { phase, ended, tokens, text } = generation;
  /** @type {WordKey} */
  const end =
    phase === 'stopped' ? 'endStopped' : ended === 'eos' ? 'endEos' : ended === 'context' ? 'endContext' : 'endLength';
  const said = phase === 'running' ? t('generatingNow', { n: tokens.length }) : t(end, { n: tokens.length });
  return html`<div class="stream">
    <p class="stream-text" dir="auto" aria-busy=${phase === 'running'}><span class="stream-prompt">${tailOf(state.text)}</span><b>${text}</b></p>
    <p class="stream-line"><span class="dim" aria-live="polite">${phase === 'running' ? t('generating') : said}</span>
      ${phase === 'running' ? html`<span class="dim" aria-hidden="true">${said}</span>` : nothing}
      ${phase === 'running' || text === '' ? nothing : html`<button type="button" class="link" title=${t('keepTextHint')} @click=${() => app.keepText()}>${t('keepText')}</button>`}</p>
  </div>`;
}

const TAIL = 160;

/** The end of the prompt, at which the new text begins. @param {string} text */
const tailOf = (text) => (text.length > TAIL ? `…${text.slice(-TAIL)}` : text);
