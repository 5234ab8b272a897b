/** A model in this thread: weights in wasm memory, and runs over them. The forward pass is a loop over layers that lets
 * go of the thread now and then, so that a signal can cancel it and newer calls get their turn. */

import { callbackOf, optionsOf, signalOf } from '../checks/arguments.js';
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { generateTokens, readGenerateOptions } from './generate.js';
import { encode, encodeSome, readInput, readPrompt } from './input.js';
import { readInterventions } from './interventions.js';
import { newRun } from './new_run.js';
import { createRun } from './run.js';

/** @typedef {import('../engine/engine.js').Core} Core */
/** @typedef {import('./input.js').ForwardInput} ForwardInput */
/** @typedef {import('./input.js').InputLimits} InputLimits */
/** @typedef {import('./input.js').Sequence} Sequence */
/** @typedef {import('./input.js').SingleInput} SingleInput */
/** @typedef {import('./input.js').Token} Token */
/** @typedef {import('./generate.js').Generated} Generated */
/** @typedef {import('./generate.js').GenerateOptions} GenerateOptions */
/** @typedef {import('./new_run.js').RunRequest} RunRequest */
/** @typedef {import('./interventions.js').InterventionOptions & { signal?: AbortSignal }} ForwardOptions */
/** @typedef {import('../loading/load.js').ModelInfo} ModelInfo */
/** @typedef {import('../loading/load.js').OnProgress} OnProgress */
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
/** New tokens that generate makes room for at first; then for twice as many, and so on. */
const FIRST_ROOM = 256;
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
  let isDisposed = false;

  function alive() {
    if (isDisposed) throw new QkvError('disposed', 'This model was disposed', { fix: 'Load it again with loadModel.' });
  }

  /** Waits where threads were lost, until there are others. */
  async function ready() {
    const mending = core.mend();
    if (!mending) return;
    await mending;
    alive();
  }

  /**
   * A run's memory, which goes with the run, with the model, or when what is to be made of it fails.
   * @param {RunRequest} request
   */
  function hold(request) {
    const start = newRun(core, pointer, request);
    const release = () => {
      if (!releases.delete(release)) return;
      forgotten.unregister(release);
      if (core.isAlive()) core.call('qkv_run_free', start.run);
    };
    const held = () => {
      alive();
      if (releases.has(release)) return;
      throw new QkvError('disposed', 'This run was disposed', { fix: `Call model.${request.call} again.` });
    };
    releases.add(release);
    return { ...start, release, held };
  }

  /**
   * @template {boolean} Batch
   * @param {ReturnType<typeof hold>} start
   * @param {{ sequences: Sequence[], generated: Generated | null, isBatch: Batch, time: number }} parts
   */
  function finishedRun({ run: pointer, bytes, release, held }, parts) {
    const run = createRun({ core, pointer, info, limits, bytes, alive: held, release, ...parts });
    forgotten.register(run, release, release);
    return run;
  }

  /**
   * Runs all layers of runs, letting go of the thread now and then, between the layers and between one call and the next.
   * @param {AbortSignal | undefined} signal
   */
  function createPass(signal) {
    let time = 0;
    let lastPause = performance.now();
    return {
      /** Milliseconds in the engine. */
      time: () => time,
      /** @param {number} run */
      async forward(run) {
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
      },
    };
  }

  /**
   * @template {boolean} Batch
   * @param {RunRequest} request
   * @param {Batch} isBatch
   * @param {AbortSignal | undefined} signal
   */
  async function forward(request, isBatch, signal) {
    await ready();
    const start = hold(request);
    try {
      const pass = createPass(signal);
      await pass.forward(start.run);
      const { sequences } = request;
      return finishedRun(start, { sequences, generated: null, isBatch, time: pass.time() });
    } catch (error) {
      start.release();
      throw error;
    }
  }

  /**
   * A run that grows with its text. Where its room is used up it is given back and made anew over all tokens so far, with
   * room for as many again: all of them at once have the bits of one after the other.
   * @param {Sequence} prompt
   * @param {number} most tokens that may be appended
   * @param {AbortSignal | undefined} signal
   */
  function createGrowing(prompt, most, signal) {
    const pass = createPass(signal);
    const interventions = readInterventions({}, { ...info, lengths: [prompt.ids.length] });
    /** @type {number[]} */
    const added = [];
    let room = Math.min(most, FIRST_ROOM);
    const held = () => {
      const ids = Int32Array.from([...prompt.ids, ...added]);
      const typeIds = new Int32Array(ids.length);
      typeIds.set(prompt.typeIds);
      const sequences = [{ ...prompt, ids, typeIds }];
      return hold({ call: 'generate', sequences, interventions, room: room - added.length });
    };
    let start = held();
    return {
      start: () => start,
      time: pass.time,
      logits: () => lastLogits(core, start.run, limits.headRows),
      forward: () => pass.forward(start.run),
      /** @param {number} id */
      async feed(id) {
        // onToken may have cancelled, or disposed of the model.
        throwIfAborted(signal);
        alive();
        if (added.length < room) {
          append(core, start.run, id);
          added.push(id);
        } else {
          start.release();
          added.push(id);
          room = Math.min(most, room * 2);
          start = held();
        }
        await pass.forward(start.run);
      },
    };
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
      const isBatch = /** @type {IsBatch<Input>} */ (read.isBatch);
      const interventions = readInterventions(given, { ...info, lengths });
      return forward({ call: 'forward', sequences: read.sequences, interventions, room: 0 }, isBatch, signal);
    },

    /**
     * One vector a text, computed in ragged batches.
     * @param {readonly string[]} texts
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
        const request = /** @type {const} */ ({ call: 'embed', sequences, interventions: plain, room: 0 });
        const run = await forward(request, /** @type {const} */ (true), signal);
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
     * Goes on from a text: one token after the other, each fed back, so that the run covers the prompt and all new tokens
     * as if computed at once. Memory grows with the text: the run has room for at most twice the new tokens, or 256.
     * @param {SingleInput} input
     * @param {GenerateOptions} [options]
     * @returns {Promise<Run<false>>}
     */
    async generate(input, options) {
      alive();
      if (info.kinds[0] !== 'decoder' || limits.headRows < 2) {
        const fix = `${info.name} reads text; generating needs a decoder.`;
        throw new QkvError('unsupported', 'generate: this model has no language-model head', { fix });
      }
      const given = readGenerateOptions(options, limits);
      const { most, signal } = given;
      throwIfAborted(signal);
      const prompt = readPrompt(input, { ...limits, positions: info.maxTokens });
      const room = Math.min(most, info.maxTokens - prompt.ids.length);
      await ready();
      try {
        const growing = createGrowing(prompt, room, signal);
        try {
          await growing.forward();
          const { logits, feed } = growing;
          const { sequence, generated } = await generateTokens({ prompt, room, limits, options: given, logits, feed });
          const isBatch = /** @type {const} */ (false);
          return finishedRun(growing.start(), { sequences: [sequence], generated, isBatch, time: growing.time() });
        } catch (error) {
          growing.start().release();
          throw error;
        }
      } catch (error) {
        throw advised(error);
      }
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
 * @param {readonly string[]} texts
 * @param {number} from
 * @param {InputLimits} limits
 */
function nextBatch(texts, from, limits) {
  /** @type {Sequence[]} */
  const sequences = [];
  let tokens = 0;
  for (let at = from; at < texts.length && tokens < EMBED_TOKENS; at++) {
    const sequence = encodeSome(`embed: texts[${at}]`, limits, textOf(`embed: texts[${at}]`, texts[at]));
    tokens += sequence.ids.length;
    sequences.push(sequence);
  }
  return sequences;
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

/**
 * @param {Core} core
 * @param {number} run
 * @param {number} rows
 */
function lastLogits(core, run, rows) {
  return core.withMemory('generate', rows * 4, (out) => {
    core.check('generate', core.call('qkv_logits', run, 0, -1, out));
    return core.heap.readFloat32(out, rows);
  });
}

/**
 * @param {Core} core
 * @param {number} run
 * @param {number} id
 */
function append(core, run, id) {
  core.withMemory('generate', 4, (at) => {
    core.heap.writeInt32(at, [id]);
    core.check('generate', core.call('qkv_append', run, at, 1));
  });
}
