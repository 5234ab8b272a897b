/** A model in this thread: weights in wasm memory, and runs over them. The forward pass is a loop over layers that lets
 * go of the thread now and then, so that a signal can cancel it and newer calls get their turn. */

import { callbackOf, optionsOf, signalOf } from './arguments.js';
import { writeStruct } from './describe.js';
import { QkvError, throwIfAborted } from './errors.js';
import { encode, readInput } from './input.js';
import { readInterventions } from './interventions.js';
import { createRun } from './run.js';

/** @typedef {import('./engine.js').Core} Core */
/** @typedef {import('./input.js').ForwardInput} ForwardInput */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./input.js').Token} Token */
/** @typedef {import('./interventions.js').Interventions} Interventions */
/** @typedef {import('./interventions.js').InterventionOptions & { signal?: AbortSignal }} ForwardOptions */
/** @typedef {import('./load.js').ModelInfo} ModelInfo */
/** @typedef {import('./load.js').OnProgress} OnProgress */
/** @typedef {import('./run.js').EmbeddingOptions} EmbeddingOptions */
/**
 * @template {boolean} [Batch=boolean]
 * @typedef {import('./run.js').Run<Batch>} Run
 */
/**
 * @template {ForwardInput} Input
 * @typedef {Input extends { batch: unknown } ? true : false} IsBatch
 */
/** @typedef {EmbeddingOptions & { signal?: AbortSignal, onProgress?: OnProgress }} EmbedOptions */
/** @typedef {ReturnType<typeof createModel>} Model */

/** @type {readonly (keyof ForwardOptions)[]} */
export const FORWARD_OPTIONS = ['mask', 'ablate', 'scale', 'temperature', 'signal'];
/** @type {readonly (keyof EmbedOptions)[]} */
export const EMBED_OPTIONS = ['pooling', 'normalize', 'signal', 'onProgress'];

/** The thread is let go after this many milliseconds of work. */
const LONGEST_SLICE = 4;
/** Tokens that embed puts into one run: tall enough for the GEMMs, small enough to cancel soon. */
const EMBED_TOKENS = 1024;

/** Frees what a caller forgot to dispose; a backstop only, since collection may come late or never. */
const forgotten = new FinalizationRegistry((/** @type {() => void} */ release) => release());

/**
 * One closure, so that nothing of it can be changed from outside, and its methods can be passed on without the object.
 * @param {object} parts
 * @param {Core} parts.core
 * @param {number} parts.pointer
 * @param {ModelInfo} parts.info
 * @param {InputLimits} parts.limits
 * @param {() => Promise<void>} parts.pause lets other work of this thread go first
 */
