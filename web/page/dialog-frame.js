/** What every dialog of the page has: a title, a button that closes it, and the backdrop, which does so too. */
import { html } from 'lit';

/** @typedef {import('./app.js').App} App */
/** @typedef {'help' | 'model' | 'open'} DialogName */

/**
 * @param {App} app
 * @param {DialogName} name
 * @param {unknown} title
 * @param {unknown} body
 * @param {() => void} [onClose]
 */
export function dialog({ t }, name, title, body, onClose) {
  const closeOutside = (/** @type {MouseEvent} */ event) => {
    const box = /** @type {HTMLDialogElement} */ (event.currentTarget);
    if (event.target === box) box.close();
  };
  const close = (/** @type {Event} */ event) =>
    /** @type {HTMLElement} */ (event.currentTarget).closest('dialog')?.close();
  return html`<dialog id="${name}-dialog" aria-labelledby="${name}-dialog-title" @click=${closeOutside} @close=${onClose}>
    <div class="dialog-body">
      <div class="pane-head"><h2 id="${name}-dialog-title">${title}</h2>
        <button type="button" class="pill round" aria-label=${t('close')} title=${t('close')} @click=${close}>×</button></div>
      ${body}
    </div>
  </dialog>`;
}
