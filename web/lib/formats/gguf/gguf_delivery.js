/**
 * The data of a GGUF file into sinks, in the order of the file. Rows that transformers has in another order are put back into
 * that order group by group (a head of Q or K), so nothing behind this file knows of it.
 */

/** @typedef {import('../safetensors.js').Sink} Sink */
/**
 * Row r of a group is row from(r) of that group in the file.
 * @typedef {{ rows: number, from: (row: number) => number }} RowOrder
 */
/**
 * @typedef {object} Delivered
 * @property {number} begin offset in the data; what lies between two tensors is padding
 * @property {number} end
 * @property {number} unit bytes of one row
 * @property {RowOrder | null} order
 * @property {Sink | undefined} sink without one the tensor is skipped
 */

export class GgufDelivery {
  /** @param {Delivered[]} tensors in the order of their bytes @param {number} position of the first byte pushed; negative: padding */
  constructor(tensors, position) {
    this.tensors = tensors;
    this.position = position;
    this.index = 0;
    /** Bytes that the current sink holds without having been told. */
    this.filled = 0;
    /** @type {Uint8Array} a group of rows that is not complete */
    this.group = new Uint8Array(0);
    this.grouped = 0;
  }

  /** @param {Uint8Array} bytes that follow what was pushed before */
  push(bytes) {
    let at = 0;
    while (this.index < this.tensors.length) {
      const tensor = this.tensors[this.index];
      const isPadding = this.position < tensor.begin;
      const count = Math.min(bytes.length - at, (isPadding ? tensor.begin : tensor.end) - this.position);
      if (count === 0) return;
      if (!isPadding) this.take(tensor, bytes.subarray(at, at + count));
      at += count;
      this.position += count;
      if (this.position === tensor.end) this.finish(tensor);
    }
    this.position += bytes.length - at;
  }

  /** @param {Delivered} tensor @param {Uint8Array} bytes */
  take({ sink, order, unit }, bytes) {
    if (sink === undefined) return;
    if (order === null) {
      this.fill(sink, bytes);
      return;
    }
    const size = order.rows * unit;
    if (this.group.length !== size) this.group = new Uint8Array(size);
    for (let at = 0; at < bytes.length; ) {
      const count = Math.min(bytes.length - at, size - this.grouped);
      this.group.set(bytes.subarray(at, at + count), this.grouped);
      at += count;
      this.grouped += count;
      if (this.grouped < size) return;
      this.grouped = 0;
      for (let row = 0; row < order.rows; row++) {
        const from = order.from(row) * unit;
        this.fill(sink, this.group.subarray(from, from + unit));
      }
    }
  }

  /** @param {Sink} sink @param {Uint8Array} bytes */
  fill(sink, bytes) {
    for (let at = 0; at < bytes.length; ) {
      const count = Math.min(bytes.length - at, sink.capacity - this.filled);
      sink.view().set(bytes.subarray(at, at + count), this.filled);
      at += count;
      this.filled += count;
      if (this.filled === sink.capacity) this.commit(sink);
    }
  }

  /** @param {Sink} sink */
  commit(sink) {
    const count = this.filled;
    this.filled = 0;
    sink.commit(count);
  }

  /** @param {Delivered} tensor */
  finish({ sink }) {
    if (sink !== undefined && this.filled > 0) this.commit(sink);
    this.index++;
    this.group = new Uint8Array(0);
  }
}
