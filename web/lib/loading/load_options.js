/** What loadModel may be told. By itself, since a page that computes in a worker needs this and no more of the loading. */

import { callbackOf, oneOf, optionsOf, signalOf, timeoutOf, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';

/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('./model_config.js').Precision} Precision */
/**
 * @typedef {object} LoadOptions
 * @property {'auto' | Precision} [precision] how weights are held in memory; 'auto' = as the file, f32 for floats. Weights
 * that a file has rounded to ten bits are not rounded to q8 again
 * @property {number} [maxTokens] longer text is cut, and generate stops at so many tokens with the prompt's; bare ids of
 * forward may be more. Default: what the files of sentence-transformers say, and else the ceiling, which is the model's own
 * limit
 * @property {string} [revision] of a hub model
 * @property {AbortSignal} [signal]
 * @property {number} [timeout] milliseconds that a server may be silent before it is given up (`timeout`), 60,000 unless given;
 * as long as something comes now and then a download takes what time it takes. Infinity: no limit
 * @property {OnProgress} [onProgress]
 * @property {false} [cache] this version keeps no copies of downloads, the browser does as the server allows
 */

/** @type {readonly (keyof LoadOptions)[]} */
export const LOAD_OPTIONS = ['precision', 'maxTokens', 'revision', 'signal', 'onProgress', 'cache', 'timeout'];

/** @param {LoadOptions | undefined} options */
export function checkLoadOptions(options) {
  const given = optionsOf('loadModel', options, LOAD_OPTIONS);
  const { precision = 'auto', maxTokens, revision, cache = false } = given;
  oneOf('loadModel: precision', precision, ['auto', 'f32', 'q10', 'q8']);
  if (maxTokens !== undefined) wholeNumber('loadModel: maxTokens', maxTokens, 1, 2 ** 31 - 1);
  if (revision !== undefined && typeof revision !== 'string') {
    throw new QkvError('argument', 'loadModel: revision', { got: revision, want: 'a string' });
  }
  if (cache !== false) {
    const fix = 'This version keeps no copies of downloads; the browser does as the server allows.';
    throw new QkvError('unsupported', 'loadModel: cache', { got: cache, want: 'false', fix });
  }
  const onProgress = callbackOf('loadModel: onProgress', given.onProgress);
  const signal = signalOf('loadModel', given.signal);
  return { precision, maxTokens, revision, onProgress, signal, timeout: timeoutOf('loadModel', given.timeout) };
}
