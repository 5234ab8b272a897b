/** onnxruntime-web, one thread unless said, with the files of make_peer_models.py. It is no dependency: its folder is named. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @typedef {{ data: Float32Array, dims: readonly number[] }} OrtTensor */
/** @typedef {{ [name: string]: OrtTensor }} Outputs */
/** @typedef {{ name: string, run: (ids: number[]) => Promise<Outputs> }} Peer */
/**
 * As much of onnxruntime-web as is called here.
 * @typedef {object} Ort
 * @property {{ wasm: { numThreads: number }, logLevel: string, versions: { web?: string } }} env
 * @property {new (type: string, data: unknown, dims: number[]) => OrtTensor} Tensor
 * @property {{ create: (model: Uint8Array, options: object) => Promise<{ run: (feeds: object) => Promise<Outputs> }> }} InferenceSession
 */

/** @param {string} folder of the package, or one with node_modules @param {number} threads @returns {Promise<Ort>} */
export async function loadOrt(folder, threads) {
  const inModules = join(folder, 'node_modules', 'onnxruntime-web');
  /** @type {Ort} */
  const ort = await import(join(existsSync(inModules) ? inModules : folder, 'dist', 'ort.node.min.mjs'));
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';
  return ort;
}

/** @param {Ort} ort @param {string} folder @param {string} file @returns {Promise<Peer>} */
export async function loadPeer(ort, folder, file) {
  const bytes = await readFile(join(folder, file)).catch(() => {
    throw new Error(`${file} is not in ${folder}; bench/make_peer_models.py makes it`);
  });
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  const whole = (/** @type {number[]} */ ids) =>
    new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
  const same = (/** @type {number[]} */ ids, /** @type {number} */ value) => whole(ids.map(() => value));
  return {
    name: `onnxruntime-web ${ort.env.versions.web ?? ''} ${file.split('.')[1]}`.replace('  ', ' '),
    run: (ids) => session.run({ input_ids: whole(ids), attention_mask: same(ids, 1), token_type_ids: same(ids, 0) }),
  };
}
