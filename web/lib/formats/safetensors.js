/**
 * safetensors: eight bytes with the header's length, a JSON header, then the tensors' bytes without gaps.
 *
 * Everything is checked before the first byte of a tensor is handed on, as strictly as the reference (safetensors,
 * tensor.rs) does it: no overlaps, no holes, nothing behind the last tensor, sizes that agree with shapes, no key twice.
 * Spaces before the header's "{" are accepted as the reference does, though the format's text forbids them.
 * The file streams: bytes go from the chunk that brought them straight into the caller's memory.
 */
import { QkvError, throwIfAborted } from '../checks/errors.js';
import { isObject, parseJson } from './json.js';
import { sniff } from './sniff.js';

/** @typedef {import('./json.js').JsonValue} JsonValue */
/** @typedef {import('./json.js').JsonObject} JsonObject */

/**
 * @typedef {object} TensorInfo
 * @property {string} name
 * @property {string} dtype
 * @property {number[]} shape
 * @property {number} begin offset of its first byte after the header
 * @property {number} end
 */
/** @typedef {{ metadata: Map<string, string>, tensors: TensorInfo[] }} Header tensors in the order of their bytes */

/**
 * Where the bytes of one tensor go. The reader fills view() from its start and calls commit when `capacity` bytes are
 * there or the tensor ends; then it starts again at the front of view().
 * @typedef {object} Sink
 * @property {number} capacity in bytes; whole rows, so that whole rows arrive
 * @property {() => Uint8Array} view asked again for every piece, since memory may have moved; `capacity` bytes or more
 * @property {(byteCount: number) => void} commit
 */

/** @typedef {Map<string, Sink>} Sinks by tensor name; a tensor without one is skipped */
/** @typedef {(tensors: TensorInfo[], fileSize: number) => Sinks | Promise<Sinks>} Accept fileSize: what the header calls for */
/**
 * @typedef {object} ByteStream
 * @property {number | null} size bytes of the whole file, null where that is not certain
 * @property {AsyncIterable<Uint8Array>} chunks each used before the next is asked for
 */

const LENGTH_BYTES = 8;
const MAX_HEADER = 100_000_000;
/** Some 100,000 tensors; the largest published models have a tenth of that. */
const MAX_VALUES = 1_000_000;
const MAX_NAME_SHOWN = 80;

/** Bits of one element, for every type of the format. */
const BITS = new Map([
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ...['BOOL', 'U8', 'I8', 'F8_E5M2', 'F8_E4M3', 'F8_E8M0', 'F8_E4M3FNUZ', 'F8_E5M2FNUZ'].map((t) => pair(t, 8)),
  ...['I16', 'U16', 'F16', 'BF16'].map((t) => pair(t, 16)),
  ...['I32', 'U32', 'F32'].map((t) => pair(t, 32)),
  ...['C64', 'F64', 'I64', 'U64'].map((t) => pair(t, 64)),
]);
/** The types that tensors may have which are wanted; others may stand in the file and are skipped. */
export const READABLE = Object.freeze(['F32', 'F16', 'BF16', 'I8', 'U8']);

/** @param {string} type @param {number} bits @returns {[string, number]} */
function pair(type, bits) {
  return [type, bits];
}

/** @param {string} file @param {string} name @returns {string} for the start of a message */
function tensorAt(file, name) {
  const short = name.length > MAX_NAME_SHOWN ? `${name.slice(0, MAX_NAME_SHOWN)}…` : name;
  return `${file}: tensor ${JSON.stringify(short)}`;
}

/**
 * The header's length from the first eight bytes, which is also where a file that is something else shows itself.
 * @param {Uint8Array} start the first bytes of the file, eight or more
 * @param {string} file
 * @param {number | null} size of the file
 * @returns {number}
 */
export function headerLength(start, file, size) {
  if (start.length < LENGTH_BYTES) throw tooShort(file, start);
  const view = new DataView(start.buffer, start.byteOffset, LENGTH_BYTES);
  const length = view.getBigUint64(0, true);
  const isTooLong = length > BigInt(MAX_HEADER);
  const isCut = size !== null && LENGTH_BYTES + Number(length) > size;
  if (length > 0n && !isTooLong && !isCut) return Number(length);
  const kind = sniff(start);
  if (kind !== null) throw new QkvError('format', `${file} is not a safetensors file: it is ${kind}`);
  if (isCut && !isTooLong) throw cutShort(file, 'bytes of the header', size - LENGTH_BYTES, Number(length));
  const want = `2 to ${MAX_HEADER}`;
  const got = length > Number.MAX_SAFE_INTEGER ? String(length) : Number(length);
  throw new QkvError('format', `${file}: length of the safetensors header`, { got, want });
}

/** @param {string} file @param {Uint8Array} start @returns {QkvError} */
function tooShort(file, start) {
  const kind = sniff(start);
  if (kind !== null) return new QkvError('format', `${file} is not a safetensors file: it is ${kind}`);
  return cutShort(file, 'bytes before the header', start.length, LENGTH_BYTES);
}

