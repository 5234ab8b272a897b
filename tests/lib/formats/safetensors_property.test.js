import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { readTensors } from '../../../web/lib/formats/safetensors.js';
import { collector, fileOf, streamOf } from './safetensors_file.js';

const SIZES = /** @type {Record<string, number>} */ ({ F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1 });

const tensor = fc.record({
  name: fc.string({ unit: 'grapheme', maxLength: 12 }),
  dtype: fc.constantFrom(...Object.keys(SIZES)),
  shape: fc.array(fc.nat(5), { maxLength: 4 }),
});
const model = fc
  .record({
    tensors: fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 8 }),
    padding: fc.nat(9),
    seed: fc.nat(255),
  })
  .map(({ tensors, padding, seed }) => {
    let end = 0;
    const entries = tensors
      .filter(({ name }) => name !== '__metadata__')
      .map(({ name, dtype, shape }) => {
        const begin = end;
        end += shape.reduce((a, b) => a * b, SIZES[dtype]);
        return /** @type {const} */ ([name, { dtype, shape, data_offsets: [begin, end] }]);
      });
    const data = Uint8Array.from({ length: end }, (_, i) => (i * 31 + seed) & 255);
    const header = `{${entries.map(([name, info]) => `${JSON.stringify(name)}:${JSON.stringify(info)}`)}}`;
    return { bytes: fileOf(header + ' '.repeat(padding), data), entries, data };
  });
const chunkSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const reading = fc.record({ sizes: chunkSizes, knowsSize: fc.boolean() });

/** @param {Uint8Array} bytes @param {{ sizes: number[], knowsSize: boolean }} how @param {number} [rows] */
async function readAll(bytes, how, rows = 1) {
  const { accept, received } = collector(({ dtype, shape }) => Math.max(1, rows * SIZES[dtype] * (shape.at(-1) ?? 1)));
  const readable = await readTensors(streamOf(bytes, how), 'm', (tensors) =>
    accept(tensors.filter((t) => t.dtype in SIZES)),
  );
  return { header: readable, received };
}

test('every valid file gives every tensor its bytes, however it is cut into chunks', () =>
  fc.assert(
    fc.asyncProperty(model, reading, fc.integer({ min: 1, max: 3 }), async ({ bytes, entries, data }, how, rows) => {
      const { header, received } = await readAll(bytes, how, rows);
      assert.equal(header.tensors.length, entries.length);
      for (const [name, { data_offsets: offsets }] of entries) {
        assert.deepEqual(received.get(name), [...data.subarray(offsets[0], offsets[1])]);
      }
    }),
    { seed: 3, numRuns: 400 },
  ));

test('a file cut anywhere, or with bytes behind it, is always refused', () =>
  fc.assert(
    fc.asyncProperty(
      model,
      reading,
      fc.nat(1_000_000),
      fc.integer({ min: 1, max: 9 }),
      async ({ bytes }, how, cut, extra) => {
        const longer = new Uint8Array(bytes.length + extra);
        longer.set(bytes);
        for (const wrong of [bytes.subarray(0, cut % bytes.length), longer]) {
          await assert.rejects(readAll(wrong, how), QkvError);
        }
      },
    ),
    { seed: 4, numRuns: 300 },
  ));

test('changed bytes never hang, crash or depend on chunking: one header or one QkvError', () =>
  fc.assert(
    fc.asyncProperty(
      model,
      reading,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async ({ bytes }, how, changes) => {
        const changed = bytes.slice();
        for (const [at, byte] of changes) changed[at % bytes.length] = byte;
        const outcomes = [];
        for (const one of [how, { sizes: [1 << 16], knowsSize: true }]) {
          try {
            const { header } = await readAll(changed, one);
            outcomes.push({ tensors: header.tensors });
          } catch (error) {
            assert.ok(error instanceof QkvError, String(error));
            outcomes.push('refused');
          }
        }
        assert.deepEqual(outcomes[0], outcomes[1]);
      },
    ),
    { seed: 5, numRuns: 1500 },
  ));
