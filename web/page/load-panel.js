/** Loading a model: bytes, speed, what is left, cancel; what went wrong, and trying again; the wait for the first run. */
import { html, nothing } from 'lit';
import { troubleNote } from './troubles.js';

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
    <p class="load-line"><button type="button" class="pill strong" @click=${() => app.retry()}>${t('retry')}</button>${folderPicker(app)}
      ${session.model ? html`<button type="button" class="pill" @click=${() => session.dismiss()}>${t('close')}</button>` : nothing}</p>
    <p class="aside">${t('localNote')}</p>`;
}

/** @param {App} app */
export function folderPicker(app) {
  const onFiles = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const files = [...(input.files ?? [])];
    const name = files[0]?.webkitRelativePath.split('/')[0] ?? '';
    input.value = '';
    if (!files.length) return;
    /** @type {HTMLDialogElement | null} */ (input.closest('dialog'))?.close();
    void app.load(files, name);
  };
  return html`<label class="pill file">${app.t('localFolder')}<input type="file" class="visually-hidden" webkitdirectory multiple @change=${onFiles} /></label>`;
}
