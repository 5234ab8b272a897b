/** The page as one template of the app's state: top bar, sentence, the three panes, dialogs. */
import { html, nothing } from 'lit';
import { droppedFiles } from './drop.js';
import { sameCellElsewhere } from './findings.js';
import { VIEWS } from './hash.js';
import { troubleNote } from './troubles.js';
import { isolated, phrase, token } from './words/isolated.js';
import { shortWeight } from './words/short-weight.js';
import { onHeadKey } from './keyboard.js';
import { maskReason } from './mask.js';
import { continuePane } from './continue-pane.js';
import { dialogs } from './dialogs.js';
import { presetsFor } from './presets.js';
import { loadPanel, missingModel } from './load-panel.js';
import { sandboxPage } from './sandbox/sandbox-page.js';

/** @typedef {import('./app.js').App} App */

/** How word-piece vocabularies write a word they do not have. */
const UNKNOWN = '[UNK]';

/** @param {App} app */
export function pageTemplate(app) {
  const { t } = app;
  return html`
    <div class="page" @dragover=${(/** @type {DragEvent} */ event) => event.preventDefault()} @drop=${(/** @type {DragEvent} */ event) => onDrop(app, event)}>
      <a class="skip" href="#heads" @click=${skipToHeads}>${t(app.state.place === 'sandbox' ? 'skipToNumbers' : 'skip')}</a>
      ${topBar(app)}
      <main>${app.state.place === 'sandbox' ? sandboxPage(app) : explorer(app)}</main>
      ${footer(app)}
    </div>
    ${dialogs(app)}
  `;
}

/** @param {App} app */
function explorer(app) {
  return html`${sentence(app)}${missingModel(app)}${loadPanel(app)}${app.picture ? html`${continuePane(app)}${panes(app)}` : nothing}`;
}

/** Moves the focus without touching the hash, which holds the state. @param {Event} event */
function skipToHeads(event) {
  event.preventDefault();
  /** @type {HTMLElement | null} */ (document.querySelector('[role=gridcell][tabindex="0"]'))?.focus();
}

/** @param {App} app  @param {DragEvent} event */
async function onDrop(app, event) {
  event.preventDefault();
  if (!event.dataTransfer) return;
  const { files, name } = await droppedFiles(event.dataTransfer);
  if (!files.length) return;
  if (app.state.place === 'sandbox') app.choose({ place: 'model' });
  await app.openFiles(files, name);
}

/** @param {App} app */
function topBar(app) {
  const { t, session } = app;
  const info = session.model?.info;
  const shape =
    info &&
    t('modelShape', {
      layers: info.layers,
      heads: info.heads,
      dk: info.headDim,
      precision: t(`precision_${info.precision}`),
    });
  const dark = app.theme === 'dark';
  const inSandbox = app.state.place === 'sandbox';
  return html`<header class="top">
    <h1 class="logo" aria-label="qkv">q<i>k</i>v</h1>
    <button type="button" class="pill model" aria-haspopup="dialog" @click=${() => app.openDialog('model')}>
      <span>${session.name}</span> <small>${shape ?? (session.phase === 'loading' ? t('loading') : t('noModel'))}</small></button>
    <span class="tagline">${t('tagline')}</span>
    <nav class="tools" aria-label="qkv">
      <button type="button" class="pill" aria-pressed=${inSandbox} title=${t(inSandbox ? 'backToModel' : 'sandboxHint')}
        @click=${() => app.choose({ place: inSandbox ? 'model' : 'sandbox' })}>${gridIcon}${t('sandbox')}</button>
      <button type="button" class="pill" @click=${() => app.copyLink()}>${linkIcon}<span aria-live="polite">${app.notice ?? t('copyLink')}</span></button>
      <button type="button" class="pill" lang=${app.language === 'en' ? 'zh-Hans' : 'en'} aria-label="${t('switchLanguage')} · ${t('switchLanguageLabel')}"
        @click=${() => app.choose({ lang: app.language === 'en' ? 'zh' : 'en' })}>${t('switchLanguage')}</button>
      <button type="button" class="pill round" aria-label=${t(dark ? 'themeLight' : 'themeDark')} title=${t(dark ? 'themeLight' : 'themeDark')}
        @click=${() => app.choose({ theme: dark ? 'light' : 'dark' })}>${dark ? sunIcon : moonIcon}</button>
      <button type="button" class="pill round" aria-label=${t('help')} title="${t('help')} (?)" aria-haspopup="dialog" @click=${() => app.openDialog('help')}>?</button>
    </nav>
  </header>`;
}

