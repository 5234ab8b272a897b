/**
 * The beginning of a GGUF file as it arrives: little-endian numbers and strings, read in order, never more than is there.
 * Readers are generators: where bytes are missing they yield until the owner has appended more.
 */
import { QkvError } from '../../checks/errors.js';

/** @template T @typedef {Generator<void, T, void>} Reading yields while it waits for bytes */

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class GgufBytes {
  /** @param {string} label of the file @param {number | null} size of the file, null if not known @param {number} limit */
  constructor(label, size, limit) {
    this.label = label;
    this.size = size;
    this.limit = limit;
    this.bytes = new Uint8Array(0);
    this.view = new DataView(this.bytes.buffer);
    this.at = 0;
    /** Offset in the file of bytes[0]. */
    this.start = 0;
    this.missing = 0;
    /** @type {Uint8Array[]} chunks that came since bytes were missing */
    this.waiting = [];
    this.waitingBytes = 0;
  }

  /** Offset in the file of the next byte to be read. */
  get position() {
    return this.start + this.at;
  }

  /** @param {Uint8Array} chunk copied */
  append(chunk) {
    this.waiting.push(chunk.slice());
    this.waitingBytes += chunk.length;
    if (this.waitingBytes < this.missing) return;
    const rest = this.bytes.subarray(this.at);
    const joined = new Uint8Array(rest.length + this.waitingBytes);
    joined.set(rest);
    let end = rest.length;
    for (const part of this.waiting) {
      joined.set(part, end);
      end += part.length;
    }
    this.start += this.at;
    this.at = 0;
    this.bytes = joined;
    this.view = new DataView(joined.buffer);
    this.waiting = [];
    this.waitingBytes = 0;
    this.missing = 0;
  }

  /** Waits until that many bytes are there. @param {number} count @param {string} what @returns {Reading<void>} */
  *need(count, what) {
    if (this.bytes.length - this.at >= count) return;
    const end = this.position + count;
    if (this.size !== null && end > this.size) throw this.cutShort(what, count);
    if (end > this.limit) {
      throw new QkvError('format', `${this.label}: ${what} ends at byte`, { got: end, want: `at most ${this.limit}` });
    }
    this.missing = count - (this.bytes.length - this.at);
    while (this.missing > 0) yield;
  }

  /** @param {string} what @param {number} [count] bytes it needs @returns {QkvError} */
  cutShort(what, count) {
    const got = this.size === null ? this.position + this.waitingBytes : Math.max(0, this.size - this.position);
    const want = count === undefined ? 'more' : count;
    const details = this.size === null ? { got } : { got, want };
    return new QkvError('format', `${this.label} is cut short; bytes ${this.size === null ? '' : 'left '}for ${what}`, {
      ...details,
      fix: 'Download it again.',
    });
  }

  /** @param {string} what @returns {Reading<number>} */
  *u32(what) {
    yield* this.need(4, what);
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  /**
   * A count, size or offset.
   * @param {string} what
   * @param {number} least
   * @param {number} most below 2^53, so that a value that is not exact is refused
   * @returns {Reading<number>}
   */
  *u64(what, least, most) {
    yield* this.need(8, what);
    const value = this.view.getUint32(this.at + 4, true) * 2 ** 32 + this.view.getUint32(this.at, true);
    this.at += 8;
    if (value >= least && value <= most) return value;
    const exact = this.view.getBigUint64(this.at - 8, true);
    const got = value > Number.MAX_SAFE_INTEGER ? String(exact) : value;
    throw new QkvError('format', `${this.label}: ${what}`, { got, want: `${least} to ${most}` });
  }

  /** @param {string} what @param {number} longest in bytes @returns {Reading<string>} */
  *string(what, longest) {
    const length = yield* this.u64(`length of ${what}`, 0, longest);
    yield* this.need(length, what);
    return this.text(length, what);
  }

  /** Bytes that are there already. @param {number} length @param {string} what @returns {string} */
  text(length, what) {
    const bytes = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    try {
      return DECODER.decode(bytes);
    } catch (cause) {
      throw new QkvError('format', `${this.label}: ${what}`, { got: 'bytes that are not UTF-8', want: 'text', cause });
    }
  }

  /** A copy. @param {number} length @param {string} what @returns {Reading<Uint8Array<ArrayBuffer>>} */
  *copy(length, what) {
    yield* this.need(length, what);
    this.at += length;
    return this.bytes.slice(this.at - length, this.at);
  }
}
