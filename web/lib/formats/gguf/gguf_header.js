/**
 * The header of a GGUF file, versions 2 and 3: magic, counts, metadata, one line for each tensor. Every count is bounded
 * before it is used, by what is believable and by the size of the file; every product, sum and rounding-up is checked.
 * Source: the format's description in the ggml repository (docs/gguf.md).
 */
import { QkvError } from '../../checks/errors.js';
import { GGUF_READABLE, GGUF_TYPES } from './gguf_types.js';
import { sniff } from '../sniff.js';

/** @template T @typedef {import('./gguf_bytes.js').Reading<T>} Reading */
/** @typedef {import('./gguf_bytes.js').GgufBytes} GgufBytes */
/** @typedef {import('./gguf_types.js').GgufType} GgufType */
/**
 * @typedef {Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array
 *   | BigUint64Array | BigInt64Array} Numbers flags are 0 and 1 in a Uint8Array
 */
/** @typedef {number | bigint | boolean | string | string[] | Numbers} GgufValue bigint where a number is not exact */
/** @typedef {Map<string, GgufValue>} Metadata */
/**
 * @typedef {object} GgufTensor
 * @property {string} name
 * @property {GgufType} type
 * @property {number[]} shape as PyTorch has it: the last size is that of a row
 * @property {number} begin offset of its first byte in the data
 * @property {number} end
 */
/**
 * @typedef {object} GgufHeader
 * @property {Metadata} metadata
 * @property {GgufTensor[]} tensors in the order of their bytes
 * @property {number} dataStart offset of the data in the file
 * @property {number} alignment
 */
/**
 * One kind of number in metadata.
 * @typedef {object} NumberKind
 * @property {number} bytes
 * @property {(view: DataView, at: number) => number | bigint} get
 * @property {(bytes: Uint8Array<ArrayBuffer>) => Numbers} list
 */

/** Beyond this no published header goes: vocabulary and merges of the largest are some 20 MB. */
export const MAX_GGUF_HEADER = 256_000_000;
const MAX_KEYS = 65_536;
const MAX_TENSORS = 65_536;
const MAX_KEY = 65_535;
const MAX_NAME = 255;
const MAX_STRING = 2 ** 24;
const MAX_ARRAY = 2 ** 24;
const MAX_DIMS = 4;
const MAX_ALIGNMENT = 65_536;
const DEFAULT_ALIGNMENT = 32;
const SHOWN = 80;
const MAGIC = 'GGUF';
/** The least that a key with its value takes, and a tensor's line. */
const KEY_BYTES = 8 + 1 + 4 + 1;
const TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8;

const BOOL = 7;
const STRING = 8;
const ARRAY = 9;

/** @type {ReadonlyMap<number, NumberKind>} */
const NUMBERS = new Map([
  kind(
    0,
    1,
    (view, at) => view.getUint8(at),
    (bytes) => bytes,
  ),
  kind(
    1,
    1,
    (view, at) => view.getInt8(at),
    ({ buffer }) => new Int8Array(buffer),
  ),
  kind(
    2,
    2,
    (view, at) => view.getUint16(at, true),
    ({ buffer }) => new Uint16Array(buffer),
  ),
  kind(
    3,
    2,
    (view, at) => view.getInt16(at, true),
    ({ buffer }) => new Int16Array(buffer),
  ),
  kind(
    4,
    4,
    (view, at) => view.getUint32(at, true),
    ({ buffer }) => new Uint32Array(buffer),
  ),
  kind(
    5,
    4,
    (view, at) => view.getInt32(at, true),
    ({ buffer }) => new Int32Array(buffer),
  ),
  kind(
    6,
    4,
    (view, at) => view.getFloat32(at, true),
    ({ buffer }) => new Float32Array(buffer),
  ),
  kind(
    BOOL,
    1,
    (view, at) => view.getUint8(at),
    (bytes) => bytes,
  ),
  kind(
    10,
    8,
    (view, at) => view.getBigUint64(at, true),
    ({ buffer }) => new BigUint64Array(buffer),
  ),
  kind(
    11,
    8,
    (view, at) => view.getBigInt64(at, true),
    ({ buffer }) => new BigInt64Array(buffer),
  ),
  kind(
    12,
    8,
    (view, at) => view.getFloat64(at, true),
    ({ buffer }) => new Float64Array(buffer),
  ),
]);

