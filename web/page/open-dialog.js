/** Before a model from the disk is loaded: what it is, with what precision it is to be held, and what that takes. */
import { html, nothing } from 'lit';
import { dialog } from './dialog-frame.js';
import { CHOICES } from './opening.js';
import { phrase } from './words/isolated.js';
import { megabytes, shortage } from './words/memory.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./opening.js').Choice} Choice */

/** @param {App} app */
export function openDialog(app) {
  const { t, opening } = app;
  const { preview } = opening;
  return dialog(
    app,
    'open',
    phrase(t, 'openTitle', { name: opening.name }),
    preview ? body(app, preview) : nothing,
    () => app.closeOpening(),
  );
}

/** @param {App} app  @param {import('qkv').ModelPreview} preview */
function body(app, preview) {
  const { t, opening } = app;
  const canLoad = opening.fits(opening.choice);
  const kind = t(preview.kinds[0] === 'decoder' ? 'kindDecoder' : 'kindEncoder');
  const shape = t('modelShape', {
    ...{ layers: preview.layers, heads: preview.heads, dk: preview.headDim },
    precision: t(`precision_${preview.precision}`),
  });
  return html`<p>${preview.family} · ${kind} · ${shape}${sharing(app, preview)}</p>
    <fieldset class="precisions"><legend>${t('openPrecision')}</legend>
      ${CHOICES.map((choice) => precision(app, choice))}
    </fieldset>
    <p class="aside">${t('openAbout', { free: megabytes(app.language, preview.available) })}</p>
    ${canLoad ? nothing : html`<div class="note bad"><p role="alert">${tooLarge(app)}</p></div>`}
    <p class="load-line"><button type="button" class="pill strong" ?disabled=${!canLoad} @click=${() => app.loadOpened()}>${t('openLoad')}</button>
      <button type="button" class="pill" @click=${() => app.closeOpening()}>${t('cancel')}</button></p>
    <p class="aside">${t('openLocal')}</p>`;
}

/** @param {App} app  @param {{ heads: number, kvHeads: number }} preview */
const sharing = ({ t }, { heads, kvHeads }) => (kvHeads < heads ? html` · ${t('kvHeads', { n: kvHeads })}` : nothing);

/** @param {App} app  @param {Choice} choice */
function precision(app, choice) {
  const { t, opening } = app;
  const bytes = opening.bytes(choice);
  const name =
    choice === 'auto'
      ? t('precisionAuto', { precision: t(`precision_${opening.preview?.precision ?? 'f32'}`) })
      : t(`precision_${choice}`);
  return html`<label class="precision"><input type="radio" name="precision" value=${choice} .checked=${opening.choice === choice} ?disabled=${!opening.fits(choice)}
    @change=${() => app.choosePrecision(choice)} /><span>${name}</span><span class="size">${bytes === null ? t('precisionNone') : t('megabytes', { mb: megabytes(app.language, bytes) })}</span></label>`;
}

/** @param {App} app */
function tooLarge(app) {
  const { opening, t } = app;
  const sizes = CHOICES.map((choice) => opening.bytes(choice)).filter((bytes) => bytes !== null);
  const free = opening.preview?.available ?? 0;
  return shortage(t, app.language, sizes, free);
}
