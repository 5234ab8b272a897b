/** From hidden states to one vector a text, as the model's folder says: rows are pooled by the engine, and what comes
 * behind (dense layers, normalisation) is computed here in float64, since it is a single row. */

import { oneOf, readArguments } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';

/** @typedef {import('../api/model.js').EmbeddingInfo} EmbeddingInfo */
/** @typedef {import('../api/run.js').Pooling} Pooling */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {'Identity' | 'Tanh' | 'ReLU' | 'Sigmoid' | 'SiLU'} DenseActivation */
/**
 * y = activation(x W^T + b), and x or x R^T on top where there is a residual connection.
 * @typedef {object} Dense
 * @property {'dense'} step
 * @property {string} folder that its weights are in
 * @property {number} inputs
 * @property {number} outputs
 * @property {DenseActivation} activation
 * @property {boolean} hasBias
 * @property {boolean} hasResidual
 * @property {Float32Array | null} weight [outputs, inputs]; null until it is read
 * @property {Float32Array | null} bias
 * @property {Float32Array | null} residual [outputs, inputs], null for x itself
 */
/** @typedef {Dense | { step: 'normalize' }} EmbeddingStep */
/** @typedef {{ what: string, got?: unknown, want?: string, fix: string }} Refusal */
/**
 * How a model makes embeddings. refusal: why it cannot do so here; maxTokens: of a text, null = what the model takes
 * @typedef {object} EmbeddingPlan
 * @property {'modules.json' | 'gguf' | 'default'} from
 * @property {readonly Pooling[]} poolings
 * @property {boolean} includePrompt whether the tokens of the prompt are pooled with those of the text
 * @property {readonly EmbeddingStep[]} steps
 * @property {number | null} truncate components that are kept
 * @property {{ [name: string]: string }} prompts
 * @property {string | null} defaultPrompt its name
 * @property {number | null} maxTokens
 * @property {boolean} lowerCase texts are lowered before anything else
 * @property {Refusal | null} refusal
 */
/** @typedef {{ poolings: readonly Pooling[], steps: readonly EmbeddingStep[], truncate: number | null, normalize: boolean | undefined }} Recipe */

/** The least norm that is divided by, as in torch.nn.functional.normalize: a vector of zeros stays zero. */
const LEAST_NORM = 1e-12;
/** Prompts that every model has, empty where its folder says nothing. */
const USUAL_PROMPTS = ['query', 'document'];
/** The name that sentence-transformers has for it. */
const OTHER_NAMES = new Map([['lasttoken', 'last']]);
/** @type {Record<DenseActivation, (x: number) => number>} */
const ACTIVATE = {
  Identity: (x) => x,
  Tanh: Math.tanh,
  ReLU: (x) => Math.max(x, 0),
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  SiLU: (x) => x / (1 + Math.exp(-x)),
};
export const DENSE_ACTIVATIONS = /** @type {DenseActivation[]} */ (Object.keys(ACTIVATE));

/** Where no file says anything: the mean of all rows, of length 1. @type {Readonly<EmbeddingPlan>} */
export const DEFAULT_PLAN = {
  from: 'default',
  poolings: ['mean'],
  includePrompt: true,
  steps: [{ step: 'normalize' }],
  truncate: null,
  prompts: {},
  defaultPrompt: null,
  maxTokens: null,
  lowerCase: false,
  refusal: null,
};

/** @param {Refusal} refusal @returns {QkvError} */
const refused = ({ what, got, want, fix }) => new QkvError('unsupported', what, { got, want, fix });

/** @param {EmbeddingPlan} plan @param {number} width @returns {number} */
function dimensionOf({ poolings, steps, truncate }, width) {
  let size = poolings.length * width;
  for (const step of steps) if (step.step === 'dense') size = step.outputs;
  return truncate === null ? size : Math.min(size, truncate);
}

/**
 * What model.info says of it.
 * @param {EmbeddingPlan} plan
 * @param {{ width: number, maxTokens: number }} model
 * @returns {EmbeddingInfo}
 */
export function embeddingInfo(plan, { width, maxTokens }) {
  const { from, poolings, prompts, defaultPrompt, refusal } = plan;
  const known = { maxTokens, prompts, ...(defaultPrompt === null ? {} : { defaultPrompt }), from };
  if (refusal)
    return { pooling: null, normalize: false, dimension: 0, ...known, unsupported: refused(refusal).message };
  return {
    pooling: poolings.length === 1 ? poolings[0] : [...poolings],
    normalize: plan.truncate === null && plan.steps.at(-1)?.step === 'normalize',
    dimension: dimensionOf(plan, width),
    ...known,
  };
}

/**
 * The text that goes in front of each text: that of a prompt's name, and else the words given.
 * @param {EmbeddingPlan} plan
 * @param {unknown} prompt undefined: the folder's default
 * @returns {string}
 */
