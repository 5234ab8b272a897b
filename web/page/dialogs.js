/** Help with the keyboard, and what is known about the model. */
import { html, nothing } from 'lit';
import { dialog } from './dialog-frame.js';
import { modelPickers } from './load-panel.js';
import { openDialog } from './open-dialog.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./words/translate.js').WordKey} WordKey */

/** @type {[string[], WordKey][]} */
const KEYS = [
  [['←', '↑', '↓', '→'], 'keyArrows'],
  [['Home', 'End'], 'keyHomeEnd'],
  [['Ctrl+Home', 'Ctrl+End'], 'keyCtrlHome'],
  [['PgUp', 'PgDn'], 'keyPage'],
  [['[', ']'], 'keyBrackets'],
  [['+', '−', '0'], 'keyZoom'],
  [['?'], 'keyHelp'],
  [['Esc'], 'keyEscape'],
];

/** @type {[string[], WordKey][]} */
const SANDBOX_KEYS = [
  [['←', '↑', '↓', '→'], 'keySheetArrows'],
  [['Enter', '0–9'], 'keySheetEdit'],
  [['PgUp', 'PgDn'], 'keySheetNudge'],
  [['Shift'], 'keySheetShift'],
  [['Del'], 'keySheetDelete'],
  [['Space'], 'keySheetMask'],
  [['Ctrl+C', 'Ctrl+V'], 'keySheetPaste'],
  [['[', ']'], 'keyBrackets'],
  [['?'], 'keyHelp'],
  [['Esc'], 'keySheetEscape'],
];

/** @param {App} app */
function helpDialog(app) {
  const { t } = app;
  const keys = app.state.place === 'sandbox' ? SANDBOX_KEYS : KEYS;
  return dialog(
    app,
    'help',
    t('helpTitle'),
    html`
    <p>${t('helpIdea')}</p><p>${t('helpLook')}</p><p class="caveat">${t('caveat')}</p>
    <h3>${t('keysTitle')}</h3>
    <table class="keys"><tbody>${keys.map(([names, what]) => html`<tr><th scope="row">${names.map((key) => html`<kbd>${key}</kbd> `)}</th><td>${t(what)}</td></tr>`)}</tbody></table>
    <p class="aside">${t('privacy')}</p>`,
  );
}

/** @param {App} app */
function modelDialog(app) {
  const { t, session, language } = app;
  const info = session.model?.info;
  const count = new Intl.NumberFormat(language);
  const fact = (/** @type {WordKey} */ key, /** @type {unknown} */ value) =>
    html`<div><dt>${t(key)}</dt><dd>${value}</dd></div>`;
  return dialog(
    app,
    'model',
    info ? session.name : t('modelInfo'),
    html`
    ${
      info
        ? html`<dl class="facts">
      ${fact('factFamily', info.family)}${fact('factKind', t(info.kinds[0] === 'decoder' ? 'kindDecoder' : 'kindEncoder'))}
      ${fact('factLayers', info.layers)}${fact('factHeads', info.heads)}${info.kvHeads < info.heads ? fact('factKvHeads', info.kvHeads) : nothing}${fact('factDk', info.headDim)}${fact('factWidth', info.width)}
      ${fact('factParameters', count.format(info.parameters))}${fact('factVocab', count.format(info.vocab))}
      ${fact('factMaxTokens', t(session.isCapped ? 'factTokensHere' : 'factTokens', { n: count.format(info.maxTokens) }))}
      ${fact('factPrecision', t(`precision_${info.precision}`))}${fact('factMemory', t('megabytes', { mb: count.format(Math.round(info.bytes / 1e5) / 10) }))}${fact('factError', measuredError(app, info))}
      ${info.licence ? fact('factLicence', info.licence) : nothing}
    </dl>`
        : nothing
    }
    <p class="load-line buttons">${modelPickers(app)}${app.isBundled ? nothing : back(app)}</p><p class="aside">${t('localNote')}</p>`,
  );
}

/** @param {App} app */
function back(app) {
  const onClick = (/** @type {Event} */ event) => {
    /** @type {HTMLElement} */ (event.currentTarget).closest('dialog')?.close();
    void app.loadBundled();
  };
  return html`<button type="button" class="pill" @click=${onClick}>${app.t('backToBundled', { name: app.bundled.name })}</button>`;
}

/** All of them. @param {App} app */
export const dialogs = (app) => html`${helpDialog(app)}${modelDialog(app)}${openDialog(app)}`;

/** @param {App} app  @param {import('qkv').ModelInfo} info */
function measuredError({ t }, info) {
  const { attention_p999: p999, attention_max: max } = info.measured ?? {};
  if (p999 !== undefined && max !== undefined) return t('factErrorValue', { p999, max });
  return info.precision === 'f32' ? t('factErrorNone') : t('factErrorUnknown');
}
