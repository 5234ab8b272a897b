/** onnxruntime-web with one thread and the files of make_peer_models.py. It is no dependency: its folder is named. */
import { bytesOf, isPage, isThere } from './runtime.js';

/** @typedef {{ data: Float32Array, dims: readonly number[] }} OrtTensor */
/** @typedef {{ [name: string]: OrtTensor }} Outputs */
/** @typedef {{ name: string, kind: string, run: (ids: number[]) => Promise<Outputs> }} Peer kind: f32 or q8 */
/**
 * As much of onnxruntime-web as is called here.
 * @typedef {object} Ort
 * @property {{ wasm: { numThreads: number }, logLevel: string, versions: { web?: string } }} env
 * @property {new (type: string, data: unknown, dims: number[]) => OrtTensor} Tensor
 * @property {{ create: (model: Uint8Array, options: object) => Promise<{ run: (feeds: object) => Promise<Outputs> }> }} InferenceSession
 */

/** @param {string} folder of the package, or one with node_modules @returns {Promise<string | null>} null: it is not there */
export async function ortFile(folder) {
  const file = isPage ? 'dist/ort.wasm.min.mjs' : 'dist/ort.node.min.mjs';
  for (const path of [`${folder}/node_modules/onnxruntime-web/${file}`, `${folder}/${file}`]) {
    if (await isThere(path)) return path;
  }
  return null;
}

/** @param {string} folder as of ortFile @returns {Promise<Ort>} */
export async function loadOrt(folder) {
  const file = await ortFile(folder);
  if (file === null) throw new Error(`There is no onnxruntime-web in ${folder}`);
  /** @type {Ort} */
  const ort = await import(file);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  return ort;
}

/** @param {Ort} ort @param {string} folder @param {string} file @returns {Promise<Peer>} */
export async function loadPeer(ort, folder, file) {
  const bytes = await bytesOf(`${folder}/${file}`).catch(() => {
    throw new Error(`${file} is not in ${folder}; bench/make_peer_models.py makes it`);
  });
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] });
  const whole = (/** @type {number[]} */ ids) =>
    new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
  const same = (/** @type {number[]} */ ids, /** @type {number} */ value) => whole(ids.map(() => value));
  const kind = file.split('.')[1];
  return {
    name: ['onnxruntime-web', ort.env.versions.web, `${kind}, one thread`].filter(Boolean).join(' '),
    kind,
    run: (ids) => session.run({ input_ids: whole(ids), attention_mask: same(ids, 1), token_type_ids: same(ids, 0) }),
  };
}
