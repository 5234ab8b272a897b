/** What a model is and what it would take, before any weight of it is read. */

import { QkvError, throwIfAborted } from '../checks/errors.js';
import { resolveModel } from '../families/index.js';
import { estimateBytes, precisionsOf } from './model_config.js';
import { openModelFile } from './model_file.js';
import { openModelFolder } from './model_folder.js';
import { openSource } from '../sources/source.js';
import { textLimit } from './embedding/text_limit.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('./model_config.js').Precision} Precision */
/** @typedef {import('../sources/source.js').SourceInput} SourceInput */
/**
 * precision: that of 'auto'; bytes: what the weights would take in memory, for each precision that the files allow. The
 * least, since an output head and the form of the token table are only known with the weights; available: how much an
 * engine can have
 * @typedef {object} ModelPreview
 * @property {string} name
 * @property {string} family
 * @property {('encoder' | 'decoder')[]} kinds
 * @property {number} layers
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} headDim
 * @property {number} width
 * @property {number} vocab
 * @property {number} maxTokens
 * @property {Precision} precision
 * @property {{ [precision in Precision]?: number }} bytes
 * @property {number} available
 */
/** @typedef {Pick<import('./load_options.js').LoadOptions, 'revision' | 'signal' | 'timeout'>} PreviewOptions */

/**
 * @param {SourceInput} input
 * @param {PreviewOptions} options
 * @param {Core} core
 * @returns {Promise<ModelPreview>}
 */
export async function previewModel(input, { revision, signal, timeout }, core) {
  throwIfAborted(signal);
  const source = await openSource(input, { signal, revision, timeout });
  const files = source.gguf ? await openModelFile(source, source.gguf, signal) : await openModelFolder(source, signal);
  try {
    const resolved = resolveModel(files.config, files.label);
    const { layers, heads, kv_heads: kvHeads, head_dim: headDim, width, vocab, context } = resolved.engine;
    const { family, kinds } = resolved;
    const maxTokens = textLimit(await files.embedding(width), context);
    const allowed = precisionsOf(resolved.quantization);
    return {
      ...{ name: source.name, family, kinds, layers, heads, kvHeads, headDim, width, vocab, maxTokens },
      precision: allowed[0],
      bytes: Object.fromEntries(allowed.flatMap((one) => sizeOf(core, resolved, one))),
      available: core.available(),
    };
  } finally {
    await files.close();
  }
}

/** An empty list for a size beyond what memory can have. @param {Core} core @param {ResolvedModel} resolved @param {Precision} precision @returns {[Precision, number][]} */
function sizeOf(core, resolved, precision) {
  try {
    return [[precision, estimateBytes(core, resolved, precision)]];
  } catch (error) {
    if (error instanceof QkvError && error.code === 'memory') return [];
    throw error;
  }
}
