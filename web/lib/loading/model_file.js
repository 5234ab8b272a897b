/** A model as one GGUF file has it, with the same face as a folder. */

import { openGguf } from '../formats/gguf/gguf.js';

/** @typedef {import('./model_folder.js').ModelFiles} ModelFiles */
/** @typedef {import('../sources/source.js').Source} Source */

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
    tokenizer: async () => tokenizer,
    generation: async () => null,
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
