/** Folders of sentence-transformers as named bytes: those of tests/golden/embedding, and such as the tests spoil. */
import { existsSync, readFileSync } from 'node:fs';
import { inTree } from './golden.js';

/**
 * @typedef {object} EmbeddingCase
 * @property {'bert' | 'llama'} model of tests/golden/tiny
 * @property {number} maxTokens
 * @property {{ [file: string]: unknown }} files
 * @property {{ normalize?: boolean, prompt?: string, prompt_name?: string }[]} calls
 */
/** @typedef {{ [name: string]: Uint8Array }} Files */

const FOLDER = inTree('tests/golden/embedding');
/** @type {{ texts: string[], minilm: string[], cases: { [name: string]: EmbeddingCase } }} */
export const GOLDEN = JSON.parse(readFileSync(`${FOLDER}/index.json`, 'utf8'));
export const VECTORS = `${FOLDER}/vectors.safetensors`;

/** @param {unknown} value */
export const jsonBytes = (value) => new TextEncoder().encode(JSON.stringify(value));

/**
 * A case of the golden, with some files changed; undefined takes one away.
 * @param {string} name
 * @param {{ [file: string]: unknown }} [changes] JSON, or bytes as they are
 * @returns {Files}
 */
export function caseFiles(name, changes = {}) {
  const { model, files } = GOLDEN.cases[name];
  /** @type {{ [file: string]: unknown }} */
  const all = {
    'config.json': readFileSync(inTree(`tests/golden/tiny/${model}/config.json`)),
    'model.safetensors': readFileSync(inTree(`tests/golden/tiny/${model}/model.safetensors`)),
    'tokenizer.json': readFileSync(`${FOLDER}/${model}.tokenizer.json`),
    ...files,
  };
  for (const file of Object.keys(files)) {
    const folder = file.split('/')[0];
    const weights = `${FOLDER}/${name}.${folder}.safetensors`;
    if (folder !== file && existsSync(weights)) all[`${folder}/model.safetensors`] = readFileSync(weights);
  }
  const entries = Object.entries({ ...all, ...changes }).filter(([, content]) => content !== undefined);
  return Object.fromEntries(
    entries.map(([file, content]) => [file, content instanceof Uint8Array ? content : jsonBytes(content)]),
  );
}
