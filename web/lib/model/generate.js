/** Text token by token: choose a token from the logits at the last place, feed it, and so on. Feeding computes the new
 * token alone; keys and values of the earlier ones are kept in the run. */

import { callbackOf, optionsOf, signalOf, wholeNumber } from '../checks/arguments.js';
import { createContinuation } from './continuation.js';
import { createSampler } from './sampler.js';

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

/** @type {readonly (keyof GenerateOptions)[]} */
export const GENERATE_OPTIONS = ['maxNewTokens', 'temperature', 'topK', 'topP', 'seed', 'onToken', 'signal'];

const USUAL_TOKENS = 64;

/**
 * @param {GenerateOptions | undefined} options
 * @param {InputLimits} limits
 */
export function readGenerateOptions(options, { positions, headRows }) {
  const {
    maxNewTokens = Math.min(USUAL_TOKENS, positions),
    onToken,
    signal,
    ...sampler
  } = optionsOf('generate', options, GENERATE_OPTIONS);
  return {
    most: wholeNumber('generate: maxNewTokens', maxNewTokens, 1, positions),
    onToken: callbackOf('generate: onToken', onToken),
    signal: signalOf('generate', signal),
    sample: createSampler(sampler, headRows),
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
  /** @type {Stopped} */
  let stopped = room < most ? 'context' : 'length';
  for (let index = 0; index < room; index++) {
    const id = sample(growing.logits());
    const isEnd = limits.stops.includes(id);
    const text = continuation.add(id, isEnd || index === room - 1);
    const { special } = continuation.tokens[index];
    if (onToken) await call.wait(Promise.resolve(onToken({ id, text, index, special })));
    await growing.feed(id);
    if (!isEnd) continue;
    stopped = 'eos';
    break;
  }
  const tokens = [...prompt.tokens, ...continuation.tokens];
  const ids = Int32Array.from(tokens, ({ id }) => id);
  const typeIds = new Int32Array(ids.length);
  typeIds.set(prompt.typeIds);
  return {
    sequence: { ids, typeIds, tokens, truncated: prompt.truncated },
    generated: { text: continuation.text(), stopped, promptTokens: prompt.ids.length },
  };
}