export function promptText({ prompts, defaultPrompt }, prompt) {
  const asked = prompt === undefined ? (defaultPrompt ?? '') : prompt;
  if (typeof asked !== 'string') {
    throw new QkvError('argument', 'embed: prompt', { got: asked, want: 'the name of a prompt, or its text' });
  }
  if (Object.hasOwn(prompts, asked)) return prompts[asked];
  return USUAL_PROMPTS.includes(asked) ? '' : asked;
}

/**
 * What is computed: the plan, and what the caller wants otherwise.
 * @param {EmbeddingPlan} plan
 * @param {{ pooling?: unknown, normalize?: unknown }} options
 * @param {{ call: string, width: number, poolings: string[] }} model poolings: that the engine knows
 * @returns {Recipe}
 */
export function recipeOf(plan, { pooling, normalize }, { call, width, poolings }) {
  if (normalize !== undefined && typeof normalize !== 'boolean') {
    throw new QkvError('argument', `${call}: normalize`, { got: normalize, want: 'true or false' });
  }
  if (pooling === undefined) {
    if (plan.refusal) throw refused(plan.refusal);
    return { poolings: plan.poolings, steps: stepsOf(plan.steps, normalize), truncate: plan.truncate, normalize };
  }
  const names = readArguments(call, () => (Array.isArray(pooling) ? Array.from(pooling) : [pooling]));
  if (names.length === 0) throw new QkvError('argument', `${call}: pooling`, { got: pooling, want: 'one or several' });
  const chosen = names.map((name) => oneOf(`${call}: pooling`, OTHER_NAMES.get(name) ?? name, poolings));
  // Modules that are unknown are left out by whoever asks for a pooling by name: they stand behind it.
  const given = plan.refusal ? { ...DEFAULT_PLAN } : plan;
  const dense = given.steps.find((step) => step.step === 'dense');
  if (dense && dense.inputs !== chosen.length * width) {
    const want = `poolings that give the ${dense.inputs} numbers that ${dense.folder} takes`;
    throw new QkvError('argument', `${call}: pooling`, { got: pooling, want });
  }
  const known = /** @type {Pooling[]} */ (chosen);
  return { poolings: known, steps: stepsOf(given.steps, normalize), truncate: given.truncate, normalize };
}

/** @param {readonly EmbeddingStep[]} steps @param {boolean | undefined} normalize */
const stepsOf = (steps, normalize) => (normalize === false ? steps.filter(({ step }) => step !== 'normalize') : steps);

/**
 * @param {Core} core
 * @param {{ run: number, sequence: number, first: number, width: number }} place first: the row that pooling begins with
 * @param {Recipe} recipe
 * @returns {Float32Array}
 */
export function embedSequence(core, { run, sequence, first, width }, { poolings, steps, truncate, normalize }) {
  const numberOf = (/** @type {Pooling} */ pooling) => core.description.poolings.indexOf(pooling);
  const isNormal = (steps.length === 1 && steps[0].step === 'normalize') || (steps.length === 0 && normalize === true);
  const inEngine = poolings.length === 1 && truncate === null && isNormal;
  const pooled = poolings.map((pooling) =>
    core.withMemory('embedding', width * 4, (out) => {
      const flag = inEngine ? 1 : 0;
      const status = core.call('qkv_embedding', run, sequence, numberOf(pooling), first, flag, out);
      core.check('embedding', status);
      return core.heap.readFloat32(out, width);
    }),
  );
  if (inEngine || (steps.length === 0 && truncate === null && normalize !== true && pooled.length === 1)) {
    return pooled[0];
  }
  /** @type {Float64Array} */
  let x = Float64Array.from(pooled.flatMap((vector) => [...vector]));
  for (const step of steps) x = step.step === 'dense' ? applyDense(step, x) : normalised(x);
  if (truncate !== null) x = x.subarray(0, truncate);
  return Float32Array.from(normalize === true ? normalised(x) : x);
}

/** @param {Dense} dense @param {Float64Array} x @returns {Float64Array} */
export function applyDense({ inputs, outputs, activation, weight, bias, hasResidual, residual }, x) {
  const weights = /** @type {Float32Array} */ (weight);
  const activate = ACTIVATE[activation];
  const row = (/** @type {Float32Array} */ map, /** @type {number} */ o, /** @type {number} */ start) => {
    let sum = start;
    for (let i = 0; i < inputs; i++) sum += map[o * inputs + i] * x[i];
    return sum;
  };
  return Float64Array.from({ length: outputs }, (_, o) => {
    const y = activate(row(weights, o, bias?.[o] ?? 0));
    if (!hasResidual) return y;
    return y + (residual ? row(residual, o, 0) : x[o]);
  });
}

/** @param {Float64Array} x @returns {Float64Array} */
function normalised(x) {
  let squares = 0;
  for (const value of x) squares += value * value;
  const norm = Math.max(Math.sqrt(squares), LEAST_NORM);
  return x.map((value) => value / norm);
}
