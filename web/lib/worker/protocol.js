/** The messages between client.js and host.js, as types, and what both sides do to values before they cross. One worker
 * holds one model; runs are known by number. */

import { errorText, QkvError } from '../checks/errors.js';

/** @typedef {import('../checks/errors.js').PlainError} PlainError */
/**
 * What the client asks. `run` is the number of a run for the methods of one.
 * @typedef {{ id: number, method: string, run: number | null, args: unknown[] }} Request
 */
/** @typedef {{ abort: number }} Abort cancels the request of that id; it is still answered */
/** @typedef {{ ping: number }} Ping is answered as soon as the worker looks up from its work */
/** @typedef {{ pong: number }} Pong */
/** @typedef {{ ready: true }} Ready the worker's script has started */
/** @typedef {{ id: number, progress: import('../api/model.js').Progress }} ProgressReply */
/** @typedef {{ id: number, token: import('../api/model.js').NewToken }} TokenReply */
/** @typedef {{ id: number, result: unknown }} ResultReply */
/** @typedef {{ id: number, error: PlainError }} ErrorReply */
/** @typedef {Request | Abort | Ping} ToHost */
/** @typedef {Ready | Pong | ProgressReply | TokenReply | ResultReply | ErrorReply} ToClient */
/**
 * The argument of the first request, `load`.
 * @typedef {object} LoadRequest
 * @property {WebAssembly.Module} module
 * @property {number} limit bytes of memory, 0 = no ceiling
 * @property {import('../engine/pool.js').PoolPlan | null} pool
 * @property {import('../sources/source.js').SourceInput} source
 * @property {{ precision: 'auto' | import('../loading/load.js').Precision, maxTokens?: number, revision?: string }} options
 */
/**
 * What `forward` and `generate` answer.
 * @typedef {object} RunReply
 * @property {number} run
 * @property {import('../api/run.js').Run['tokens']} tokens
 * @property {import('../api/run.js').Run['truncated']} truncated
 * @property {number[]} lengths
 * @property {number} time
 * @property {number} bytes
 * @property {import('../api/run.js').Run['text']} text
 * @property {import('../api/run.js').Run['stopped']} stopped
 * @property {number} promptTokens
 */

/** Methods of a run that are asked for across the boundary. */
export const RUN_METHODS = /** @type {const} */ ([
  'getWeights',
  'overview',
  'getStage',
  'hidden',
  'embedding',
  'logits',
  'nextTokens',
]);

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null;

/**
 * Whether what came can be a request; its arguments are for the model to look at.
 * @param {unknown} message
 * @returns {message is Request}
 */
export function isRequest(message) {
  if (!isObject(message)) return false;
  const { id, method, run, args } = message;
  return isNumber(id) && typeof method === 'string' && (run === null || isNumber(run)) && Array.isArray(args);
}

/**
 * The same for the client, which lives on whatever a worker of another version, or of somebody else, says.
 * @param {unknown} message
 * @returns {message is ToClient}
 */
export function isToClient(message) {
  if (!isObject(message)) return false;
  if ('ready' in message || 'pong' in message) return true;
  if (!isNumber(message.id)) return false;
  if ('progress' in message || 'token' in message || 'result' in message) return true;
  const { error } = message;
  return isObject(error) && [error.code, error.what, error.message].every((text) => typeof text === 'string');
}

/** @param {unknown} value @returns {value is RunReply} */
export const isRunReply = (value) => isObject(value) && isNumber(value.run) && Array.isArray(value.tokens);

/** @param {unknown} value @returns {value is number} */
const isNumber = (value) => Number.isSafeInteger(value);

/**
 * The buffers of a result, to be transferred: a matrix, an overview, an embedding or an array of them.
 * @param {unknown} value
 * @returns {ArrayBuffer[]}
 */
export function buffersOf(value) {
  if (typeof value !== 'object' || value === null) return [];
  const values = ArrayBuffer.isView(value) ? [value] : Object.values(value);
  const buffers = values.flatMap((one) =>
    ArrayBuffer.isView(one) && one.buffer instanceof ArrayBuffer ? [one.buffer] : [],
  );
  return [...new Set(buffers)];
}

/**
 * Only the engine says that it crashed: an ordinary exception, which is a fault of ours, fails one call and nothing else.
 * @param {unknown} error
 * @returns {PlainError}
 */
export function toPlainError(error) {
  if (error instanceof QkvError) return error.toJSON();
  const name = error instanceof Error ? error.name : 'exception';
  return new QkvError('internal', `The worker failed in this call (${name}: ${errorText(error)})`).toJSON();
}
