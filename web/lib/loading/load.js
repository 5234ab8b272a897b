/** loadModel in this thread: reads the small files, checks that the model fits, then streams the weights from the source
 * straight into the engine. */

import { wholeNumber } from '../checks/arguments.js';
import { memoryError } from '../engine/failures.js';
import { withCall } from '../checks/calls.js';
import { QkvError } from '../checks/errors.js';
import { resolveModel } from '../families/index.js';
import { createModel } from '../model/model.js';
import { embeddingInfo } from '../run/embedding.js';
import { soon } from './licence.js';
import { checkLoadOptions } from './load_options.js';
import { estimateBytes, precisionsOf } from './model_config.js';
import { openModelFile } from './model_file.js';
import { openModelFolder } from './model_folder.js';
import { openSource } from '../sources/source.js';
import { generationNotes, readStops, readSuppressed } from './generation.js';
import { lowered, textLimit } from './embedding/text_limit.js';
import { createTokenizer } from '../tokenizer/index.js';
import { whileWarming } from './warm_up.js';
import { createReceiver } from './weights.js';

/** @typedef {import('../api/model.js').MeasuredError} MeasuredError */
/** @typedef {import('../api/model.js').Model} Model */
/** @typedef {import('../api/model.js').OnProgress} OnProgress */
/** @typedef {import('../checks/calls.js').Call} Call */
/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../sources/source.js').SourceInput} SourceInput */
/** @typedef {import('../families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('./load_options.js').LoadOptions} LoadOptions */
/** @typedef {import('./model_config.js').Precision} Precision */
/** @typedef {import('./model_folder.js').ModelFiles} ModelFiles */
/** @typedef {{ core: Core, pause: () => Promise<void>, call: Call }} LoadPlace call: what can end the load early */

/**
 * @param {SourceInput} input
 * @param {LoadOptions | undefined} options
 * @param {{ core: Core, pause: () => Promise<void> }} place
 * @returns {Promise<Model>}
 */
export async function loadInThread(input, options, { core, pause }) {
  const given = checkLoadOptions(options);
  return withCall([core.ending], given.signal, async (call) => {
    try {
      return await loadFrom(input, { ...given, signal: call.signal }, { core, pause, call });
    } catch (error) {
      // Whatever was under way says that it was stopped; the call knows why.
      call.check();
      throw error;
    }
  });
}

/**
 * @param {SourceInput} input
 * @param {ReturnType<typeof checkLoadOptions>} options
 * @param {LoadPlace} place
 */
async function loadFrom(input, options, place) {
  const { revision, signal, timeout } = options;
  const source = await openSource(input, { signal, revision, timeout });
  const files = source.gguf ? await openModelFile(source, source.gguf, signal) : await openModelFolder(source, signal);
  try {
    const { core, pause, call } = place;
    const model = createModel({ core, pause, ...(await load(files, source.name, options, place)) });
    try {
      await call.told();
      return model;
    } catch (error) {
      model.dispose();
      throw error;
    }
  } finally {
    await files.close();
  }
}

/**
 * @param {ModelFiles} files
 * @param {string} name
 * @param {ReturnType<typeof checkLoadOptions>} options
 * @param {LoadPlace} place
 */