const linkIcon = html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M6.5 9.5l3-3M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.3 8.8M9 11.5l-1.2 1.2a3 3 0 0 1-4.3-4.3l1.2-1.2"></path></svg>`;
const gridIcon = html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M2.5 2.5h11v11h-11zM2.5 6.2h11M2.5 9.8h11M6.2 2.5v11M9.8 2.5v11"></path></svg>`;
const moonIcon = html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M13 9.7A5.6 5.6 0 0 1 6.3 3a5.6 5.6 0 1 0 6.7 6.7z"></path></svg>`;
const sunIcon = html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="2.8"></circle><path d="M8 1.6v1.6M8 12.8v1.6M1.6 8h1.6M12.8 8h1.6M3.5 3.5l1.1 1.1M11.4 11.4l1.1 1.1M12.5 3.5l-1.1 1.1M4.6 11.4l-1.1 1.1"></path></svg>`;

/** @param {App} app */
function sentence(app) {
  const { t, session, picture } = app;
  const onInput = (/** @type {InputEvent} */ event) => {
    const box = /** @type {HTMLTextAreaElement} */ (event.target);
    if (!event.isComposing) app.type(box.value);
  };
  const ms = picture?.ms.toFixed(picture.ms < 100 ? 1 : 0);
  return html`<section class="ask" aria-label=${t('sentence')}>
    <div class="ask-line">
      <textarea id="sentence" dir="auto" aria-label=${t('sentence')} aria-describedby="run-facts" rows="2" spellcheck="false" autocomplete="off" placeholder=${t('sentenceHint')}
        .value=${app.state.text} @input=${onInput} @compositionend=${onInput}></textarea>
      <div class="run" id="run-facts" aria-busy=${session.busy}>
        ${ms ? html`<b>${t('milliseconds', { ms })}</b>` : html`<span class="no-run">${t(session.busy ? 'firstRun' : 'noRun')}</span>`}
        <span>${picture ? tokenCount(app, picture) : t('privacy')}</span>
      </div>
    </div>
    <div class="try"><span>${t('tryThese')}</span>${presetsFor(
      app.shape.causal ? 'decoder' : app.isBundled ? 'bundled' : 'encoder',
    ).map(
      (preset) => html`<button type="button" class="link"
      aria-pressed=${preset.text === app.state.text} @click=${() => app.choosePreset(preset)}>${t(preset.word)}</button>`,
    )}</div>
    <div class="notes" aria-live="polite">
      ${picture ? remarks(app, picture) : nothing}
      ${picture?.truncated ? html`<p class="note">${truncation(app, picture.truncated)}</p>` : nothing}
      ${session.runError ? troubleNote(t, session.runError, { title: 'failedRun' }) : nothing}
    </div>
  </section>`;
}

/** @param {App} app  @param {import('./picture.js').Picture} picture */
function tokenCount({ t }, { tokens, prompt }) {
  const added = tokens.length - prompt;
  return added > 0 ? t('tokensNew', { n: tokens.length, added }) : t('tokens', { n: tokens.length });
}

/** What to know about the tokens on the screen. @param {App} app  @param {import('./picture.js').Picture} picture */
function remarks({ t }, { tokens }) {
  const unknown = tokens.filter((token) => token.text === UNKNOWN).length;
  const isEmpty = tokens.every((token) => token.special);
  return html`${isEmpty ? html`<p class="note">${t('empty')}</p>` : nothing}
    ${unknown ? html`<p class="note">${t('unknown', { n: unknown })}</p>` : nothing}`;
}

/** @param {App} app  @param {{ from: number, to: number }} truncated */
function truncation({ t, language, session }, { from, to }) {
  const number = new Intl.NumberFormat(language);
  return t(session.isCapped ? 'truncatedHere' : 'truncated', {
    from: number.format(from),
    to: number.format(to),
    cut: number.format(from - to),
  });
}

/** @param {App} app */
function panes(app) {
  return html`<div class="panes">${headsPane(app)}${headPane(app)}${numberPane(app)}</div>`;
}

/** @type {import('./mask.js').LayerMask[]} */
const NO_MASKS = [];

/** @param {App} app */
function headsPane(app) {
  const { t, picture, shape, place, state, theme } = app;
  return html`<section class="pane heads-pane" id="heads" aria-labelledby="heads-title">
    <h2 id="heads-title">${t('allHeads')}</h2>
    <p class="s">${t(shape.causal ? 'causalHeadsNote' : 'allHeadsNote')}</p>
    <qkv-heads class="view" .overview=${picture?.overview ?? null} .masks=${picture?.masks ?? NO_MASKS} .count=${picture?.tokens.length ?? 0} .shape=${shape} .place=${place} .scale=${state.scale} .theme=${theme} .t=${t}
      @pick-head=${(/** @type {CustomEvent<{ layer: number, head: number }>} */ event) => app.pickHead(event.detail)}></qkv-heads>
    <div class="findings">
      <div class="pane-head"><h2>${t('findings')}</h2><span class="dim">${t('findingsNote')}</span></div>
      <ul>${app.findings.map((finding) => findingRow(app, finding))}</ul>
      ${elsewhere(app)}
      <p class="aside">${t('findingMeaning')}</p>
    </div>
  </section>`;
}

/** Where else the chosen token looks at the chosen one. @param {App} app */
function elsewhere(app) {
  const { t, picture, labels, place } = app;
  const others = picture ? sameCellElsewhere(picture.overview, labels.length, place) : [];
  if (!others.length) return nothing;
  const title = phrase(t, 'sameCell', { from: labels[place.row], to: labels[place.col] });
  return html`<h3>${title}</h3><ul>${others.map((finding) => findingRow(app, finding, t('headName', finding)))}</ul>`;
}

/** @param {App} app  @param {import('./findings.js').Finding} finding  @param {string} [name] instead of what it does */
function findingRow(app, finding, name) {
  const { t, labels, place } = app;
  const { layer, head } = finding;
  const isHere = layer === place.layer && head === place.head;
  const deed =
    finding.what === 'link'
      ? phrase(t, 'finding_link', { from: labels[finding.row], to: labels[finding.col] })
      : t(`finding_${finding.what}`);
  const go = () =>
    app.choose(finding.what === 'link' ? { layer, head, row: finding.row, col: finding.col } : { layer, head });
  return html`<li><button type="button" class="finding" aria-pressed=${isHere} @click=${go}>
    <span class="finding-head">${layer}.${head}<span class="visually-hidden"> (${t('headName', { layer, head })})</span></span><span class="finding-what">${name ?? deed}</span>
    <meter min="0" max="1" .value=${finding.score} aria-hidden="true"></meter><span class="finding-score">${shortWeight(finding.score)}</span></button></li>`;
}

/** @param {App} app */
function headPane(app) {
  const { t, place, state } = app;
  const note = /** @type {const} */ ({ matrix: 'matrixNote', lines: 'linesNote', text: 'textNote' })[state.view];
  return html`<section class="pane head-pane" aria-labelledby="head-title" @keydown=${(/** @type {KeyboardEvent} */ event) => onHeadKey(app, event)}
    @pick-cell=${(/** @type {CustomEvent<{ row: number, col: number }>} */ event) => app.pickCell(event.detail)}
    @pick-scale=${(/** @type {CustomEvent<App['state']['scale']>} */ event) => app.choose({ scale: event.detail })}>
    <div class="pane-head">
      <h2 id="head-title">${t('headName', place)}</h2>
      <div class="steppers">
        ${stepper(
          app,
          t('layer'),
          () => app.pickHead({ layer: place.layer - 1, head: place.head }),
          () => app.pickHead({ layer: place.layer + 1, head: place.head }),
          place.layer,
          app.shape.layers,
        )}
        ${stepper(
          app,
          t('head'),
          () => app.pickHead({ layer: place.layer, head: place.head - 1 }),
          () => app.pickHead({ layer: place.layer, head: place.head + 1 }),
          place.head,
          app.shape.heads,
        )}
      </div>
      <div class="tabs" role="group" aria-label=${t('view')}>
        ${VIEWS.map((view) => html`<button type="button" aria-pressed=${view === state.view} @click=${() => app.choose({ view })}>${t(`view_${view}`)}</button>`)}
      </div>
    </div>
    <p class="s">${t(note)}</p>
    ${cellBar(app)}
    ${headView(app)}
    ${headNotes(app)}
    <qkv-table class="view" .weights=${app.weights} .reasonOf=${app.reasonOf} .labels=${app.labels} .place=${place} .t=${t}></qkv-table>
  </section>`;
}

/** @param {App} app @param {string} name @param {() => void} less @param {() => void} more @param {number} value @param {number} count */
function stepper({ t }, name, less, more, value, count) {
  return html`<span class="stepper" role="group" aria-label=${name}>
    <button type="button" aria-label="${name}: ${t('earlier')}" ?disabled=${value <= 0} @click=${less}>‹</button><span>${name}</span><button type="button"
      aria-label="${name}: ${t('later')}" ?disabled=${value >= count - 1} @click=${more}>›</button></span>`;
}

/** The chosen cell in words, and as two lists. @param {App} app */
function cellBar(app) {
  const { t, place, labels, selection } = app;
  const value = selection?.head.weights[place.row * labels.length + place.col] ?? 0;
  const reason = selection && maskReason(selection.mask, place.row, place.col);
  const list = (
    /** @type {'row' | 'col'} */ axis,
    /** @type {'from' | 'to'} */ name,
  ) => html`<label class="choice"><span>${t(name)}</span>
    <select .value=${String(place[axis])} @change=${(/** @type {Event} */ event) => app.pickCell({ ...place, [axis]: Number(/** @type {HTMLSelectElement} */ (event.target).value) })}>
      ${labels.map((label, i) => html`<option value=${i} ?selected=${i === place[axis]}>${i} ${isolated(label)}</option>`)}
    </select></label>`;
  return html`<div class="cell-bar">
    <p class="cell" role="status">${token(labels[place.row])} → ${token(labels[place.col])} ${reason ? t(`reason_${reason}`) : value.toFixed(4)}</p>
    <div class="choices">${list('row', 'from')}${list('col', 'to')}</div>
  </div>`;
}

/** @param {App} app */
function headView({ weights, reasonOf, labels, place, state, theme, t, picture }) {
  const prompt = picture?.prompt ?? labels.length;
  if (state.view === 'lines')
    return html`<qkv-lines class="view" .weights=${weights} .labels=${labels} .place=${place} .prompt=${prompt} .theme=${theme} .t=${t}></qkv-lines>`;
  if (state.view === 'text')
    return html`<qkv-text class="view" .weights=${weights} .tokens=${picture?.tokens} .labels=${labels} .reasonOf=${reasonOf} .prompt=${prompt} .place=${place} .scale=${state.scale} .theme=${theme} .t=${t}></qkv-text>`;
  return html`<qkv-matrix class="view" .weights=${weights} .labels=${labels} .place=${place} .reasonOf=${reasonOf} .prompt=${prompt} .scale=${state.scale} .theme=${theme} .t=${t}></qkv-matrix>`;
}

/** What the picture leaves out or sets off, and the switch for the column of the first token. @param {App} app */
function headNotes(app) {
  const { t, selection, picture, labels, state } = app;
  if (!selection || !picture) return nothing;
  const { length: n } = labels;
  const { reach, causal } = selection.mask;
  const key = (/** @type {string} */ kind, /** @type {string} */ text) =>
    html`<li><i class="key ${kind}" aria-hidden="true"></i>${text}</li>`;
  return html`<ul class="head-notes">
      ${causal && n > 1 ? key('hatched', t('legendLater')) : nothing}
      ${reach < n - 1 ? key('hatched', t('legendWindow', { reach })) : nothing}
      ${picture.prompt < n ? key('fresh', t('legendNew', { n: n - picture.prompt })) : nothing}
      ${state.first === 'hidden' ? key('hatched', t('legendFirst')) : nothing}
    </ul>
    <label class="switch"><input type="checkbox" .checked=${state.first === 'hidden'} @change=${(
      /** @type {Event} */ event,
    ) =>
      app.choose({
        first: /** @type {HTMLInputElement} */ (event.target).checked ? 'hidden' : 'shown',
      })} />${t('hideFirst')}</label>`;
}

/** @param {App} app */
function numberPane(app) {
  const { t, place, selection, labels, shape } = app;
  return html`<section class="pane number-pane" aria-labelledby="number-title">
    <div class="pane-head"><h2 id="number-title">${t('number')}</h2><span class="dim">${t('cellPlace', place)}</span></div>
    <qkv-number class="view" .selection=${selection} .labels=${labels} .shape=${shape} .t=${t}
      @pick-cell=${(/** @type {CustomEvent<{ row: number, col: number }>} */ event) => app.pickCell(event.detail)}></qkv-number>
  </section>`;
}

/** @param {App} app */
function footer({ t, session, state }) {
  if (state.place === 'sandbox') return html`<footer><p>${t('footerSandbox')}</p><p>${t('caveat')}</p></footer>`;
  const info = session.model?.info;
  const p999 = info?.measured?.attention_p999;
  return html`<footer>
    <p>${t('footerNumbers')} ${info && p999 !== undefined ? t('footerError', { precision: t(`precision_${info.precision}`), p999 }) : nothing} <strong>${t('privacy')}</strong></p>
    <p>${t('caveat')}</p>
  </footer>`;
}