/** @param {string} file @param {string} what @param {number} got @param {number} want @returns {QkvError} */
function cutShort(file, what, got, want) {
  return new QkvError('format', `${file} is cut short; ${what}`, { got, want, fix: 'Download it again.' });
}

/**
 * @param {Uint8Array} bytes the JSON header alone
 * @param {string} file
 * @param {number | null} dataSize bytes after the header, null if not known
 * @returns {Header}
 */
export function parseHeader(bytes, file, dataSize) {
  const limits = { numbers: /** @type {const} */ ('unsigned'), maxBytes: MAX_HEADER, maxValues: MAX_VALUES };
  const root = parseJson(bytes, `${file}: header`, limits);
  const metadata = readMetadata(root.__metadata__ ?? null, file);
  /** @type {TensorInfo[]} */
  const tensors = [];
  for (const [name, value] of Object.entries(root)) {
    if (name !== '__metadata__') tensors.push(readInfo(name, value, file));
  }
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  checkLayout(tensors, file, dataSize);
  return { metadata, tensors };
}

/** @param {JsonValue | undefined} value @param {string} what @returns {JsonObject} */
function asObject(value, what) {
  if (isObject(value)) return value;
  throw new QkvError('format', what, { got: value === undefined ? 'nothing' : value, want: 'an object' });
}

/** @param {JsonValue} value @param {string} file @returns {Map<string, string>} */
function readMetadata(value, file) {
  /** @type {Map<string, string>} */
  const metadata = new Map();
  if (value === null) return metadata;
  for (const [key, text] of Object.entries(asObject(value, `${file}: __metadata__`))) {
    if (typeof text !== 'string') {
      throw new QkvError('format', `${file}: __metadata__[${JSON.stringify(key)}]`, { got: text, want: 'a string' });
    }
    metadata.set(key, text);
  }
  return metadata;
}

/** @param {string} name @param {JsonValue} value @param {string} file @returns {TensorInfo} */
function readInfo(name, value, file) {
  const what = tensorAt(file, name);
  const { dtype, shape, data_offsets: offsets } = asObject(value, what);
  const bits = typeof dtype === 'string' ? BITS.get(dtype) : undefined;
  if (typeof dtype !== 'string' || bits === undefined) {
    throw new QkvError('format', `${what}: dtype`, { got: dtype ?? 'nothing', want: 'a type such as F32 or BF16' });
  }
  if (!isNumbers(shape))
    throw new QkvError('format', `${what}: shape`, { got: shape ?? 'nothing', want: 'a list of numbers' });
  if (!isNumbers(offsets) || offsets.length !== 2 || offsets[1] < offsets[0]) {
    throw new QkvError('format', `${what}: data_offsets`, {
      got: offsets ?? 'nothing',
      want: '[begin, end], begin <= end',
    });
  }
  const [begin, end] = offsets;
  const bytes = byteCount(shape, bits, what);
  if (end - begin !== bytes) {
    throw new QkvError('format', `${what}: bytes for ${dtype} ${JSON.stringify(shape)}`, {
      got: end - begin,
      want: bytes,
    });
  }
  return { name, dtype, shape, begin, end };
}

/** @param {JsonValue | undefined} value @returns {value is number[]} */
function isNumbers(value) {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'number');
}

/** @param {number[]} shape @param {number} bits @param {string} what @returns {number} */
function byteCount(shape, bits, what) {
  const total = shape.reduce((product, size) => checkedProduct(product, size, shape, what), bits);
  if (total % 8 === 0) return total / 8;
  throw new QkvError('format', `${what}: size in bits`, { got: total, want: 'a multiple of 8' });
}

/** @param {number} a @param {number} b @param {number[]} shape @param {string} what @returns {number} */
function checkedProduct(a, b, shape, what) {
  if (Number.isSafeInteger(a * b)) return a * b;
  throw new QkvError('format', `${what}: shape`, { got: shape, want: 'fewer elements than 2^53 bits can hold' });
}

/** @param {TensorInfo[]} tensors sorted @param {string} file @param {number | null} dataSize */
function checkLayout(tensors, file, dataSize) {
  let end = 0;
  for (const tensor of tensors) {
    if (tensor.begin !== end) {
      const what = `${tensorAt(file, tensor.name)}: first byte`;
      throw new QkvError('format', what, { got: tensor.begin, want: `${end}, where the tensor before it ends` });
    }
    end = tensor.end;
  }
  if (dataSize !== null) checkEnd(file, dataSize, end);
}

/** @param {string} file @param {number} got bytes after the header @param {number} want */
function checkEnd(file, got, want) {
  if (got < want) throw cutShort(file, 'bytes of tensors', got, want);
  if (got > want) throw new QkvError('format', `${file}: bytes after the last tensor`, { got: got - want, want: 0 });
}