/**
 * @param {number} id
 * @param {number} bytes
 * @param {NumberKind['get']} get
 * @param {NumberKind['list']} list
 * @returns {[number, NumberKind]}
 */
function kind(id, bytes, get, list) {
  return [id, { bytes, get, list }];
}

/** For the start of a message. @param {string} name @returns {string} */
export function quoted(name) {
  return JSON.stringify(name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name);
}

/** @param {GgufBytes} source @returns {Reading<GgufHeader>} */
export function* readGgufHeader(source) {
  yield* readMagic(source);
  const tensorCount = yield* source.u64('number of tensors', 0, MAX_TENSORS);
  const keyCount = yield* source.u64('number of metadata keys', 0, MAX_KEYS);
  checkCounts(source, tensorCount, keyCount);
  const metadata = yield* readMetadata(source, keyCount);
  const alignment = alignmentOf(source, metadata);
  /** @type {GgufTensor[]} */
  const tensors = [];
  /** @type {Set<string>} */
  const names = new Set();
  for (let i = 0; i < tensorCount; i++) tensors.push(yield* readTensor(source, names, alignment));
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  checkLayout(source.label, tensors, alignment);
  const dataStart = alignUp(source.position, alignment);
  const header = { metadata, tensors, dataStart, alignment };
  if (source.size !== null) checkSize(source.label, header, source.size);
  return header;
}

/** @param {GgufBytes} source @returns {Reading<void>} */
function* readMagic(source) {
  if (source.size !== null && source.size < 4) throw source.cutShort('magic', 4);
  yield* source.need(4, 'magic');
  const magic = String.fromCharCode(...source.bytes.subarray(0, 4));
  if (magic !== MAGIC) {
    const found = sniff(source.bytes);
    if (found !== null) throw new QkvError('format', `${source.label} is not a GGUF file: it is ${found}`);
    throw new QkvError('format', `${source.label}: first four bytes`, { got: magic, want: '"GGUF"' });
  }
  source.at = 4;
  const version = yield* source.u32('version');
  if (version === 2 || version === 3) return;
  const isSwapped = version !== 0 && version % 65_536 === 0;
  const fix = isSwapped
    ? 'The file is big-endian: convert the model again on an ordinary computer.'
    : 'Convert the model again with a current llama.cpp.';
  throw new QkvError('unsupported', `${source.label}: version of GGUF`, { got: version, want: '2 or 3', fix });
}

/** Counts that cannot fit the file stop here, before anything is made for them.
 * @param {GgufBytes} source @param {number} tensors @param {number} keys */
function checkCounts(source, tensors, keys) {
  const least = tensors * TENSOR_BYTES + keys * KEY_BYTES;
  if (source.size !== null && source.position + least > source.size) {
    throw source.cutShort(`${keys} metadata keys and ${tensors} tensors`, least);
  }
}

/** @param {GgufBytes} source @param {number} count @returns {Reading<Metadata>} */
function* readMetadata(source, count) {
  /** @type {Metadata} */
  const metadata = new Map();
  for (let i = 0; i < count; i++) {
    const key = yield* source.string(`metadata key ${i}`, MAX_KEY);
    if (key === '' || metadata.has(key)) {
      const want = key === '' ? 'a name' : 'each key only once';
      throw new QkvError('format', `${source.label}: metadata key ${i}`, { got: key, want });
    }
    const what = `metadata ${quoted(key)}`;
    metadata.set(key, yield* readValue(source, yield* source.u32(`type of ${what}`), what));
  }
  return metadata;
}

