/**
 * What went wrong, in the page's own sentences. The library speaks English and to programmers: what it says is kept as
 * a detail, and the sentence is chosen by the code and the facts of its error.
 */
import { html, nothing } from 'lit';
import { QkvError } from 'qkv';
import { FilesProblem } from './local-files.js';

/** @typedef {import('./words/translate.js').WordKey} WordKey */
/** detail: what the library says, '' where the page itself refused
 * @typedef {{ key: WordKey, values: Record<string, string | number>, detail: string }} Trouble */

const MEGABYTE = 1e6;
const TOKENIZER = 'tokenizer.json';
/** The file that a message is about, without the folder or address before it. */
const FILE = /([^/\\\s"]+\.(?:json|safetensors|gguf|wasm|js))(?![\w.])/;

/** @type {Readonly<Record<string, WordKey>>} */
const SENTENCES = {
  network: 'errorNetwork',
  missing: 'errorMissing',
  format: 'errorFormat',
  json: 'errorJson',
  config: 'errorConfig',
  weight: 'errorWeight',
  tokenizer: 'errorTokenizer',
  unsupported: 'errorUnsupported',
  source: 'errorSource',
  memory: 'errorMemory',
  wasm: 'errorWasm',
  worker: 'errorWorker',
  crash: 'errorCrash',
  timeout: 'errorCrash',
  text: 'errorText',
};
/** Sentences that need the name of a file. */
const ABOUT_FILES = ['errorHttp', 'errorHtml', 'errorCut', 'errorNetwork', 'errorMissing', 'errorFormat', 'errorJson'];

/** @param {QkvError} error  @param {string | undefined} file  @param {string | undefined} status  @returns {WordKey} */
function sentenceOf({ code, what, got, want }, file, status) {
  if (code === 'missing' && file === TOKENIZER) return 'errorNoTokenizer';
  if (code === 'tokenizer' && /without a tokenizer/.test(what)) return 'errorNoTokenizer';
  if (code === 'text' && got === '') return 'errorEmptyText';
  if (/an HTML page/.test(`${what} ${got}`)) return 'errorHtml';
  if (status !== undefined) return 'errorHttp';
  if (code === 'format' && / is cut short\b/.test(what)) return 'errorCut';
  if (code === 'memory' && Number.isFinite(got) && Number.isFinite(want)) return 'errorMemoryOf';
  // A worker may be silent as well as a server; only the latter is silent about a file.
  if (code === 'timeout' && file !== undefined) return 'errorNetwork';
  return SENTENCES[code] ?? 'errorOther';
}

/** @param {unknown} error  @returns {Trouble} */
export function troubleOf(error) {
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof FilesProblem) return { key: error.key, values: error.values, detail: '' };
  if (!(error instanceof QkvError)) return { key: 'errorOther', values: {}, detail };
  const { code, what, got, want } = error;
  const file = FILE.exec(what)?.[1];
  const status = ['network', 'missing'].includes(code) ? /^\d{3}\b/.exec(String(got))?.[0] : undefined;
  const key = sentenceOf(error, file, status);
  if (file === undefined && ABOUT_FILES.includes(key)) return { key: 'errorOther', values: {}, detail };
  const megabytes = (/** @type {unknown} */ count) => (Number(count) / MEGABYTE).toFixed(1);
  return {
    key,
    values: { file: file ?? '', status: status ?? '', needed: megabytes(want), free: megabytes(got) },
    detail,
  };
}

/**
 * @param {import('./words/translate.js').Translate} t
 * @param {Trouble} trouble
 * @param {{ title?: WordKey, role?: 'alert' }} [options]
 */
export function troubleNote(t, { key, values, detail }, { title, role } = {}) {
  return html`<div class="note bad">
    <p role=${role ?? nothing}>${title ? html`<b>${t(title)}</b> ` : nothing}${t(key, values)}</p>
    ${detail ? html`<details><summary>${t('details')}</summary><p lang="en">${detail}</p></details>` : nothing}
  </div>`;
}
