/** Loading a model: bytes, speed, what is left, cancel; afterwards what went wrong, and trying again. */
import { html, nothing } from 'lit';

/** @typedef {import('./app.js').App} App */

const MEGABYTE = 1e6;

/** @param {App} app */
export function loadPanel(app) {
  const { session } = app;
  if (session.phase === 'ready') return nothing;
  return html`<section class="pane load" aria-live="polite">${session.phase === 'loading' ? loading(app) : stopped(app)}</section>`;
}

/** @param {App} app */
function loading({ t, session }) {
  const { progress } = session;
  const percent = progress?.total ? Math.min(100, Math.round((100 * progress.loaded) / progress.total)) : null;
  return html`
    <h2 id="load-title">${t('loading')}</h2>
    <progress role="progressbar" aria-labelledby="load-title" max="100" .value=${percent ?? 0} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${percent ?? 0}></progress>
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
    ${failed ? html`<p class="note bad" role="alert">${session.loadError}</p>` : nothing}
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