/** @param {GgufBytes} source @param {number} type @param {string} what @returns {Reading<GgufValue>} */
function* readValue(source, type, what) {
  if (type === STRING) return yield* source.string(what, MAX_STRING);
  if (type === ARRAY) return yield* readArray(source, what);
  const numberKind = NUMBERS.get(type);
  if (numberKind === undefined) throw badType(source, what, type, '0 to 12');
  yield* source.need(numberKind.bytes, what);
  const value = numberKind.get(source.view, source.at);
  source.at += numberKind.bytes;
  if (type === BOOL) return isTrue(source, what, Number(value));
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** @param {GgufBytes} source @param {string} what @param {number} byte @returns {boolean} */
function isTrue(source, what, byte) {
  if (byte === 0 || byte === 1) return byte === 1;
  throw new QkvError('format', `${source.label}: ${what}`, { got: byte, want: '0 or 1' });
}

/** @param {GgufBytes} source @param {string} what @param {number} got @param {string} want @returns {QkvError} */
function badType(source, what, got, want) {
  return new QkvError('format', `${source.label}: type of ${what}`, { got, want });
}

/** @param {GgufBytes} source @param {string} what @returns {Reading<string[] | Numbers>} */
function* readArray(source, what) {
  const type = yield* source.u32(`type of ${what}`);
  const numberKind = NUMBERS.get(type);
  if (numberKind === undefined && type !== STRING) {
    throw badType(source, `the values of ${what}`, type, 'numbers, flags or strings; lists of lists are not read');
  }
  const count = yield* source.u64(`length of ${what}`, 0, MAX_ARRAY);
  const least = count * (numberKind?.bytes ?? 8);
  if (source.size !== null && source.position + least > source.size) throw source.cutShort(what, least);
  if (numberKind === undefined) return yield* readStrings(source, count, what);
  const list = numberKind.list(yield* source.copy(least, what));
  if (type === BOOL) for (const byte of list) isTrue(source, what, Number(byte));
  return list;
}

/** @param {GgufBytes} source @param {number} count @param {string} what @returns {Reading<string[]>} */
function* readStrings(source, count, what) {
  /** @type {string[]} */
  const list = [];
  for (let i = 0; i < count; i++) list.push(yield* source.string(what, MAX_STRING));
  return list;
}

/** @param {GgufBytes} source @param {Metadata} metadata @returns {number} */
function alignmentOf(source, metadata) {
  const value = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPower = typeof value === 'number' && Number.isInteger(Math.log2(value));
  if (isPower && value >= 8 && value <= MAX_ALIGNMENT) return value;
  const want = `a power of two from 8 to ${MAX_ALIGNMENT}`;
  throw new QkvError('format', `${source.label}: metadata "general.alignment"`, { got: value, want });
}

/** @param {GgufBytes} source @param {Set<string>} names so far @param {number} alignment @returns {Reading<GgufTensor>} */
function* readTensor(source, names, alignment) {
  const name = yield* source.string(`name of tensor ${names.size}`, MAX_NAME);
  const what = `tensor ${quoted(name)}`;
  if (name === '' || names.has(name)) {
    const want = name === '' ? 'a name' : 'each name only once';
    throw new QkvError('format', `${source.label}: name of tensor ${names.size}`, { got: name, want });
  }
  names.add(name);
  const dims = yield* source.u32(`number of dimensions of ${what}`);
  if (dims < 1 || dims > MAX_DIMS) {
    const want = `1 to ${MAX_DIMS}`;
    throw new QkvError('format', `${source.label}: number of dimensions of ${what}`, { got: dims, want });
  }
  /** @type {number[]} */
  const shape = [];
  for (let i = 0; i < dims; i++) {
    shape.unshift(yield* source.u64(`dimension ${i} of ${what}`, 1, Number.MAX_SAFE_INTEGER));
  }
  const id = yield* source.u32(`type of ${what}`);
  const type = GGUF_TYPES.get(id);
  if (type === undefined) {
    throw new QkvError('unsupported', `${source.label}: type of ${what}`, { got: id, want: 'a type of GGUF 3' });
  }
  const begin = yield* source.u64(`offset of ${what}`, 0, Number.MAX_SAFE_INTEGER - MAX_ALIGNMENT);
  if (begin % alignment !== 0) {
    const want = `a multiple of ${alignment}`;
    throw new QkvError('format', `${source.label}: offset of ${what}`, { got: begin, want });
  }
  const end = begin + byteCount(source.label, what, shape, type);
  if (!Number.isSafeInteger(end + MAX_ALIGNMENT)) {
    throw new QkvError('format', `${source.label}: end of ${what}`, { got: end, want: 'a place below 2^53' });
  }
  return { name, type, shape, begin, end };
}

/** What the engine cannot decode. @param {string} what @param {string} got the name of a type @returns {QkvError} */
export function unreadable(what, got) {
  const fix = 'Take another quantisation of the model, for instance Q8_0 or Q4_K_M.';
  return new QkvError('unsupported', what, { got, want: GGUF_READABLE.join(', '), fix });
}

/** @param {string} label @param {string} what @param {number[]} shape @param {GgufType} type @returns {number} */
function byteCount(label, what, shape, { name, values, bytes }) {
  const columns = shape[shape.length - 1];
  if (columns % values !== 0) {
    if (!GGUF_READABLE.includes(name)) throw unreadable(`${label}: type of ${what}`, name);
    const want = `a multiple of ${values}, as ${name} needs it`;
    throw new QkvError('format', `${label}: row of ${what}`, { got: columns, want });
  }
  // Checked before multiplying, since a product above 2^53 would not be exact.
  return shape.slice(0, -1).reduce(
    (product, size) => {
      if (product <= Number.MAX_SAFE_INTEGER / size) return product * size;
      throw new QkvError('format', `${label}: shape of ${what}`, { got: shape, want: 'fewer than 2^53 bytes' });
    },
    checkedRow(label, what, columns / values, bytes),
  );
}

/** @param {string} label @param {string} what @param {number} blocks @param {number} bytes @returns {number} */
function checkedRow(label, what, blocks, bytes) {
  if (blocks <= Number.MAX_SAFE_INTEGER / bytes) return blocks * bytes;
  throw new QkvError('format', `${label}: row of ${what}`, { got: `${blocks} blocks`, want: 'fewer than 2^53 bytes' });
}

/** @param {number} offset @param {number} alignment @returns {number} */
export function alignUp(offset, alignment) {
  return Math.ceil(offset / alignment) * alignment;
}

/** Neither overlaps nor holes: whatever lies in a file that no tensor names is not ours to skip silently.
 * @param {string} label @param {GgufTensor[]} tensors sorted @param {number} alignment */
function checkLayout(label, tensors, alignment) {
  let end = 0;
  for (const tensor of tensors) {
    const want = alignUp(end, alignment);
    if (tensor.begin !== want) {
      const what = `${label}: offset of tensor ${quoted(tensor.name)}`;
      throw new QkvError('format', what, { got: tensor.begin, want: `${want}, where the tensor before it ends` });
    }
    end = tensor.end;
  }
}

/**
 * Behind the last tensor there may be padding up to the alignment, nothing else.
 * @param {string} label
 * @param {GgufHeader} header
 * @param {number} size of the file
 */
export function checkSize(label, { tensors, dataStart, alignment }, size) {
  const end = tensors.at(-1)?.end ?? 0;
  const got = size - dataStart;
  if (end === 0 && got <= 0) return;
  if (got < end) {
    const fix = 'Download it again.';
    throw new QkvError('format', `${label} is cut short; bytes of tensors`, { got: Math.max(0, got), want: end, fix });
  }
  const most = alignUp(end, alignment);
  if (got > most) {
    throw new QkvError('format', `${label}: bytes after the last tensor`, {
      got: got - end,
      want: `at most ${most - end}`,
    });
  }
}
