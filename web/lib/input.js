/** What model.forward takes, made into sequences of ids. Ids are checked here and once more in C. */

import { refuseOthers, wholeNumber } from './arguments.js';
import { kindOf, QkvError } from './errors.js';

/** @typedef {import('./tokenizer/index.js').Token} Token */
/** @typedef {import('./tokenizer/index.js').Tokenizer} Tokenizer */
/** @typedef {ArrayLike<number>} Ids */
/** @typedef {string | [string, string] | { ids: Ids, typeIds?: Ids }} SingleInput */
/** @typedef {SingleInput | { batch: SingleInput[] }} ForwardInput */
/** @typedef {import('./tokenizer/index.js').Truncation} Truncation how many tokens the text had and how many are left */
/** @typedef {{ ids: Int32Array, typeIds: Int32Array, tokens: Token[], truncated: Truncation | null }} Sequence */
/** @typedef {{ tokenizer: Tokenizer | null, vocab: number, positions: number, segments: number }} InputLimits */

const WANTED = 'a string, [a, b], {ids, typeIds} or {batch: [...]}';

/**
 * @param {unknown} input
 * @param {InputLimits} limits
 * @returns {{ sequences: Sequence[], isBatch: boolean }}
 */
export function readInput(input, limits) {
  if (!isPlainObject(input) || !('batch' in input)) return { sequences: [readSingle(input, limits)], isBatch: false };
  refuseOthers('forward: key beside batch', input, ['batch']);
  const { batch } = input;
  if (!Array.isArray(batch) || batch.length === 0) {
    throw new QkvError('argument', 'forward: batch', { got: batch, want: 'an array of one input or more' });
  }
  const sequences = batch.map((single, sequence) => {
    const read = readSingle(single, limits);
    return { ...read, tokens: read.tokens.map((token) => ({ ...token, sequence })) };
  });
  return { sequences, isBatch: true };
}

/**
 * @param {unknown} input
 * @param {InputLimits} limits
 * @returns {Sequence}
 */
function readSingle(input, limits) {
  if (typeof input === 'string') return encode(limits, input);
  if (Array.isArray(input) && input.length === 2 && input.every((text) => typeof text === 'string')) {
    return encode(limits, input[0], input[1]);
  }
  if (!isPlainObject(input)) {
    throw new QkvError('argument', 'forward: input', { got: input === undefined ? 'nothing' : input, want: WANTED });
  }
  if ('ids' in input) return readIds(input, limits);
  for (const key of ['source', 'pixelValues', 'inputFeatures']) {
    if (key in input) throw new QkvError('unsupported', `forward: input with the key "${key}"`, { want: WANTED });
  }
  if (kindOf(input) !== undefined) throw new QkvError('argument', 'forward: input', { got: input, want: WANTED });
  throw new QkvError('argument', 'forward: keys of the input', { got: Object.keys(input), want: WANTED });
}

/**
 * @param {InputLimits} limits
 * @param {string} text
 * @param {string} [pair]
 * @returns {Sequence}
 */
export function encode({ tokenizer }, text, pair) {
  if (tokenizer) return tokenizer.encode(text, pair);
  const fix = 'Put tokenizer.json beside the model, or pass {ids}.';
  throw new QkvError('tokenizer', 'This model was loaded without a tokenizer.json, so it takes no text', { fix });
}

/**
 * Used verbatim: no special tokens are added and nothing is cut.
 * @param {Record<string, unknown>} input
 * @param {InputLimits} limits
 * @returns {Sequence}
 */
function readIds(input, { tokenizer, vocab, positions, segments }) {
  refuseOthers('forward: key of the input', input, ['ids', 'typeIds']);
  const given = numbers('forward: ids', input.ids);
  if (given.length === 0 || given.length > positions) {
    throw new QkvError('range', 'forward: number of ids', { got: given.length, want: `1 to ${positions}` });
  }
  const ids = Int32Array.from(given, (id, index) => wholeNumber(`forward: ids[${index}]`, id, 0, vocab - 1));
  const types = input.typeIds === undefined ? new Int32Array(ids.length) : numbers('forward: typeIds', input.typeIds);
  if (types.length !== ids.length) {
    throw new QkvError('argument', 'forward: number of typeIds', { got: types.length, want: ids.length });
  }
  const lastType = Math.max(segments, 1) - 1;
  const typeIds = Int32Array.from(types, (type, index) => wholeNumber(`forward: typeIds[${index}]`, type, 0, lastType));
  return { ids, typeIds, tokens: tokensOf(ids, typeIds, tokenizer), truncated: null };
}

/**
 * Tokens of bare ids: there is no text they could point into, and each counts as a word.
 * @param {Int32Array} ids
 * @param {Int32Array} typeIds
 * @param {Tokenizer | null} tokenizer
 * @returns {Token[]}
 */
function tokensOf(ids, typeIds, tokenizer) {
  return Array.from(ids, (id, index) => {
    const special = tokenizer?.isSpecial(id) ?? false;
    return {
      id,
      text: tokenizer?.textOf(id) ?? `#${id}`,
      word: special ? null : index,
      start: 0,
      end: 0,
      special,
      segment: typeIds[index] === 1 ? 1 : 0,
      sequence: 0,
      side: 'source',
    };
  });
}

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {ArrayLike<number>}
 */
function numbers(what, value) {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    return /** @type {ArrayLike<number>} */ (/** @type {unknown} */ (value));
  }
  throw new QkvError('argument', what, { got: value, want: 'an array of whole numbers' });
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isPlainObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