export function createModel({ core, pointer, info, limits, pause }) {
  /** @type {Set<() => void>} */
  const releases = new Set();
  const separators = limits.tokenizer?.separators ?? [];
  let isDisposed = false;

  function alive() {
    if (isDisposed) throw new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' });
  }

  /**
   * @template {boolean} Batch
   * @param {{ sequences: Sequence[], isBatch: Batch }} input
   * @param {Interventions} interventions
   * @param {AbortSignal | undefined} signal
   */
  async function forward({ sequences, isBatch }, interventions, signal) {
    const { run: offset, bytes } = newRun(core, pointer, sequences, interventions);
    const release = () => {
      if (!releases.delete(release)) return;
      forgotten.unregister(release);
      if (core.isAlive()) core.call('qkv_run_free', offset);
    };
    releases.add(release);
    try {
      const time = await runLayers(offset, signal);
      const held = () => {
        alive();
        if (releases.has(release)) return;
        throw new QkvError('disposed', 'This run was disposed', { fix: 'Call model.forward again.' });
      };
      const parts = { core, pointer: offset, info, sequences, separators, isBatch, time, bytes, alive: held, release };
      const run = createRun(parts);
      forgotten.register(run, release, release);
      return run;
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * @param {number} run
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<number>} milliseconds in the engine
   */
  async function runLayers(run, signal) {
    let time = 0;
    let lastPause = performance.now();
    for (let layer = 0; layer < info.layers; layer++) {
      const start = performance.now();
      core.check('forward', core.call('qkv_forward', run, layer, layer + 1));
      const now = performance.now();
      time += now - start;
      if (now - lastPause < LONGEST_SLICE) continue;
      await pause();
      throwIfAborted(signal);
      alive();
      lastPause = performance.now();
    }
    return time;
  }

  return {
    info,

    /**
     * The tokens that forward would see.
     * @param {string} text
     * @param {string} [pair]
     * @returns {Promise<Token[]>}
     */
    async tokenize(text, pair) {
      alive();
      return encode(limits, textOf('tokenize: text', text), pair === undefined ? pair : textOf('tokenize: pair', pair))
        .tokens;
    },

    /**
     * @template {ForwardInput} Input
     * @param {Input} input
     * @param {ForwardOptions} [options]
     * @returns {Promise<Run<IsBatch<Input>>>}
     */
    async forward(input, options) {
      alive();
      const given = optionsOf('forward', options, FORWARD_OPTIONS);
      const signal = signalOf('forward', given.signal);
      throwIfAborted(signal);
      const read = readInput(input, limits);
      const lengths = read.sequences.map(({ ids }) => ids.length);
      const batched = { ...read, isBatch: /** @type {IsBatch<Input>} */ (read.isBatch) };
      return forward(batched, readInterventions(given, { ...info, lengths }), signal);
    },

    /**
     * One vector a text, computed in ragged batches.
     * @param {string[]} texts
     * @param {EmbedOptions} [options]
     * @returns {Promise<Float32Array[]>}
     */
    async embed(texts, options) {
      alive();
      if (!Array.isArray(texts))
        throw new QkvError('argument', 'embed: texts', { got: texts, want: 'an array of strings' });
      const { onProgress: given, signal: givenSignal, ...pooling } = optionsOf('embed', options, EMBED_OPTIONS);
      const onProgress = callbackOf('embed: onProgress', given);
      const signal = signalOf('embed', givenSignal);
      const plain = readInterventions({}, { ...info, lengths: [1] });
      /** @type {Float32Array[]} */
      const vectors = [];
      while (vectors.length < texts.length) {
        throwIfAborted(signal);
        const sequences = nextBatch(texts, vectors.length, limits);
        const run = await forward({ sequences, isBatch: /** @type {const} */ (true) }, plain, signal);
        try {
          vectors.push(...(await run.embedding(pooling)));
        } finally {
          run.dispose();
        }
        onProgress?.({ phase: 'embed', file: null, loaded: vectors.length, total: texts.length });
        await pause();
        alive();
      }
      return vectors;
    },

    /**
     * For models with a causal head.
     * @param {ForwardInput} _input
     * @param {object} [_options]
     * @returns {Promise<Run>}
     */
    async generate(_input, _options) {
      alive();
      const fix = `${info.name} reads text; generating needs a decoder.`;
      throw new QkvError('unsupported', 'generate: this model has no language-model head', { fix });
    },

    /** Gives the memory back, that of its runs too; a second call does nothing. */
    dispose() {
      if (isDisposed) return;
      isDisposed = true;
      for (const release of releases) release();
      if (core.isAlive()) core.call('qkv_model_free', pointer);
    },

    [Symbol.dispose]() {
      this.dispose();
    },
  };
}

/**
 * @param {string} what
 * @param {unknown} text
 */
function textOf(what, text) {
  if (typeof text === 'string') return text;
  throw new QkvError('argument', what, { got: text, want: 'a string' });
}

/**
 * @param {string[]} texts
 * @param {number} from
 * @param {InputLimits} limits
 */
function nextBatch(texts, from, limits) {
  /** @type {Sequence[]} */
  const sequences = [];
  let tokens = 0;
  for (let at = from; at < texts.length && tokens < EMBED_TOKENS; at++) {
    const sequence = encode(limits, textOf(`embed: texts[${at}]`, texts[at]));
    tokens += sequence.ids.length;
    sequences.push(sequence);
  }
  return sequences;
}

/**
 * Copies the input into wasm memory, for as long as qkv_run_new reads it, and makes the run.
 * @param {Core} core
 * @param {number} model
 * @param {Sequence[]} sequences
 * @param {Interventions} interventions
 */
function newRun(core, model, sequences, interventions) {
  const tokens = sequences.reduce((sum, { ids }) => sum + ids.length, 0);
  const { mask, maskLayers, ablate } = interventions;
  // One block: the struct, then what its pointers point to, each 16-byte aligned.
  let end = 0;
  const place = (/** @type {number} */ bytes) => {
    const at = end;
    end += (bytes + 15) & ~15;
    return at;
  };
  const at = {
    struct: place(core.description.input.length * 4),
    ids: place(tokens * 4),
    typeIds: place(tokens * 4),
    lengths: place(sequences.length * 4),
    mask: place((mask?.length ?? 0) * 4),
    maskLayers: place(maskLayers?.length ?? 0),
    ablate: place(ablate?.length ?? 0),
  };
  return core.withMemory('forward', end, (base) => {
    const { heap } = core;
    heap.writeInt32(
      base + at.ids,
      concat(
        sequences.map(({ ids }) => ids),
        tokens,
      ),
    );
    heap.writeInt32(
      base + at.typeIds,
      concat(
        sequences.map(({ typeIds }) => typeIds),
        tokens,
      ),
    );
    heap.writeInt32(
      base + at.lengths,
      sequences.map(({ ids }) => ids.length),
    );
    if (mask) heap.writeFloat32(base + at.mask, mask);
    if (maskLayers) heap.writeBytes(base + at.maskLayers, maskLayers);
    if (ablate) heap.writeBytes(base + at.ablate, ablate);
    const input = base + at.struct;
    writeStruct(heap.view(input, core.description.input.length * 4), core.description.input, {
      ids: base + at.ids,
      type_ids: base + at.typeIds,
      lengths: base + at.lengths,
      sequences: sequences.length,
      mask: mask ? base + at.mask : 0,
      mask_rows: interventions.maskRows,
      mask_heads: interventions.maskHeads,
      mask_layers: maskLayers ? base + at.maskLayers : 0,
      ablate: ablate ? base + at.ablate : 0,
      has_scale: interventions.scale === null ? 0 : 1,
      scale: interventions.scale ?? 0,
      temperature: interventions.temperature,
    });
    const bytes = core.nonZero('forward', core.call('qkv_run_size', model, input));
    return { run: core.nonZero('forward', core.call('qkv_run_new', model, input)), bytes };
  });
}

/**
 * @param {Int32Array[]} parts
 * @param {number} length
 */
function concat(parts, length) {
  const all = new Int32Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
