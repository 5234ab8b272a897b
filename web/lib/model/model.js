/** A model in this thread, as api/model.js describes it: weights in wasm memory, and runs over them. */

import { optionsOf, readArguments, signalOf } from '../checks/arguments.js';
import { withCall } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { createRun } from '../run/run.js';
import { embed } from './embed.js';
import { generateTokens, readGenerateOptions } from './generate.js';
import { createGrowing } from './growing.js';
import { encode, readInput, readPrompt, textOf } from './input.js';
import { readInterventions } from './interventions.js';
import { computeRun, inTurn } from './pass.js';
import { createState } from './state.js';
import { FORWARD_OPTIONS } from './options.js';

/** @typedef {import('../api/model.js').ForwardInput} ForwardInput */
/** @typedef {import('../api/model.js').ForwardOptions} ForwardOptions */
/** @typedef {import('../api/model.js').GenerateOptions} GenerateOptions */
/** @typedef {import('../api/model.js').Model} Model */
/** @typedef {import('../api/model.js').SingleInput} SingleInput */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('../run/held_runs.js').HeldRun} HeldRun */
/** @typedef {import('../run/new_run.js').RunRequest} RunRequest */
/** @typedef {import('./generate.js').Generated} Generated */
/** @typedef {import('./generate.js').ReadOptions} ReadOptions */
/** @typedef {import('./input.js').Prompt} Prompt */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./state.js').ModelParts} ModelParts */
/** @typedef {import('./state.js').ModelState} ModelState */
/**
 * @template {boolean} [Batch=boolean]
 * @typedef {import('../api/run.js').Run<Batch>} Run
 */

/**
 * No class: nothing of it can be changed from outside, and its methods can be passed on without the object.
 * @param {ModelParts} parts
 * @returns {Model}
 */
export function createModel(parts) {
  const model = createState(parts);
  return {
    info: model.info,
    tokenize: (text, pair) => tokenize(model, text, pair),
    forward: (input, options) => forward(model, input, options),
    embed: (texts, options) => embed(model, texts, options),
    generate: (input, options) => generate(model, input, options),
    dispose: model.release,
    [Symbol.dispose]: model.release,
  };
}

/**
 * @param {ModelState} model
 * @param {string} text
 * @param {string} [pair]
 */
async function tokenize({ ending, core, limits }, text, pair) {
  ending.check();
  core.ending.check();
  const second = pair === undefined ? pair : textOf('tokenize: pair', pair);
  return encode(limits, textOf('tokenize: text', text), second).tokens;
}

/**
 * @template {ForwardInput} Input
 * @param {ModelState} model
 * @param {Input} input
 * @param {ForwardOptions} [options]
 * @returns {Promise<Run<import('../api/model.js').IsBatch<Input>>>}
 */
async function forward(model, input, options) {
  model.ending.check();
  const given = optionsOf('forward', options, FORWARD_OPTIONS);
  const signal = signalOf('forward', given.signal);
  return withCall([model.ending, model.core.ending], signal, async (call) => {
    const { prepare, isBatch } = readArguments('forward', () => {
      const read = readInput(input, model.limits);
      const isBatch = /** @type {import('../api/model.js').IsBatch<Input>} */ (read.isBatch);
      return { prepare: prepareForward(model, read, given), isBatch };
    });
    return computeRun(model, call, prepare, (held, { sequences }, time) =>
      finishedRun(model, held, { sequences, generated: null, isBatch, time }),
    );
  });
}

/**
 * Texts become tokens when it is their turn, so that many calls at once do not keep the thread; but a mask is read at once, and
 * its shape is that of the tokens.
 * @param {ModelState} model
 * @param {import('./input.js').ReadInput} read
 * @param {ForwardOptions} options
 * @returns {() => RunRequest}
 */
function prepareForward({ info }, { encode }, options) {
  const hasMask = options.mask !== undefined && options.mask !== null;
  const encoded = hasMask ? encode() : null;
  const lengths = encoded?.map(({ ids }) => ids.length) ?? [];
  const interventions = readInterventions(options, { ...info, lengths });
  return () => ({ call: 'forward', sequences: encoded ?? encode(), interventions, room: 0 });
}

/** A decoder alone, as base models are sometimes saved. */
const NO_HEAD =
  'It is a decoder, but its files hold no head (lm_head.weight) and its config does not tie one to the token table (tie_word_embeddings).';

/**
 * @param {ModelState} model
 * @param {SingleInput} input
 * @param {GenerateOptions} [options]
 * @returns {Promise<Run<false>>}
 */
async function generate(model, input, options) {
  const { ending, core, info, limits } = model;
  ending.check();
  if (info.kinds[0] !== 'decoder' || limits.headRows < 2) {
    const fix = info.kinds[0] === 'decoder' ? NO_HEAD : `${info.name} reads text; generating needs a decoder.`;
    throw new QkvError('unsupported', 'generate: this model has no language-model head', { fix });
  }
  const given = readGenerateOptions(options, limits);
  return withCall([ending, core.ending], given.signal, async (call) => {
    const encodePrompt = readArguments('generate', () => readPrompt(input, { ...limits, positions: info.maxTokens }));
    try {
      const prompt = await inTurn(model, call, async () => encodePrompt());
      return await goOn(model, call, prompt, given);
    } catch (error) {
      throw advised(error);
    }
  });
}

/**
 * @param {ModelState} model
 * @param {Call} call
 * @param {Prompt} prompt
 * @param {ReadOptions} options
 */
async function goOn(model, call, prompt, options) {
  const { info, limits } = model;
  const room = Math.min(options.most, info.maxTokens - prompt.ids.length);
  const growing = createGrowing(model, prompt, room, call);
  try {
    await growing.start();
    const { sequence, generated } = await generateTokens({ prompt, room, limits, options, call, growing });
    const { held, time } = growing.finish();
    const isBatch = /** @type {const} */ (false);
    return finishedRun(model, held, { sequences: [sequence], generated, isBatch, time });
  } catch (error) {
    growing.release();
    throw error;
  }
}

/**
 * @template {boolean} Batch
 * @param {ModelState} model
 * @param {HeldRun} held
 * @param {{ sequences: Sequence[], generated: Generated | null, isBatch: Batch, time: number }} facts
 */
function finishedRun(model, held, { sequences, ...facts }) {
  const { core, info, limits } = model;
  return createRun({ model, core, info, limits, sequences }, held, facts);
}

/**
 * What the engine cannot know: which option of generate asks for the memory.
 * @param {unknown} error
 */
function advised(error) {
  if (error instanceof QkvError && error.code === 'memory') {
    error.message += ' Lower maxNewTokens or shorten the prompt.';
  }
  return error;
}
