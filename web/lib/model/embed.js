/** One vector a text, in ragged batches: each batch is a run of its own, in a turn of its own, and gone before the next. */

import { callbackOf, optionsOf, readArguments, signalOf } from '../checks/arguments.js';
import { withCall } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { promptText, recipeOf } from '../run/embedding.js';
import { embeddings } from '../run/readings.js';
import { encode, encodeSome, textOf } from './input.js';
import { readInterventions } from './interventions.js';
import { computeRun } from './pass.js';
import { EMBED_OPTIONS } from './options.js';

/** @typedef {import('../api/model.js').EmbedOptions} EmbedOptions */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./state.js').ModelState} ModelState */

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
  const list = readArguments('embed', () => textsOf(texts));
  const { onProgress: given, signal: givenSignal, prompt, ...pooling } = optionsOf('embed', options, EMBED_OPTIONS);
  const onProgress = callbackOf('embed: onProgress', given);
  const signal = signalOf('embed', givenSignal);
  const { core, info, limits } = model;
  recipeOf(limits.embedding, pooling, { call: 'embed', width: info.width, poolings: core.description.poolings });
  const before = readPrompt(limits, prompt);
  return withCall([model.ending, core.ending], signal, async (call) => {
    /** @type {Float32Array[]} */
    const vectors = [];
    while (vectors.length < list.length) {
      vectors.push(...(await embedSome(model, call, () => nextBatch(list, vectors.length, limits, before), pooling)));
      call.tell(onProgress, { phase: 'embed', file: null, loaded: vectors.length, total: list.length });
    }
    await call.told();
    return vectors;
  });
}

/**
 * A copy, since the caller may change the array meanwhile.
 * @param {unknown} texts
 */
function textsOf(texts) {
  if (!Array.isArray(texts)) {
    throw new QkvError('argument', 'embed: texts', { got: texts, want: 'an array of strings' });
  }
  return Array.from(texts, (text, at) => textOf(`embed: texts[${at}]`, text));
}

/**
 * The vectors of the next few texts.
 * @param {ModelState} model
 * @param {Call} call
 * @param {() => Sequence[]} batch
 * @param {import('../api/run.js').EmbeddingOptions} pooling
 * @returns {Promise<Float32Array[]>}
 */
function embedSome(model, call, batch, pooling) {
  const { core, info, limits } = model;
  const prepare = () => ({
    call: /** @type {const} */ ('embed'),
    sequences: batch(),
    interventions: readInterventions({}, { ...info, lengths: [1] }),
    room: 0,
  });
  return computeRun(model, call, prepare, ({ run, release }, { sequences }) => {
    const vectors = embeddings({ core, pointer: run, info, sequences, limits }, pooling);
    release();
    return vectors;
  });
}

/** @typedef {{ text: string, skip: number }} Before skip: how many of its tokens are left out of the pooling */

/**
 * What goes in front of each text. Where a model does not pool it, as many tokens are left out as it has alone, without the
 * special one behind it: so sentence-transformers counts them.
 * @param {InputLimits} limits
 * @param {unknown} prompt
 * @returns {Before}
 */
function readPrompt(limits, prompt) {
  const text = promptText(limits.embedding, prompt);
  if (text === '' || limits.embedding.includePrompt) return { text, skip: 0 };
  const { tokens } = encode(limits, text);
  return { text, skip: tokens.length - (tokens.at(-1)?.special ? 1 : 0) };
}

/**
 * @param {readonly string[]} texts
 * @param {number} from
 * @param {InputLimits} limits
 * @param {Before} before
 */
function nextBatch(texts, from, limits, { text, skip }) {
  /** @type {Sequence[]} */
  const sequences = [];
  let tokens = 0;
  for (let at = from; at < texts.length && tokens < EMBED_TOKENS; at++) {
    const what = `embed: texts[${at}]`;
    const sequence = encodeSome(what, limits, text + texts[at]);
    const { length } = sequence.ids;
    if (length <= skip) {
      const want = `more than the ${skip} of the prompt, which this model does not pool`;
      throw new QkvError('text', `${what}: tokens`, { got: length, want });
    }
    tokens += length;
    sequences.push({ ...sequence, skip });
  }
  return sequences;
}
