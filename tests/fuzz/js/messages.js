/** Messages as JSON, with `{"$": name}` for what JSON cannot say but a message can carry. */
import { readFileSync } from 'node:fs';
import { decoderFiles, letterTokenizer } from '../../api/tiny_decoder.js';
import { tinyFiles } from '../../api/tiny_model.js';

const tokenizer = { 'tokenizer.json': letterTokenizer() };
const module = new WebAssembly.Module(readFileSync(new URL('../../../web/lib/qkv.wasm', import.meta.url)));
/** @type {Record<string, unknown>} */
const cycle = {};
cycle.ids = [cycle];

/** @type {Record<string, () => unknown>} */
const VALUES = {
  module: () => module,
  encoder: () => ({ ...tinyFiles(), ...tokenizer }),
  decoder: () => ({ ...decoderFiles('gpt2'), ...tokenizer }),
  undefined: () => undefined,
  holes: () => new Array(2),
  nan: () => Number.NaN,
  bigint: () => 1n,
  cycle: () => cycle,
  map: () => new Map([['ids', [1]]]),
  bytes: () => Uint8Array.of(1, 0, 1),
  floats: () => Float32Array.of(0.5, -1),
  buffer: () => new ArrayBuffer(8),
  error: () => new TypeError('of the other side'),
};

/** @param {unknown} value @returns {unknown} */
export function revived(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(revived);
  const name = /** @type {Record<string, unknown>} */ (value).$;
  if (typeof name === 'string' && Object.hasOwn(VALUES, name)) return VALUES[name]();
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, revived(one)]));
}
