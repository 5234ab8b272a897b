/** The one file that touches memory.buffer. memory.grow detaches every view, so nothing here hands out a view that
 * outlives the next call: read* copy out, write* copy in, and `bytes` is for filling at once. Offsets arrive from wasm
 * as signed 32-bit numbers; `>>> 0` makes addresses above 2 GiB positive. */

/** @typedef {ReturnType<typeof createHeap>} Heap */

/** @param {WebAssembly.Memory} memory */
export function createHeap(memory) {
  return {
    /** Bytes of linear memory; it never shrinks. */
    size: () => memory.buffer.byteLength,

    /**
     * A view to be filled or read before the next call into wasm.
     * @param {number} offset
     * @param {number} length
     */
    bytes: (offset, length) => new Uint8Array(memory.buffer, offset >>> 0, length),

    /**
     * For structs, under the same rule.
     * @param {number} offset
     * @param {number} length
     */
    view: (offset, length) => new DataView(memory.buffer, offset >>> 0, length),

    /**
     * @param {number} offset
     * @param {ArrayLike<number>} values
     */
    writeInt32: (offset, values) => new Int32Array(memory.buffer, offset >>> 0, values.length).set(values),

    /**
     * @param {number} offset
     * @param {ArrayLike<number>} values
     */
    writeFloat32: (offset, values) => new Float32Array(memory.buffer, offset >>> 0, values.length).set(values),

    /**
     * @param {number} offset
     * @param {ArrayLike<number>} values
     */
    writeBytes: (offset, values) => new Uint8Array(memory.buffer, offset >>> 0, values.length).set(values),

    /**
     * @param {number} offset
     * @param {number} count
     */
    readInt32: (offset, count) => new Int32Array(memory.buffer, offset >>> 0, count).slice(),

    /**
     * @param {number} offset
     * @param {number} count
     */
    readFloat32: (offset, count) => new Float32Array(memory.buffer, offset >>> 0, count).slice(),

    /** @param {number} offset */
    readFloat64: (offset) => new DataView(memory.buffer).getFloat64(offset >>> 0, true),

    /**
     * NUL-terminated ASCII.
     * @param {number} offset
     */
    readText(offset) {
      const all = new Uint8Array(memory.buffer);
      const start = offset >>> 0;
      const end = all.indexOf(0, start);
      // A copy: TextDecoder refuses views of a shared or resizable buffer.
      return new TextDecoder().decode(all.slice(start, end < 0 ? start : end));
    },
  };
}
