/** What model.forward takes, made into sequences of ids. Ids are checked here and once more in C. */

import { refuseOthers, wholeNumber } from '../checks/arguments.js';
import { kindOf, QkvError } from '../checks/errors.js';

/** @typedef {import('../tokenizer/index.js').Token} Token */
/** @typedef {import('../tokenizer/index.js').Tokenizer} Tokenizer */
/** @typedef {import('../tokenizer/index.js').Truncation} Truncation how many tokens the text had and how many are left */
/** @typedef {{ ids: Int32Array, typeIds: Int32Array, tokens: Token[], truncated: Truncation | null, skip?: number }} Sequence
 * skip: tokens in front that pooling leaves out */
/** @typedef {Sequence & { text: string }} Prompt text: what the last token belongs to, empty for bare ids */
/**
 * What a model takes and gives. positions: tokens of the longest sequence; segments: token types, 0 = none; headRows:
 * logits a position, 0 = no head; stops: ids that end a text while generating; suppressed: ids that are not chosen
 * @typedef {object} InputLimits
 * @property {Tokenizer | null} tokenizer
 * @property {number} vocab
 * @property {number} positions
 * @property {number} segments
 * @property {number} headRows
 * @property {readonly number[]} stops
 * @property {import('../run/embedding.js').EmbeddingPlan} embedding
 * @property {{ always: readonly number[], first: readonly number[] }} suppressed
 */

const WANTED_PROMPT = 'a string, [a, b] or {ids, typeIds}';
const WANTED = 'a string, [a, b], {ids, typeIds} or {batch: [...]}';

/**
 * The input is read at once, so the caller may change it afterwards; texts are encoded later.
 * @typedef {{ encode: () => Sequence[], isBatch: boolean }} ReadInput
 */

/**
 * @param {unknown} input
 * @param {InputLimits} limits
 * @returns {ReadInput}
 */
export function readInput(input, limits) {
  if (!isPlainObject(input) || !('batch' in input)) {
    const encode = readSingle('forward', input, limits);
    return { encode: () => [encode()], isBatch: false };
  }
  refuseOthers('forward: key beside batch', input, ['batch']);
  const { batch } = input;
  if (!Array.isArray(batch) || batch.length === 0) {
    throw new QkvError('argument', 'forward: batch', { got: batch, want: 'an array of one input or more' });
  }
  // Not map, which leaves out what an array has no value for.
  const singles = Array.from(batch, (single, at) => readSingle(`forward: batch[${at}]`, single, limits));
  const encode = () =>
    singles.map((encodeSingle, sequence) => {
      const read = encodeSingle();
      return { ...read, tokens: read.tokens.map((token) => ({ ...token, sequence })) };
    });
  return { encode, isBatch: true };
}

/**
 * What generate goes on from.
 * @param {unknown} input
 * @param {InputLimits} limits
 * @returns {() => Prompt}
 */
export function readPrompt(input, limits) {
  if (isPlainObject(input) && 'batch' in input) {
    const fix = 'Call generate once for each text.';
    throw new QkvError('unsupported', 'generate: input with the key "batch"', { want: WANTED_PROMPT, fix });
  }
  const encode = readSingle('generate', input, limits);
  const given = Array.isArray(input) ? input[1] : input;
  const text = typeof given === 'string' ? given : '';
  return () => ({ ...whole(encode()), text });
}

/** @param {Sequence} sequence */
function whole(sequence) {
  if (sequence.truncated) {
    const { from, to } = sequence.truncated;
    const fix = 'Shorten the text: it would be cut at its end, where the new tokens come.';
    throw new QkvError('text', 'generate: tokens of the prompt', { got: from, want: `at most ${to}`, fix });
  }
  return sequence;
}

/**
 * @param {string} call for messages, with the place in a batch
 * @param {unknown} input
 * @param {InputLimits} limits
 * @returns {() => Sequence}
 */
function readSingle(call, input, limits) {
  if (typeof input === 'string') return () => encodeSome(call, limits, input);
  if (Array.isArray(input) && input.length === 2) {
    const [first, second] = input;
    if (typeof first === 'string' && typeof second === 'string') return () => encodeSome(call, limits, first, second);
  }
  const want = call === 'forward' ? WANTED : WANTED_PROMPT;
  if (!isPlainObject(input)) {
    throw new QkvError('argument', `${call}: input`, { got: input === undefined ? 'nothing' : input, want });
  }
  if ('ids' in input) {
    const { ids, typeIds } = readIds(call, input, limits);
    return () => ({ ids, typeIds, tokens: tokensOf(ids, typeIds, limits.tokenizer), truncated: null });
  }
  for (const key of ['source', 'pixelValues', 'inputFeatures']) {
    if (key in input) throw new QkvError('unsupported', `${call}: input with the key "${key}"`, { want });
  }
  if (kindOf(input) !== undefined) throw new QkvError('argument', `${call}: input`, { got: input, want });
  throw new QkvError('argument', `${call}: keys of the input`, { got: Object.keys(input), want });
}

/**
 * As encode, for what is to be computed: a tokenizer that adds no special tokens makes nothing of an empty text.
 * @param {string} call
 * @param {InputLimits} limits
 * @param {string} text
 * @param {string} [pair]
 * @returns {Sequence}
 */
export function encodeSome(call, limits, text, pair) {
  const sequence = encode(limits, text, pair);
  if (sequence.ids.length > 0) return sequence;
  throw new QkvError('text', `${call}: a text that gives no token`, { got: text, want: 'at least one character' });
}

/**
 * @param {string} what
 * @param {unknown} text
 */
export function textOf(what, text) {
  if (typeof text === 'string') return text;
  throw new QkvError('argument', what, { got: text, want: 'a string' });
}

/**
 * The tokens of a text, possibly none.
 * @param {InputLimits} limits
 * @param {string} text
 * @param {string} [pair]
 * @returns {Sequence}
 */
export function encode({ tokenizer, segments }, text, pair) {
  if (tokenizer) {
    const { typeIds, ...rest } = tokenizer.encode(text, pair);
    // Some tokenizers number the texts of a pair though their model has one token type, or none.
    return { ...rest, typeIds: typeIds.map((type) => (type < segments ? type : 0)) };
  }
  const fix = 'Put tokenizer.json beside the model, or pass {ids}.';
  throw new QkvError('tokenizer', 'This model was loaded without a tokenizer.json, so it takes no text', { fix });
}

/**
 * Used verbatim: no special tokens are added and nothing is cut.
 * @param {string} call
 * @param {Record<string, unknown>} input
 * @param {InputLimits} limits
 */
function readIds(call, input, { vocab, positions, segments }) {
  refuseOthers(`${call}: key of the input`, input, ['ids', 'typeIds']);
  const given = numbers(`${call}: ids`, input.ids);
  if (given.length === 0 || given.length > positions) {
    throw new QkvError('range', `${call}: number of ids`, { got: given.length, want: `1 to ${positions}` });
  }
  const ids = Int32Array.from(given, (id, index) => wholeNumber(`${call}: ids[${index}]`, id, 0, vocab - 1));
  const types = input.typeIds === undefined ? new Int32Array(ids.length) : numbers(`${call}: typeIds`, input.typeIds);
  if (types.length !== ids.length) {
    throw new QkvError('argument', `${call}: number of typeIds`, { got: types.length, want: ids.length });
  }
  const lastType = Math.max(segments, 1) - 1;
  const typeIds = Int32Array.from(types, (type, index) => wholeNumber(`${call}: typeIds[${index}]`, type, 0, lastType));
  return { ids, typeIds };
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