/**
 * Reads a whole file and returns its header.
 * @param {ByteStream} stream
 * @param {string} file its name for messages
 * @param {Accept} accept called once, when the header is known and checked
 * @param {{ signal?: AbortSignal | null, onBytes?: (byteCount: number) => void }} [options] onBytes: bytes since last time
 * @returns {Promise<Header>}
 */
export async function readTensors(stream, file, accept, { signal, onBytes } = {}) {
  const receiver = new Receiver(file, stream.size, accept);
  throwIfAborted(signal);
  for await (const chunk of stream.chunks) {
    throwIfAborted(signal);
    await receiver.push(chunk);
    onBytes?.(chunk.length);
  }
  throwIfAborted(signal);
  return receiver.finish();
}

/** What has come so far of one file. */
class Receiver {
  /** @param {string} file @param {number | null} size @param {Accept} accept */
  constructor(file, size, accept) {
    this.file = file;
    this.size = size;
    this.accept = accept;
    /** @type {Uint8Array[]} copies of what came until the header is complete */
    this.parts = [];
    this.held = 0;
    /** @type {number | null} bytes up to the first tensor */
    this.headEnd = null;
    /** @type {Header | null} */
    this.header = null;
    /** @type {Sinks} */
    this.sinks = new Map();
    this.index = 0;
    this.position = 0;
    this.filled = 0;
  }

  /** @param {Uint8Array} chunk */
  async push(chunk) {
    if (this.header !== null) this.deliver(chunk);
    else await this.collect(chunk);
  }

  /** Until the header is complete chunks are kept, never more than has really come. @param {Uint8Array} chunk */
  async collect(chunk) {
    this.parts.push(chunk.slice());
    this.held += chunk.length;
    if (this.headEnd === null && this.held >= LENGTH_BYTES) {
      this.headEnd = LENGTH_BYTES + headerLength(this.joined(), this.file, this.size);
    }
    if (this.headEnd === null || this.held < this.headEnd) return;
    const bytes = this.joined();
    this.parts = [];
    const dataSize = this.size === null ? null : this.size - this.headEnd;
    const header = parseHeader(bytes.subarray(LENGTH_BYTES, this.headEnd), this.file, dataSize);
    this.sinks = await this.accept(header.tensors, this.headEnd + (header.tensors.at(-1)?.end ?? 0));
    for (const tensor of header.tensors) this.checkWanted(tensor);
    this.header = header;
    this.deliver(bytes.subarray(this.headEnd));
  }

  /** @returns {Uint8Array} */
  joined() {
    if (this.parts.length === 1) return this.parts[0];
    const all = new Uint8Array(this.held);
    let at = 0;
    for (const part of this.parts) {
      all.set(part, at);
      at += part.length;
    }
    this.parts = [all];
    return all;
  }

  /** @param {TensorInfo} tensor */
  checkWanted(tensor) {
    if (!this.sinks.has(tensor.name) || READABLE.includes(tensor.dtype)) return;
    const want = READABLE.join(', ');
    throw new QkvError('unsupported', `${tensorAt(this.file, tensor.name)}: dtype`, { got: tensor.dtype, want });
  }

  /** @param {Uint8Array} bytes that follow what was delivered before */
  deliver(bytes) {
    const { tensors } = /** @type {Header} */ (this.header);
    let at = 0;
    while (this.index < tensors.length) {
      const tensor = tensors[this.index];
      const count = Math.min(bytes.length - at, tensor.end - this.position);
      if (count === 0 && this.position < tensor.end) return;
      this.fill(this.sinks.get(tensor.name), bytes.subarray(at, at + count), this.position + count === tensor.end);
      at += count;
      this.position += count;
      if (this.position === tensor.end) this.index++;
    }
    this.position += bytes.length - at;
    // Checked at once and not at the end: a server that sends too much may never stop.
    checkEnd(this.file, this.position, tensors.at(-1)?.end ?? 0);
  }

  /** @param {Sink | undefined} sink @param {Uint8Array} bytes @param {boolean} last whether the tensor ends with them */
  fill(sink, bytes, last) {
    if (sink === undefined) return;
    let at = 0;
    while (at < bytes.length) {
      const count = Math.min(bytes.length - at, sink.capacity - this.filled);
      sink.view().set(bytes.subarray(at, at + count), this.filled);
      at += count;
      this.filled += count;
      if (this.filled === sink.capacity) this.commit(sink);
    }
    if (last && this.filled > 0) this.commit(sink);
  }

  /** @param {Sink} sink */
  commit(sink) {
    const count = this.filled;
    this.filled = 0;
    sink.commit(count);
  }

  /** @returns {Header} */
  finish() {
    if (this.header === null) {
      if (this.headEnd === null) throw tooShort(this.file, this.joined());
      throw cutShort(this.file, 'bytes of the header', this.held - LENGTH_BYTES, this.headEnd - LENGTH_BYTES);
    }
    checkEnd(this.file, this.position, this.header.tensors.at(-1)?.end ?? 0);
    return this.header;
  }
}
