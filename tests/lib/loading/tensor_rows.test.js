/** Rows of a tensor on their way to slots, with staging buffers of any size. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { rowBytesOf, sinkOf, wantedShape } from '../../../web/lib/loading/tensor_rows.js';

/** @typedef {import('../../../web/lib/loading/tensor_rows.js').Plan} Plan */
/** @typedef {import('../../../web/lib/loading/tensor_rows.js').Staging} Staging */
/** @typedef {import('../../../web/lib/loading/tensor_rows.js').SlotShape} SlotShape */

const ADDRESS = 16;

/**
 * A tensor of the numbers 0, 1, 2 ... in file order.
 * @param {{ rows: number[], cols: number, turns?: number, isTransposed?: boolean, isVector?: boolean, half?: boolean }} shape
 * @returns {Plan}
 */
function planOf({ rows, cols, turns = 1, isTransposed = false, isVector = false, half = false }) {
  const slots = rows.map((count, index) => ({
    name: `slot${index}`,
    index,
    isVector,
    rows: isVector ? 1 : count,
    cols: isVector ? count : cols,
  }));
  const plane = half ? 'f16' : 'f32';
  const shape = wantedShape({ slots, turns, layer: 0, plane, isTransposed });
  const end = shape.reduce((product, size) => product * size, half ? 2 : 4);
  const tensor = { name: 't', dtype: half ? 'F16' : 'F32', shape, begin: 0, end };
  return { tensor, slots, turns, layer: 0, plane, isTransposed };
}

/**
 * Sends the whole tensor through, in commits of the sink's capacity, and returns what each slot got.
 * @param {Plan} plan
 * @param {number} spare rows that the staging buffer holds besides one
 */
function deliver(plan, spare) {
  const isHalf = plan.plane === 'f16';
  const bytes = rowBytesOf(plan) * (1 + spare);
  const memory = new ArrayBuffer(ADDRESS + bytes);
  /** @type {number[][]} */
  const received = plan.slots.map(() => []);
  const core = /** @type {Staging['core']} */ (
    /** @type {unknown} */ ({
      heap: { bytes: (/** @type {number} */ at, /** @type {number} */ count) => new Uint8Array(memory, at, count) },
    })
  );
  const Elements = isHalf ? Uint16Array : Uint32Array;
  /** @type {Staging['load']} */
  const load = (slot, row, rows, address) => {
    assert.ok(rows > 0 && Number.isInteger(rows));
    assert.equal(row * slot.cols, received[slot.index].length, 'rows of a slot come from the first to the last');
    received[slot.index].push(...new Elements(memory, address, rows * slot.cols));
  };
  const sink = sinkOf(plan, { core, address: ADDRESS, bytes, load });
  const total = plan.tensor.end / (isHalf ? 2 : 4);
  const file = new Uint8Array(new Elements([...Array(total).keys()]).buffer);
  for (let at = 0; at < file.length; at += sink.capacity) {
    const part = file.subarray(at, at + sink.capacity);
    sink.view().set(part);
    sink.commit(part.length);
  }
  return received;
}

const shapes = fc.record({
  shares: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
  cols: fc.integer({ min: 1, max: 5 }),
  turns: fc.integer({ min: 1, max: 4 }),
  spare: fc.integer({ min: 0, max: 7 }),
  isTransposed: fc.boolean(),
  half: fc.boolean(),
});

test('every slot gets its rows in order, whatever the staging buffer holds', () => {
  const property = fc.property(shapes, ({ shares, cols, turns, spare, isTransposed, half }) => {
    const rows = shares.map((share) => share * turns);
    const received = deliver(planOf({ rows, cols, turns, isTransposed, half }), spare);
    const shared = rows.reduce((sum, count) => sum + count, 0);
    /** @type {number[][]} */
    const expected = shares.map(() => []);
    for (let row = 0; row < shared; ) {
      for (const [slot, share] of shares.entries()) {
        for (let r = 0; r < share; r++, row++) {
          for (let c = 0; c < cols; c++) expected[slot].push(isTransposed ? c * shared + row : row * cols + c);
        }
      }
    }
    assert.deepEqual(received, expected);
  });
  fc.assert(property, { numRuns: 500 });
});

test('a vector that is shared out reaches each slot as one row', () => {
  assert.deepEqual(deliver(planOf({ rows: [4, 2, 2], cols: 1, turns: 2, isVector: true }), 0), [
    [0, 1, 4, 5],
    [2, 6],
    [3, 7],
  ]);
  assert.deepEqual(deliver(planOf({ rows: [3], cols: 1, isVector: true, half: true }), 0), [[0, 1, 2]]);
});

test('the shape that is wanted tells what is stored how', () => {
  const { slots } = planOf({ rows: [6, 2], cols: 5 });
  const want = (/** @type {string} */ plane, isTransposed = false) =>
    wantedShape({ slots, turns: 1, layer: 0, plane, isTransposed });
  assert.deepEqual([want('f32'), want('f16', true), want('scale'), want('q10_low')], [[8, 5], [5, 8], [8], [8, 2]]);
});
