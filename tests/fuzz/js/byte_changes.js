/** Changes of bytes that know what readers of binary files trip over: lengths that lie, parts cut out, doubled or moved. */
import fc from 'fast-check';

/** @typedef {{ kind: number, at: number, to: number, length: number, number: bigint }} ByteChange */

const NUMBERS = [0n, 1n, 2n, 3n, 7n, 8n, 31n, 32n, 64n, 127n, 128n, 255n, 256n, 65_535n, 65_536n, 2n ** 24n, 2n ** 31n];
const LARGE = [
  2n ** 31n - 1n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 40n,
  2n ** 53n,
  2n ** 61n,
  2n ** 62n,
  2n ** 63n,
  2n ** 64n - 1n,
];

/** @type {fc.Arbitrary<ByteChange>} */
const change = fc.record({
  kind: fc.nat(9),
  at: fc.oneof(
    { weight: 2, arbitrary: fc.nat(64) },
    { weight: 5, arbitrary: fc.nat(3000) },
    { weight: 1, arbitrary: fc.nat() },
  ),
  to: fc.nat(),
  length: fc.oneof({ weight: 6, arbitrary: fc.nat(24) }, { weight: 1, arbitrary: fc.nat(2000) }),
  number: fc.oneof(fc.constantFrom(...NUMBERS, ...LARGE), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
});
export const byteChanges = fc.oneof(
  { weight: 6, arbitrary: fc.array(change, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(change, { minLength: 4, maxLength: 20 }) },
);

/** @param {Uint8Array[]} parts @returns {Uint8Array} */
const joined = (...parts) => new Uint8Array(Buffer.concat(parts));

/**
 * @param {Uint8Array} bytes
 * @param {ByteChange} how
 * @param {Uint8Array} other whose parts may be put in
 * @returns {Uint8Array}
 */
function changedOnce(bytes, { kind, at: far, to, length, number }, other) {
  const at = far % (bytes.length + 1);
  const end = Math.min(bytes.length, at + length);
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setBigUint64(0, number, true);
  const changed = bytes.slice();
  switch (kind) {
    case 0:
      changed[at % Math.max(1, bytes.length)] ^= 1 << (to & 7);
      return changed;
    case 1:
      changed[at % Math.max(1, bytes.length)] = to & 255;
      return changed;
    case 2:
      return joined(bytes.subarray(0, at), bytes.subarray(end));
    case 3:
      return joined(bytes.subarray(0, end), bytes.subarray(at, end), bytes.subarray(end));
    case 4:
      return bytes.slice(0, at);
    case 5:
      return joined(
        bytes.subarray(0, at),
        other.subarray(to % (other.length + 1), (to % (other.length + 1)) + length),
        bytes.subarray(at),
      );
    case 6:
      return joined(bytes.subarray(0, at), new Uint8Array(length).fill(to & 255), bytes.subarray(end));
    default: {
      const size = [1, 2, 4, 8][to & 3];
      changed.set(eight.subarray(0, Math.max(0, Math.min(size, changed.length - at))), at);
      return changed;
    }
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {ByteChange[]} changes
 * @param {Uint8Array} other
 */
export const changeBytes = (bytes, changes, other) => changes.reduce((so, how) => changedOnce(so, how, other), bytes);
