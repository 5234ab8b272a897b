/** Loading a model: bytes, speed, what is left, cancel; what went wrong, and trying again; the wait for the first run. */
import { html, nothing } from 'lit';
import { troubleNote } from './troubles.js';
import { phrase } from './words/isolated.js';

/** @typedef {import('./app.js').App} App */

const MEGABYTE = 1e6;

/** @param {App} app */
export function loadPanel(app) {
  const { session } = app;
  const isLoading = session.phase === 'loading';
  const isWaiting = app.picture === null && (isLoading || (session.phase === 'ready' && session.runError === null));
  return html`
    ${session.phase === 'ready' ? nothing : html`<section class="pane load" aria-live="polite">${isLoading ? loading(app) : stopped(app)}</section>`}
    ${isWaiting ? PLACEHOLDER : nothing}`;
}

/** The panes to come, so that the page is neither empty nor jumps when they do. */
const PLACEHOLDER = html`<div class="panes waiting" aria-hidden="true">${[3, 2, 5].map(
  (lines) =>
    html`<div class="pane"><i></i><i class="short"></i><i class="block"></i>${Array.from({ length: lines }, () => html`<i></i>`)}</div>`,
)}</div>`;

/** @param {App} app */
function loading({ t, session }) {
  const { progress } = session;
  const percent = progress?.total ? Math.min(100, Math.round((100 * progress.loaded) / progress.total)) : null;
  return html`
    <h2 id="load-title">${t('loading')}</h2>
    <progress role="progressbar" aria-labelledby="load-title" max="100" value=${percent ?? nothing} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent ?? nothing}></progress>
    <p class="load-line"><span aria-hidden="true">${progress ? bytes(t, progress) : t('loadingStart')}</span>
      <span class="visually-hidden">${percent === null ? '' : `${Math.floor(percent / 10) * 10} %`}</span>
      <button type="button" class="pill" @click=${() => session.cancel()}>${t('cancel')}</button></p>`;
}

/** @param {App['t']} t  @param {import('./session.js').Progress} progress */
function bytes(t, { loaded, total, bytesPerSecond }) {
  const mb = (/** @type {number} */ count) => (count / MEGABYTE).toFixed(1);
  const parts = [
    total ? t('loadingBytes', { loaded: mb(loaded), total: mb(total) }) : t('loadingBytesOnly', { loaded: mb(loaded) }),
  ];
  if (bytesPerSecond) parts.push(t('loadingRate', { rate: mb(bytesPerSecond) }));
  if (bytesPerSecond && total && total > loaded)
    parts.push(t('loadingLeft', { seconds: Math.ceil((total - loaded) / bytesPerSecond) }));
  return parts.join(' · ');
}

/** @param {App} app */
function stopped(app) {
  const { t, session } = app;
  const failed = session.phase === 'failed';
  return html`
    <h2>${failed ? t('failedModel') : t('cancelled')}</h2>
    ${failed && session.loadError ? troubleNote(t, session.loadError, { role: 'alert' }) : nothing}
    ${session.model ? html`<p>${t('failedKept')}</p>` : nothing}
    <p class="load-line buttons">${session.asked ? html`<button type="button" class="pill strong" @click=${() => app.retry()}>${t('retry')}</button>` : nothing}${modelPickers(app)}
      ${session.model ? html`<button type="button" class="pill" @click=${() => session.dismiss()}>${t('close')}</button>` : nothing}</p>
    <p class="aside">${t('localNote')}</p>`;
}

/** A folder and a single file: no picker of a browser offers both. @param {App} app */
export function modelPickers(app) {
  return html`${picker(app, app.t('localFolder'), true)}${picker(app, app.t('localFile'), false)}`;
}

/** @param {App} app  @param {string} label  @param {boolean} isFolder */
function picker(app, label, isFolder) {
  const onFiles = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const files = [...(input.files ?? [])];
    const folder = files[0]?.webkitRelativePath.split('/')[0] ?? '';
    input.value = '';
    if (!files.length) return;
    /** @type {HTMLDialogElement | null} */ (input.closest('dialog'))?.close();
    void app.openFiles(files, folder);
  };
  return html`<label class="pill file">${label}<input type="file" class="visually-hidden" ?webkitdirectory=${isFolder} multiple @change=${onFiles} /></label>`;
}

/** A link names a model by its file only; the file itself is on the disk of whoever has it. @param {App} app */
export function missingModel(app) {
  const { t, session, state } = app;
  if (session.phase !== 'ready' || state.model === '' || state.model === session.linkName) return nothing;
  return html`<div class="note missing-model" aria-live="polite"><p>${phrase(t, 'linkModel', { name: state.model })}</p>
    <p class="load-line buttons">${modelPickers(app)}<button type="button" class="pill" @click=${() => app.choose({ model: session.linkName })}>${t('linkModelKeep', { name: session.name })}</button></p></div>`;
}
