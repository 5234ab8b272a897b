/** A model as one GGUF file has it, with the same face as a folder. */

import { openGguf } from '../formats/gguf/gguf.js';
import { DEFAULT_PLAN } from '../run/embedding.js';
import { refusalOf } from './embedding/unsupported.js';

/** @typedef {import('./model_folder.js').ModelFiles} ModelFiles */
/** @typedef {import('../run/embedding.js').EmbeddingPlan} EmbeddingPlan */
/** @typedef {import('../run/embedding.js').Pooling} Pooling */
/** @typedef {import('../sources/source.js').Source} Source */

/** Of llama.cpp's numbers those that pool. 0 is none, for which llama.cpp gives a vector a token; 4 ranks pairs of texts.
 * @type {ReadonlyMap<unknown, Pooling>} */
const POOLINGS = new Map([
  [1, 'mean'],
  [2, 'cls'],
  [3, 'last'],
]);

/**
 * @param {Source} source
 * @param {string} file
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<ModelFiles>}
 */
export async function openModelFile(source, file, signal) {
  const gguf = await openGguf(source, file, { signal });
  const { config, tokenizer } = gguf;
  return {
    label: source.name,
    config,
    notes: gguf.notes,
    tokenizer: async () => tokenizer,
    generation: async () => null,
    embedding: async () => ggufPlan(config.qkv_pooling_type, `${source.name}: pooling_type`),
    dense: async (plan) => plan,
    licence: async () => (typeof config.license === 'string' ? config.license : null),
    async readWeights({ receiver, onFile }) {
      let loaded = 0;
      let total = 0;
      await gguf.readTensors(
        (tensors, fileSize) => {
          total = fileSize;
          return receiver.accept(source.name, tensors);
        },
        {
          signal,
          onBytes(count) {
            loaded += count;
            onFile(source.name, loaded, total);
          },
        },
      );
      receiver.endFile();
      return source.name;
    },
    close: gguf.close,
  };
}

/**
 * @param {unknown} type null where the file does not say it
 * @param {string} what for messages
 * @returns {EmbeddingPlan}
 */
function ggufPlan(type, what) {
  const pooling = POOLINGS.get(type);
  if (pooling) return { ...DEFAULT_PLAN, from: 'gguf', poolings: [pooling] };
  if (type === null || type === 0) return { ...DEFAULT_PLAN };
  const want = '1 (mean), 2 (cls) or 3 (last)';
  const got = type === 4 ? '4 (rank), of models that compare two texts' : type;
  return { ...DEFAULT_PLAN, from: 'gguf', refusal: refusalOf({ what, got, want }) };
}
