/** What stands beside a model of sentence-transformers, as JSON with the files' names: what is read of it is a plan that can be
 * carried out, or a refusal in words. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readDenseWeights } from '../../../web/lib/loading/embedding/dense_weights.js';
import { readEmbeddingFiles } from '../../../web/lib/loading/embedding/embedding_files.js';
import { lowered, textLimit } from '../../../web/lib/loading/embedding/text_limit.js';
import { applyDense, embeddingInfo, promptText } from '../../../web/lib/run/embedding.js';
import { entry, fileOf } from '../../lib/formats/safetensors_file.js';
import { bytesOf, jsonBytes, jsonInputs, jsonValueOf } from './inputs.js';

/** @typedef {import('../../../web/lib/run/embedding.js').EmbeddingPlan} EmbeddingPlan */

const WIDTH = 4;
const OLD = 'sentence_transformers.models.';
const NEW = 'sentence_transformers.base.modules.transformer.';
const DENSE = Buffer.from(
  fileOf({ 'linear.weight': entry([3, WIDTH], 0, 48), 'linear.bias': entry([3], 48, 60) }, 60),
).toString('latin1');
/** @param {string[]} names */
const modules = (...names) =>
  names.map((name, i) => ({ idx: i, name: `${i}`, path: i === 0 ? '' : `${i}_${name}`, type: OLD + name }));
const LAYER = {
  in_features: WIDTH,
  out_features: 3,
  bias: true,
  activation_function: 'torch.nn.modules.linear.Identity',
};
const SEEDS = [
  {
    'modules.json': modules('Transformer', 'Pooling', 'Dense', 'Normalize'),
    '1_Pooling/config.json': { word_embedding_dimension: WIDTH, pooling_mode_mean_tokens: true, include_prompt: false },
    '2_Dense/config.json': LAYER,
    '2_Dense/model.safetensors': DENSE,
    'sentence_bert_config.json': { max_seq_length: 256, do_lower_case: true, tokenizer_args: { model_max_length: 9 } },
    'config_sentence_transformers.json': { prompts: { query: 'q: ' }, default_prompt_name: 'query', truncate_dim: 2 },
  },
  {
    'modules.json': [{ path: '', type: `${NEW}Transformer` }, ...modules('', 'Pooling', 'Dropout').slice(1)],
    '1_Pooling/config.json': { pooling_mode: ['lasttoken', 'max'] },
    'sentence_roberta_config.json': {
      modality_config: { text: { method: 'forward' } },
      module_output_name: 'token_embeddings',
    },
    'tokenizer_config.json': { model_max_length: 1e30 },
  },
  { '1_Pooling/config.json': {} },
];
const file = fc.constantFrom(...new Set(SEEDS.flatMap((seed) => Object.keys(seed))), '0_Normalize/config.json', '../x');

/** @param {unknown} held */
const heldBytes = (held) => (typeof held === 'string' ? Uint8Array.from(Buffer.from(held, 'latin1')) : jsonBytes(held));

/** @param {EmbeddingPlan} plan */
function checkPlan(plan) {
  const { pooling, dimension, unsupported, prompts, maxTokens } = embeddingInfo(plan, {
    width: WIDTH,
    maxTokens: textLimit(plan, 64),
  });
  assert.ok(Number.isInteger(maxTokens) && maxTokens >= 1 && maxTokens <= 64, `${maxTokens}`);
  assert.ok(Object.values(prompts).every((text) => typeof text === 'string'));
  assert.equal(typeof promptText(plan, undefined), 'string');
  assert.ok(lowered({ normalizer: null }, plan.lowerCase));
  if (unsupported !== undefined) return assert.equal(pooling, null);
  let x = new Float64Array(plan.poolings.length * WIDTH).fill(1);
  for (const step of plan.steps) if (step.step === 'dense') x = Float64Array.from(applyDense(step, x));
  assert.equal(dimension, Math.min(x.length, plan.truncate ?? Infinity));
}

/** @type {import('./inputs.js').Target} */
export const embedding = {
  name: 'embedding',
  isJson: true,
  seeds: SEEDS.map(jsonBytes),
  inputs: (pool) =>
    fc.oneof(
      { weight: 8, arbitrary: jsonInputs(pool) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom(...SEEDS), fc.constantFrom(...SEEDS), fc.array(file, { maxLength: 3 }))
          .map(([one, other, taken]) => {
            const all = Object.entries({ ...one, ...other }).filter(([name]) => !taken.includes(name));
            return bytesOf(JSON.stringify(Object.fromEntries(all)));
          }),
      },
    ),
  async check(bytes) {
    const value = jsonValueOf(bytes);
    const named = /** @type {Record<string, unknown>} */ (typeof value === 'object' && value !== null ? value : {});
    const label = (/** @type {string} */ name) => `model/${name}`;
    const optional = async (/** @type {string} */ name) => (Object.hasOwn(named, name) ? heldBytes(named[name]) : null);
    const plan = await readEmbeddingFiles({ label, optional }, { width: WIDTH });
    const find = async (/** @type {string} */ name) => {
      const held = await optional(name);
      return held && { size: held.length, chunks: chunksOf(held) };
    };
    const whole = await readDenseWeights({ label, find }, plan, undefined);
    checkPlan(whole);
    const steps = whole.steps.map(({ step }) => step).join(' ');
    return `${whole.from}, ${whole.poolings.length} poolings, ${steps}, ${whole.refusal?.what.replace(/\d+/g, 'N') ?? 'done'}`;
  },
};

/** @param {Uint8Array} bytes */
async function* chunksOf(bytes) {
  yield bytes;
}