async function load(files, name, { precision: wanted, maxTokens, signal, onProgress }, { core, pause, call }) {
  /** @type {OnProgress} */
  const tell = (progress) => call.tell(onProgress, progress);
  const resolved = resolveModel(files.config, files.label);
  const { context, vocab, segments, causal } = resolved.engine;
  const precision = choosePrecision(wanted, resolved);
  const plan = await files.embedding(resolved.engine.width);
  const own = textLimit(plan, context);
  const limit = maxTokens === undefined ? own : wholeNumber('loadModel: maxTokens', maxTokens, 1, context);
  const needed = estimateBytes(core, resolved, precision);
  if (needed > core.available()) throw memoryError(name, needed, core.available());
  const place = { core, pause };
  const { tokenizer, generation, licence, embedding, weights } = await whileWarming(
    place,
    resolved,
    precision,
    async () => {
      // Shown and no more: it is read beside the weights.
      const licence = files.licence();
      const json = await files.tokenizer();
      return {
        tokenizer: json === null ? null : createTokenizer(lowered(json, plan.lowerCase), { vocab, maxTokens: limit }),
        generation: await readGeneration(files, causal === 1, vocab),
        embedding: await files.dense(plan),
        ...(await readWeights(files, resolved, createReceiver(core, resolved, precision), licence, {
          signal,
          tell,
        })),
      };
    },
  );
  const { engine, pointer, parameters, bytes, ignored } = weights;
  const { layers, heads, kv_heads: kvHeads, head_dim: headDim, width, head_rows: headRows } = engine;
  const extents = { layers, heads, kvHeads, headDim, width };
  return {
    pointer,
    limits: {
      tokenizer,
      vocab,
      positions: context,
      segments,
      headRows,
      stops: generation.stops,
      suppressed: generation.suppressed,
      embedding,
    },
    info: {
      name,
      family: resolved.family,
      kinds: resolved.kinds,
      byKind: Object.fromEntries(resolved.kinds.map((kind) => [kind, extents])),
      ...extents,
      vocab,
      precision,
      measured: measuredError(files.config),
      maxTokens: limit,
      embedding: embeddingInfo(embedding, { width, maxTokens: limit }),
      parameters,
      bytes,
      headRows,
      ignored,
      notes: [...files.notes, ...resolved.notes, ...generation.notes],
      licence,
    },
  };
}

/** @param {ModelFiles} files @param {boolean} isDecoder @param {number} vocab */
async function readGeneration(files, isDecoder, vocab) {
  if (!isDecoder) return { stops: [], suppressed: { always: [], first: [] }, notes: [] };
  const { config, label } = files;
  const particular = await files.generation();
  const own = { config, label };
  const other = particular && { config: particular, label: label.replace('config.json', 'generation_config.json') };
  return {
    stops: readStops(other === null ? [own] : [other, own], vocab),
    suppressed: readSuppressed(other, vocab),
    notes: generationNotes(other),
  };
}

/**
 * @param {'auto' | Precision} wanted
 * @param {ResolvedModel} resolved
 * @returns {Precision}
 */
function choosePrecision(wanted, { quantization, label }) {
  const allowed = precisionsOf(quantization);
  if (wanted === 'auto') return allowed[0];
  if (allowed.includes(wanted)) return wanted;
  const want = `'auto', 'f32' or '${allowed[0]}'`;
  const fix = `The weights of ${label} are rounded to ${quantization?.bits} bits already.`;
  throw new QkvError('unsupported', 'loadModel: precision', { got: wanted, want, fix });
}

/**
 * @param {Record<string, unknown>} config
 * @returns {MeasuredError | null}
 */
function measuredError(config) {
  const { measured } = /** @type {{ measured?: Record<string, unknown> }} */ (config.quantization_config ?? {});
  if (typeof measured !== 'object' || measured === null) return null;
  const numbers = Object.entries(measured).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(/** @type {[string, number][]} */ (numbers));
}

/**
 * @param {ModelFiles} files
 * @param {ResolvedModel} resolved
 * @param {ReturnType<typeof createReceiver>} receiver
 * @param {Promise<string | null>} finding the licence
 * @param {{ signal: AbortSignal | undefined, tell: OnProgress }} calls
 */
async function readWeights(files, resolved, receiver, finding, { signal, tell }) {
  /** @type {import('./model_folder.js').OnFile} */
  const onFile = (file, loaded, total) => tell({ phase: 'download', file, loaded, total });
  try {
    const label = await files.readWeights({ receiver, resolved, signal, onFile });
    const licence = await soon(finding, signal);
    const weights = receiver.finish(label);
    tell({ phase: 'load', file: null, loaded: weights.parameters, total: weights.parameters });
    return { weights, licence };
  } catch (error) {
    receiver.discard();
    throw error;
  }
}
