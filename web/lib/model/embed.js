/** One vector a text, in ragged batches: each batch is a run of its own, in a turn of its own, and gone before the next. */

import { callbackOf, optionsOf, signalOf } from '../checks/arguments.js';
import { withCall } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { embeddings } from '../run/readings.js';
import { encodeSome, textOf } from './input.js';
import { readInterventions } from './interventions.js';
import { computeRun } from './pass.js';

/** @typedef {import('../api/model.js').EmbedOptions} EmbedOptions */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./state.js').ModelState} ModelState */

/** @type {readonly (keyof EmbedOptions)[]} */
export const EMBED_OPTIONS = ['pooling', 'normalize', 'signal', 'onProgress'];

/** Tokens that embed puts into one run: tall enough for the GEMMs, small enough to cancel soon. */
const EMBED_TOKENS = 1024;

/**
 * @param {ModelState} model
 * @param {readonly string[]} texts
 * @param {EmbedOptions} [options]
 * @returns {Promise<Float32Array[]>}
 */
export async function embed(model, texts, options) {
  model.ending.check();
  if (!Array.isArray(texts)) {
    throw new QkvError('argument', 'embed: texts', { got: texts, want: 'an array of strings' });
  }
  const { onProgress: given, signal: givenSignal, ...pooling } = optionsOf('embed', options, EMBED_OPTIONS);
  const onProgress = callbackOf('embed: onProgress', given);
  const signal = signalOf('embed', givenSignal);
  return withCall([model.ending, model.core.ending], signal, async (call) => {
    /** @type {Float32Array[]} */
    const vectors = [];
    while (vectors.length < texts.length) {
      vectors.push(...(await embedSome(model, call, texts, vectors.length, pooling)));
      onProgress?.({ phase: 'embed', file: null, loaded: vectors.length, total: texts.length });
    }
    return vectors;
  });
}

/**
 * The vectors of the next few texts.
 * @param {ModelState} model
 * @param {Call} call
 * @param {readonly string[]} texts
 * @param {number} from
 * @param {import('../api/run.js').EmbeddingOptions} pooling
 * @returns {Promise<Float32Array[]>}
 */
function embedSome(model, call, texts, from, pooling) {
  const { core, info, limits } = model;
  const prepare = () => ({
    call: /** @type {const} */ ('embed'),
    sequences: nextBatch(texts, from, limits),
    interventions: readInterventions({}, { ...info, lengths: [1] }),
    room: 0,
  });
  return computeRun(model, call, prepare, ({ run, release }, { sequences }) => {
    const vectors = embeddings({ core, pointer: run, info, sequences, limits }, pooling);
    release();
    return vectors;
  });
}

/**
 * @param {readonly string[]} texts
 * @param {number} from
 * @param {InputLimits} limits
 */
export function nextBatch(texts, from, limits) {
  /** @type {Sequence[]} */
  const sequences = [];
  let tokens = 0;
  for (let at = from; at < texts.length && tokens < EMBED_TOKENS; at++) {
    const sequence = encodeSome(`embed: texts[${at}]`, limits, textOf(`embed: texts[${at}]`, texts[at]));
    tokens += sequence.ids.length;
    sequences.push(sequence);
  }
  return sequences;
}
