/** A tiny random BERT as named bytes, for tests that need a model but not a particular one. */
import { readFileSync } from 'node:fs';
import { inTree, readSafetensors, tensorOf } from './golden.js';

const FOLDER = inTree('tests/golden/tiny/bert');

/** @returns {{ [name: string]: Uint8Array }} */
export const tinyFiles = () => ({
  'config.json': readFileSync(`${FOLDER}/config.json`),
  'model.safetensors': readFileSync(`${FOLDER}/model.safetensors`),
});

export const TINY_FOLDER = FOLDER;
export const TINY = { vocab: 73, width: 25, layers: 2, heads: 5, positions: 83 };

/**
 * The linear maps of a layer, for attention_f64.js.
 * @param {string} path of a safetensors file in float32
 * @param {number} layer
 */
export function mapsOf(path, layer) {
  const tensors = readSafetensors(path);
  const map = (/** @type {string} */ name) => {
    const full = `encoder.layer.${layer}.attention.${name}`;
    return { weight: tensorOf(tensors, `${full}.weight`).data, bias: tensorOf(tensors, `${full}.bias`).data };
  };
  return { q: map('self.query'), k: map('self.key'), v: map('self.value'), o: map('output.dense') };
}

/**
 * config.json with some keys changed; undefined removes one.
 * @param {Record<string, unknown>} changes
 */
export function tinyConfig(changes) {
  const config = JSON.parse(readFileSync(`${FOLDER}/config.json`, 'utf8'));
  return new TextEncoder().encode(JSON.stringify({ ...config, ...changes }));
}
