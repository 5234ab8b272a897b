/** safetensors files, however they come in chunks: every tensor its bytes, or one error. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { READABLE, readTensors } from '../../../web/lib/formats/safetensors.js';
import { collector, entry, fileOf, streamOf } from '../../lib/formats/safetensors_file.js';
import { anyOf, changedBytes, jsonValueOf, readings } from './inputs.js';
import { changeTree, nearlyJson, textOf, treeChanges, treeOf } from './json_tree.js';

/** @typedef {import('../../../web/lib/formats/safetensors.js').Header} Header */

const BITS = { F4: 4, F6_E2M3: 6, U8: 8, I8: 8, BOOL: 8, F16: 16, BF16: 16, F32: 32, C64: 64 };
const ROW = 64;

const SEEDS = [
  fileOf({}),
  fileOf({ __metadata__: { format: 'pt' }, a: entry([2, 3], 0, 24), b: entry([4], 24, 32, 'BF16') }, 32),
  fileOf(
    { s: entry([], 0, 4), z: entry([0, 5], 4, 4), q: entry([3, 2], 4, 10, 'I8'), 'q.scale': entry([3], 10, 22) },
    22,
  ),
  fileOf({ odd: entry([4], 0, 2, 'F4'), six: entry([4], 2, 5, 'F6_E2M3'), c: entry([1], 5, 13, 'C64') }, 13),
];

/** @param {Uint8Array} bytes @returns {{ header: string, data: Uint8Array } | null} */
function split(bytes) {
  if (bytes.length < 8) return null;
  const length = Number(Buffer.from(bytes.buffer, bytes.byteOffset, 8).readBigUInt64LE());
  if (length > bytes.length - 8) return null;
  return { header: new TextDecoder().decode(bytes.subarray(8, 8 + length)), data: bytes.subarray(8 + length) };
}

/** The header changed, its length right again. @param {readonly Uint8Array[]} pool @returns {fc.Arbitrary<Uint8Array>} */
const changedHeader = (pool) =>
  fc.tuple(anyOf(pool), treeChanges, fc.integer({ min: -3, max: 9 })).map(([bytes, changes, padding]) => {
    const parts = split(bytes);
    const value = parts && jsonValueOf(new TextEncoder().encode(parts.header));
    if (parts === null || value === undefined) return bytes;
    return fileOf(textOf(changeTree(treeOf(value), changes)) + ' '.repeat(Math.max(0, padding)), parts.data);
  });

/** Files of tensors that follow each other, some of them by other sizes than their bytes. */
const tensor = fc.record({
  name: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.constantFrom('__proto__', '__metadata__', 'a', 'b', ''),
  ),
  dtype: fc.constantFrom(.../** @type {(keyof typeof BITS)[]} */ (Object.keys(BITS))),
  shape: fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat() }), { maxLength: 5 }),
  lie: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: -9, max: 9 }) }),
});
const made = fc
  .tuple(fc.array(tensor, { maxLength: 6 }), fc.integer({ min: -2, max: 2 }), fc.boolean())
  .map(([tensors, more, exact]) => {
    let end = 0;
    const entries = tensors.map(({ name, dtype, shape, lie }) => {
      const begin = end;
      end += Math.max(0, Math.floor(shape.reduce((a, b) => a * b, BITS[dtype]) / 8) + lie);
      return `${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`;
    });
    return fileOf(`{${entries}}`, Math.max(0, Math.min(2_000, end) + (exact ? 0 : more)));
  });

/** @param {Uint8Array} bytes @param {{ sizes: number[], knowsSize: boolean }} how */
async function readAll(bytes, how) {
  const { accept, received } = collector(({ shape }) => Math.max(1, Math.min(ROW, 4 * (shape.at(-1) ?? 1))));
  const wanted = how.sizes[0] % 5 === 0 ? null : READABLE;
  const header = await readTensors(streamOf(bytes, how), 'm', (all) =>
    accept(all.filter(({ dtype }) => wanted?.includes(dtype) ?? true)),
  );
  return { header, received };
}

/** @param {Uint8Array} bytes @param {Header} header @param {Map<string, number[]>} received */
function checkAll(bytes, { tensors }, received) {
  const dataStart = bytes.length - (tensors.at(-1)?.end ?? 0);
  let at = 0;
  for (const { name, begin, end } of tensors) {
    assert.equal(begin, at);
    at = end;
    const got = received.get(name);
    if (got) assert.deepEqual(got, [...bytes.subarray(dataStart + begin, dataStart + end)]);
  }
  assert.equal(new Set(tensors.map(({ name }) => name)).size, tensors.length);
}

/** @type {import('./inputs.js').Target} */
export const safetensors = {
  name: 'safetensors',
  isJson: false,
  seeds: SEEDS,
  inputs: (pool) =>
    fc.oneof(
      { weight: 4, arbitrary: changedHeader(pool) },
      { weight: 3, arbitrary: changedBytes(pool) },
      { weight: 3, arbitrary: made },
      { weight: 1, arbitrary: nearlyJson.map((text) => fileOf(text)) },
    ),
  async check(bytes) {
    /** @type {(QkvError | Header)[]} */
    const outcomes = [];
    for (const how of readings(bytes)) {
      try {
        const { header, received } = await readAll(bytes, how);
        checkAll(bytes, header, received);
        outcomes.push(header);
      } catch (error) {
        if (!(error instanceof QkvError)) throw error;
        outcomes.push(error);
      }
    }
    const [whole, cut] = outcomes;
    // Of a tensor that is wanted in one of the readings only, the type may be refused there.
    const isAsked = [whole, cut].some((one) => one instanceof QkvError && one.code === 'unsupported');
    if (!isAsked) assert.equal(whole instanceof QkvError, cut instanceof QkvError, `${whole} and ${cut}`);
    if (whole instanceof QkvError) throw whole;
    if (cut instanceof QkvError) throw cut;
    assert.deepEqual(cut.tensors, whole.tensors);
    const kinds = [...new Set(whole.tensors.map(({ dtype }) => dtype))].sort();
    return `${kinds.join(' ')} ${whole.metadata.size > 0}`;
  },
};
