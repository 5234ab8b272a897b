/**
 * The one error class of the library. A message is made of what went wrong, what was got, what was wanted and what to
 * do about it; `code` is stable and meant for programs.
 */

/** Every code and what it means. Codes are never renamed; the first seven are the engine's statuses in lower case. */
export const ERROR_CODES = Object.freeze({
  argument: 'a call was given something it does not take',
  config: 'config.json describes a model that cannot be',
  memory: 'not enough memory',
  state: 'a call came at the wrong time, for instance before loading had finished',
  weight: 'a tensor is missing, came twice, has the wrong shape or holds values that are not allowed',
  token: 'a token id lies outside the vocabulary',
  range: 'a layer, head, row, position or sequence that the model or run does not have',
  disposed: 'a model or run was used after dispose()',
  unsupported: 'valid, but of a kind that this version does not read or compute',
  json: 'a file is not valid JSON, or breaks the stricter rules that hold for it',
  format: 'a file is not what its name says, is damaged or cut short',
  tokenizer: 'tokenizer.json is missing or cannot be used',
  text: 'the text cannot be taken: not a string, or longer than the limit',
  source: 'this is no place a model can be read from',
  missing: 'a file that is needed is not there',
  network: 'a server could not be reached or refused',
  aborted: 'the caller cancelled',
  wasm: 'the engine could not be compiled or started, or has another version than the library',
  crash: 'the engine trapped; its state is lost and it is started anew',
  worker: 'the worker could not be started or its messages could not be read',
  timeout: 'no answer came in time',
  internal: 'an exception that should not be: a fault of the library, in this call alone',
});

/** @typedef {keyof typeof ERROR_CODES} ErrorCode */
/** @typedef {{ got?: unknown, want?: unknown, fix?: string, cause?: unknown }} ErrorDetails */
/** @typedef {{ name: string, code: string, what: string, got?: unknown, want?: unknown, message: string }} PlainError */

const LONGEST_VALUE = 120;
/** Paths, addresses and names may be of any length: of longer ones the beginning and the end are kept. */
const LONGEST_SUBJECT = 400;
/** What would steer a terminal, break the line, turn the text around or not be seen, and halves of characters. */
const UNSEEN =
  /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** @param {string} char @returns {string} as JavaScript escapes it */
function escaped(char) {
  const number = /** @type {number} */ (char.codePointAt(0));
  return number > 0xffff ? `\\u{${number.toString(16)}}` : `\\u${number.toString(16).padStart(4, '0')}`;
}

/**
 * A value as it appears in a message: short, on one line, strings quoted, what is no plain data by its kind. `want` is
 * usually words, which stay as they are.
 * @param {unknown} value
 * @param {boolean} [words]
 * @returns {string}
 */
function show(value, words = false) {
  const text = words && typeof value === 'string' ? value : textOf(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

/** Whatever a caller gave: a revoked Proxy cannot even be asked what it is. @param {unknown} value */
function textOf(value) {
  try {
    return kindOf(value) ?? inJson(value) ?? String(value);
  } catch {
    return `something of type ${typeof value}`;
  }
}

/** @param {string} what @returns {string} */
function cutSubject(what) {
  if (what.length <= LONGEST_SUBJECT) return what;
  return `${what.slice(0, LONGEST_SUBJECT / 2)}…${what.slice(-LONGEST_SUBJECT / 2)}`;
}

/**
 * What an exception of any kind says, even one that cannot be turned into text.
 * @param {unknown} error
 */
export function errorText(error) {
  try {
    return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  } catch {
    return typeof error;
  }
}

/**
 * @param {unknown} value
 * @returns {string | undefined} "a Promise" and the like; undefined for plain data
 */
export function kindOf(value) {
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return undefined;
  const name = value.constructor?.name;
  if (typeof name !== 'string' || name === '' || name === 'Object') return undefined;
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`;
}

/**
 * @param {unknown} value
 * @returns {string | undefined} undefined for what JSON has no form for: undefined, symbols, cycles
 */
function inJson(value) {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Only what a message between workers certainly carries is kept as it is; the rest becomes text.
 * @param {unknown} value
 * @returns {unknown} */
function plain(value) {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value) ? value : show(value);
}

export class QkvError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} what the thing that is wrong and where, e.g. `config.json: hidden_size`
   * @param {ErrorDetails} [details] got: the offending value; want: words or the value expected; fix: a sentence
   */
  constructor(code, what, { got, want, fix, cause } = {}) {
    // Others show it without the message around it, and it may be the name of a file.
    const subject = cutSubject(what).replace(UNSEEN, escaped);
    const found = [];
    if (got !== undefined) found.push(`got ${show(got)}`);
    if (want !== undefined) found.push(`want ${show(want, true)}`);
    const sentence = found.length > 0 ? `${subject}: ${found.join(', ')}` : subject;
    const message = fix === undefined ? sentence : `${sentence.replace(/\.$/, '')}. ${fix}`;
    super(message.replace(UNSEEN, escaped), cause === undefined ? {} : { cause });
    this.name = 'QkvError';
    this.code = code;
    this.what = subject;
    this.got = got;
    this.want = want;
  }

  /** What crosses a worker boundary. @returns {PlainError} */
  toJSON() {
    const { name, code, what, message } = this;
    return { name, code, what, got: plain(this.got), want: plain(this.want), message };
  }

  /**
   * The error on the other side. An unknown code is kept: it may come from a newer worker.
   * @param {PlainError} fields
   * @returns {QkvError}
   */
  static fromJSON({ code, what, got, want, message }) {
    const error = new QkvError(/** @type {ErrorCode} */ (code), what, { got, want });
    error.message = message;
    return error;
  }
}

/**
 * @param {AbortSignal | null | undefined} signal
 * @returns {void}
 * @throws {QkvError} code `aborted` once the signal is
 */
export function throwIfAborted(signal) {
  if (signal?.aborted) throw new QkvError('aborted', 'Cancelled', { cause: signal.reason });
}
