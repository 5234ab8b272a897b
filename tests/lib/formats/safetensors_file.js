/** Makes safetensors files, good ones and broken ones, and streams of them in chunks of any sizes. */

/** @typedef {import('../../../web/lib/formats/safetensors.js').Sink} Sink */
/** @typedef {import('../../../web/lib/formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {{ dtype: string, shape: number[], data_offsets: number[] }} Entry */

const encoder = new TextEncoder();

/** @param {string | Uint8Array} part @returns {Uint8Array} */
const toBytes = (part) => (typeof part === 'string' ? encoder.encode(part) : part);

/** @param {(string | Uint8Array)[]} parts @returns {Uint8Array} */
export function join(...parts) {
  return new Uint8Array(Buffer.concat(parts.map(toBytes)));
}

/** @param {bigint | number} length @returns {Uint8Array} */
export function lengthBytes(length) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  return bytes;
}

/** @param {object | string | Uint8Array} header object, or the very text @param {Uint8Array | number} [data] or its size */
export function fileOf(header, data = 0) {
  const isRaw = typeof header === 'string' || header instanceof Uint8Array;
  const head = toBytes(isRaw ? header : JSON.stringify(header));
  const body = typeof data === 'number' ? Uint8Array.from({ length: data }, (_, i) => i) : data;
  return join(lengthBytes(head.length), head, body);
}

/** @param {number[]} shape @param {number} begin @param {number} end @param {string} [dtype] @returns {Entry} */
export const entry = (shape, begin, end, dtype = 'F32') => ({ dtype, shape, data_offsets: [begin, end] });

/**
 * @param {Uint8Array} bytes
 * @param {{ sizes?: number[], knowsSize?: boolean }} [options] sizes of the chunks, used over and over
 */
export function streamOf(bytes, { sizes = [bytes.length || 1], knowsSize = true } = {}) {
  async function* chunks() {
    // One buffer for all chunks, as the folder source has it: who keeps a chunk reads the wrong bytes.
    const buffer = new Uint8Array(Math.max(...sizes));
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const part = bytes.subarray(at, at + sizes[turn % sizes.length]);
      buffer.fill(0xee);
      buffer.set(part);
      yield buffer.subarray(0, part.length);
      at += part.length;
    }
  }
  return { size: knowsSize ? bytes.length : null, chunks: chunks() };
}

/**
 * Sinks for all tensors, and what came through them.
 * @param {(tensor: TensorInfo) => number} capacityOf
 */
export function collector(capacityOf = () => 64) {
  /** @type {Map<string, number[]>} */
  const received = new Map();
  /** @param {TensorInfo[]} tensors @returns {Map<string, Sink>} */
  const accept = (tensors) => new Map(tensors.map((tensor) => [tensor.name, sinkFor(tensor)]));
  /** @param {TensorInfo} tensor @returns {Sink} */
  const sinkFor = (tensor) => {
    /** @type {number[]} */
    const bytes = [];
    received.set(tensor.name, bytes);
    const capacity = capacityOf(tensor);
    let memory = new Uint8Array(capacity);
    return {
      capacity,
      view() {
        memory = memory.slice(); // moves every time, as wasm memory may
        return memory;
      },
      commit(count) {
        bytes.push(...memory.subarray(0, count));
      },
    };
  };
  return { accept, received };
}
