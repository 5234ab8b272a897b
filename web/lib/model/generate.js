/** Text token by token: choose a token from the logits at the last place, feed it, and so on. Feeding computes the new
 * token alone; keys and values of the earlier ones are kept in the run. */

import { callbackOf, optionsOf, signalOf, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';
import { createContinuation } from './continuation.js';
import { createSampler } from './sampler.js';
import { createStopTexts, readStopTexts } from './stop_texts.js';
import { GENERATE_OPTIONS } from './options.js';

/** @typedef {import('../api/model.js').GenerateOptions} GenerateOptions */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('./growing.js').Growing} Growing */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Prompt} Prompt */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('../api/run.js').Stopped} Stopped */
/**
 * @typedef {object} Generated
 * @property {string | null} text of the new tokens; null for a model without a tokenizer
 * @property {Stopped} stopped
 * @property {number} promptTokens
 */
/** @typedef {ReturnType<typeof readGenerateOptions>} ReadOptions */

const USUAL_TOKENS = 64;

/**
 * @param {GenerateOptions | undefined} options
 * @param {InputLimits} limits
 */
export function readGenerateOptions(options, { positions, headRows, tokenizer }) {
  const {
    maxNewTokens = Math.min(USUAL_TOKENS, positions),
    onToken,
    signal,
    stop,
    ...sampler
  } = optionsOf('generate', options, GENERATE_OPTIONS);
  const stopTexts = readStopTexts(stop);
  if (stopTexts.length > 0 && tokenizer === null) {
    const fix = 'Put tokenizer.json beside the model, or compare the ids that onToken is told.';
    throw new QkvError(
      'tokenizer',
      'This model was loaded without a tokenizer.json, so generate knows no texts to stop at',
      {
        fix,
      },
    );
  }
  return {
    most: wholeNumber('generate: maxNewTokens', maxNewTokens, 1, positions),
    onToken: callbackOf('generate: onToken', onToken),
    signal: signalOf('generate', signal),
    sample: createSampler(sampler, headRows),
    stopTexts,
  };
}

/**
 * @param {object} parts
 * @param {Prompt} parts.prompt
 * @param {number} parts.room tokens that fit behind it
 * @param {InputLimits} parts.limits
 * @param {ReadOptions} parts.options
 * @param {Call} parts.call
 * @param {Pick<Growing, 'logits' | 'feed'>} parts.growing the run, with the prompt computed
 * @returns {Promise<{ sequence: Sequence, generated: Generated }>}
 */
export async function generateTokens({ prompt, room, limits, options, call, growing }) {
  const { most, sample, onToken } = options;
  const continuation = createContinuation(prompt, limits.tokenizer);
  const stopTexts = createStopTexts(options.stopTexts);
  /** @type {Stopped} */
  let stopped = room < most ? 'context' : 'length';
  let text = '';
  for (let index = 0; index < room; index++) {
    const id = sample(allowed(growing.logits(), limits.suppressed, index));
    const isEos = limits.stops.includes(id);
    const isLast = isEos || index === room - 1;
    let came = continuation.add(id, isLast);
    // Text that waits for its run of bytes to end: what ends generating ends the run.
    if (stopTexts.endsIn(came + continuation.ahead())) came += continuation.end();
    const { told, isEnd } = stopTexts.push(came, isLast);
    text += told;
    const { special } = continuation.tokens[index];
    if (onToken) await call.wait(Promise.resolve(onToken({ id, text: told, index, special })));
    await growing.feed(id);
    if (isEnd) stopped = 'stop';
    else if (isEos) stopped = 'eos';
    if (isEnd || isEos) break;
  }
  continuation.cut(text.length);
  const tokens = [...prompt.tokens, ...continuation.tokens];
  const ids = Int32Array.from(tokens, ({ id }) => id);
  const typeIds = new Int32Array(ids.length);
  typeIds.set(prompt.typeIds);
  return {
    sequence: { ids, typeIds, tokens, truncated: prompt.truncated },
    generated: { text: limits.tokenizer && text, stopped, promptTokens: prompt.ids.length },
  };
}

/**
 * @param {Float32Array} logits are changed
 * @param {InputLimits['suppressed']} suppressed
 * @param {number} index of the new token
 */
function allowed(logits, { always, first }, index) {
  for (const id of always) logits[id] = Number.NEGATIVE_INFINITY;
  if (index === 0) for (const id of first) logits[id] = Number.NEGATIVE_INFINITY;
  return logits;
}
