/** A run of this thread, as api/run.js describes it: one finished forward pass, kept in wasm memory (block inputs, K and V of
 * every layer) until dispose. */

import { embeddings, getStage, getWeights, hidden, logits, nextTokens, overview } from './readings.js';

/** @typedef {import('../model/generate.js').Generated} Generated */
/** @typedef {import('./held_runs.js').HeldRun} HeldRun */
/** @typedef {import('./readings.js').Readable} Readable */
/**
 * @template {boolean} [Batch=boolean]
 * @typedef {import('../api/run.js').Run<Batch>} Run
 */

/**
 * No class: nothing of it can be changed from outside, and its methods can be passed on without the object.
 * @template {boolean} Batch
 * @param {Omit<Readable, 'pointer'> & { model: object | null }} readable model: kept, with its weights, as long as the run is in use
 * @param {HeldRun} held the run's memory
 * @param {{ generated: Generated | null, isBatch: Batch, time: number }} facts generated: what generate added, where it made
 * the run
 * @returns {Run<Batch>}
 */
export function createRun(readable, held, { generated, isBatch, time }) {
  const { sequences } = readable;
  const run = { ...readable, pointer: held.run };
  // Every method holds this object: when it is collected, nobody can use the run any more.
  held.releaseWith(run);
  const lengths = sequences.map(({ ids }) => ids.length);

  function dispose() {
    held.release();
    run.model = null;
  }

  /**
   * @template T
   * @param {T[]} all
   */
  const perText = (all) => /** @type {import('../api/run.js').PerText<Batch, T>} */ (isBatch ? all : all[0]);

  return {
    tokens: sequences.flatMap(({ tokens }) => tokens),
    truncated: perText(sequences.map(({ truncated }) => truncated)),
    lengths,
    time,
    bytes: held.bytes,
    text: generated?.text ?? null,
    stopped: generated?.stopped ?? null,
    promptTokens: generated?.promptTokens ?? lengths.reduce((sum, length) => sum + length, 0),

    async getWeights(layer, head, options) {
      held.check();
      return getWeights(run, layer, head, options);
    },
    async overview(options) {
      held.check();
      return overview(run, options);
    },
    async getStage(name, options) {
      held.check();
      return getStage(run, name, options);
    },
    async hidden(index, options) {
      held.check();
      return hidden(run, index, options);
    },
    async embedding(options) {
      held.check();
      return perText(embeddings(run, options));
    },
    async logits(options) {
      held.check();
      return logits(run, options);
    },
    async nextTokens(k, options) {
      held.check();
      return nextTokens(run, k, options);
    },
    dispose,
    [Symbol.dispose]: dispose,
  };
}
