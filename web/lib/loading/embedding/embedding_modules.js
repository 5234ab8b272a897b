/** The modules behind the model of a sentence-transformers folder: what the config.json of each says. */

import { DENSE_ACTIVATIONS } from '../../run/embedding.js';
import { Unsupported } from './unsupported.js';

/** @typedef {import('../../run/embedding.js').Dense} Dense */
/** @typedef {import('../../run/embedding.js').EmbeddingStep} EmbeddingStep */
/** @typedef {import('../../run/embedding.js').Pooling} Pooling */
/** @typedef {import('./json_keys.js').Keys} Keys */

/** The library's names and ours. @type {ReadonlyMap<unknown, Pooling>} */
const POOLINGS = new Map([
  ['cls', 'cls'],
  ['max', 'max'],
  ['mean', 'mean'],
  ['mean_sqrt_len_tokens', 'mean_sqrt_len_tokens'],
  ['weightedmean', 'weightedmean'],
  ['lasttoken', 'last'],
]);
/** As files said it before version 6, in the order in which several are put side by side. @type {[string, Pooling][]} */
const FLAGS = [
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_mean_sqrt_len_tokens', 'mean_sqrt_len_tokens'],
  ['pooling_mode_weightedmean_tokens', 'weightedmean'],
  ['pooling_mode_lasttoken', 'last'],
];
const MOST_POOLINGS = 16;
const LARGEST_SIDE = 2 ** 20;
const VECTOR = 'sentence_embedding';

/** @param {Keys} keys @returns {{ poolings: Pooling[], includePrompt: boolean }} */
export function readPooling(keys) {
  const includePrompt = keys.flag('include_prompt', true);
  if (!keys.has('pooling_mode')) return { poolings: flaggedPoolings(keys), includePrompt };
  const mode = keys.any('pooling_mode');
  const names = Array.isArray(mode) ? mode : [mode];
  if (names.length === 0 || names.length > MOST_POOLINGS || names.some((name) => typeof name !== 'string')) {
    throw keys.wrong('pooling_mode', 'the name of a pooling, or a list of some');
  }
  const poolings = names.map((name) => {
    const pooling = POOLINGS.get(name);
    if (pooling) return pooling;
    throw new Unsupported({ what: `${keys.label}: pooling_mode`, got: name, want: [...POOLINGS.keys()].join(', ') });
  });
  return { poolings, includePrompt };
}

/**
 * The mean is the library's default for a file that says nothing; one that switches it off must switch another on.
 * @param {Keys} keys
 */
function flaggedPoolings(keys) {
  const strange = keys
    .names()
    .find((key) => key.startsWith('pooling_mode_') && !FLAGS.some(([known]) => known === key));
  if (strange !== undefined && keys.any(strange) !== false) {
    const want = FLAGS.map(([key]) => key).join(', ');
    throw new Unsupported({ what: `${keys.label}: a pooling`, got: strange, want });
  }
  const poolings = FLAGS.filter(([key]) => keys.flag(key, false)).map(([, pooling]) => pooling);
  if (poolings.length > 0) return poolings;
  if (!keys.has('pooling_mode_mean_tokens')) return [/** @type {Pooling} */ ('mean')];
  throw keys.wrong('pooling_mode_mean_tokens', 'true here or in another pooling_mode');
}

/** Input and output must be the vector; some models have them work on the tokens. @param {Keys} keys @param {string} key */
function checkVector(keys, key) {
  const name = keys.text(key, null) ?? VECTOR;
  if (name !== VECTOR) throw new Unsupported({ what: `${keys.label}: ${key}`, got: name, want: VECTOR });
}

/** @param {Keys | null} keys null where there is no file @returns {EmbeddingStep} */
export function readNormalize(keys) {
  for (const key of ['module_input_name', 'module_output_name']) if (keys) checkVector(keys, key);
  return { step: 'normalize' };
}

/**
 * @param {Keys} keys
 * @param {string} folder
 * @param {number} size components that come in
 * @returns {Dense}
 */
export function readDense(keys, folder, size) {
  for (const key of ['module_input_name', 'module_output_name']) checkVector(keys, key);
  const inputs = keys.count('in_features', undefined);
  const outputs = keys.count('out_features', undefined);
  if (inputs !== size) throw keys.wrong('in_features', `${size}, as many numbers as come in`);
  if (outputs === undefined || outputs > LARGEST_SIDE) throw keys.wrong('out_features', `at most ${LARGEST_SIDE}`);
  return {
    step: 'dense',
    folder,
    inputs,
    outputs,
    activation: activationOf(keys),
    hasBias: keys.flag('bias', true),
    hasResidual: keys.flag('use_residual', false),
    ...{ weight: null, bias: null, residual: null },
  };
}

/** A class of torch.nn; where nothing is said the library takes Tanh. @param {Keys} keys */
function activationOf(keys) {
  if (!keys.has('activation_function')) return 'Tanh';
  const name = keys.text('activation_function', 'nothing');
  const known = DENSE_ACTIVATIONS.find((one) => name.startsWith('torch.nn.') && name.endsWith(`.${one}`));
  if (known) return known;
  const want = DENSE_ACTIVATIONS.map((one) => `torch.nn.${one}`).join(', ');
  throw new Unsupported({ what: `${keys.label}: activation_function`, got: name, want });
}
