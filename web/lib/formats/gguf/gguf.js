/**
 * GGUF: a model in one file. What it holds is turned into what the rest of the library knows: an object like config.json, one
 * like tokenizer.json, and tensors under the names and in the row order of transformers.
 *
 *   const model = await openGguf(source, 'model.gguf', { signal });
 *   model.config, model.tokenizer, model.tensors      known now; no weight has been read
 *   await model.readTensors(accept, { onBytes });     the rest of the file, once; as readTensors of safetensors.js
 *   await model.close();                              instead of or after reading; frees the file
 *
 * config has three keys that no config.json has:
 *   qkv_norm_shift: 0       the norms of Gemma hold 1 + w already
 *   qkv_conv1d: false       the matrices of GPT-2 are [out, in], as those of all other models
 *   license                 from general.license, where it is there
 * tokenizer is null when the file has no vocabulary. A tensor's dtype is F32, F16, BF16 or the name of a block type (Q4_0, Q4_1,
 * Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K); its rows are shape.at(-1) values each and come whole, since a sink's capacity is a
 * multiple of their bytes (ggufRowBytes). Tensors without a name in transformers keep the one of the file.
 */
import { QkvError, throwIfAborted } from '../../checks/errors.js';
import { GgufBytes } from './gguf_bytes.js';
import { GgufDelivery } from './gguf_delivery.js';
import { alignUp, checkSize, MAX_GGUF_HEADER, quoted, readGgufHeader, unreadable } from './gguf_header.js';
import { ggufModel } from './gguf_model.js';
import { ggufNotes, ggufTokenizer } from './gguf_tokenizer.js';
import { GGUF_READABLE, GGUF_TYPES } from './gguf_types.js';

/** @typedef {import('../../sources/source.js').Source} Source */
/** @typedef {import('../safetensors.js').Accept} Accept */
/** @typedef {import('../safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('./gguf_header.js').GgufHeader} GgufHeader */
/** @typedef {import('./gguf_model.js').Placed} Placed */
/** @typedef {AbortSignal | null | undefined} MaybeSignal */
/** @typedef {AsyncIterator<Uint8Array>} Chunks */
/**
 * @typedef {object} Gguf
 * @property {string | null} name general.name
 * @property {Record<string, unknown>} config
 * @property {Record<string, unknown> | null} tokenizer
 * @property {string[]} notes what is assumed where the file does not say
 * @property {TensorInfo[]} tensors in the order of the file
 * @property {(accept: Accept, options?: { signal?: MaybeSignal, onBytes?: (byteCount: number) => void }) => Promise<void>} readTensors
 * @property {() => Promise<void>} close
 */

const DIVISORS = 'rope_freqs.weight';
const MAX_DIVISORS = 2_048;
/** Bytes behind the header that are kept to look at the divisors. */
const HELD = 4_000_000;
const BY_NAME = new Map([...GGUF_TYPES.values()].map((type) => [type.name, type]));

/** Bytes of one row of a tensor; those of a vector are its elements' row. @param {TensorInfo} tensor @returns {number} */
export function ggufRowBytes({ dtype, shape }) {
  const type = BY_NAME.get(dtype);
  const columns = shape.at(-1) ?? 1;
  return type === undefined ? columns : (columns / type.values) * type.bytes;
}

/**
 * @param {Source} source
 * @param {string} file
 * @param {{ signal?: MaybeSignal }} [options]
 * @returns {Promise<Gguf>}
 */
export async function openGguf(source, file, { signal } = {}) {
  const label = source.gguf === file ? source.name : `${source.name}/${file}`;
  const opened = await openHeader(source, file, label, signal);
  try {
    const { header } = opened;
    const divisors = await readDivisors(source, file, label, opened, signal);
    const { config, vocab, placesOf } = ggufModel(header, label, divisors);
    const placed = header.tensors.flatMap((tensor) => placesOf(tensor));
    checkTypes(label, placed);
    const tokenizer = ggufTokenizer(header.metadata, label, vocab);
    const name = header.metadata.get('general.name');
    let wasRead = false;
    return {
      name: typeof name === 'string' ? name : null,
      config,
      tokenizer,
      notes: ggufNotes(header.metadata, label),
      tensors: placed.map(({ tensor }) => tensor),
      async readTensors(accept, { signal: stop = signal, onBytes } = {}) {
        if (wasRead) throw new QkvError('state', `${label}: its tensors`, { got: 'read already', want: 'once' });
        wasRead = true;
        try {
          await deliverAll(label, opened, placed, accept, { signal: stop, onBytes });
        } finally {
          await closeChunks(opened.chunks);
        }
      },
      close: () => closeChunks(opened.chunks),
    };
  } catch (error) {
    await closeChunks(opened.chunks);
    throw error;
  }
}

/**
 * A file whose header has been read.
 * @typedef {object} Opened
 * @property {GgufHeader} header
 * @property {Chunks} chunks what follows
 * @property {number} headerEnd
 * @property {Uint8Array} rest what came with the end of the header
 */

/**
 * @param {Source} source
 * @param {string} file
 * @param {string} label
 * @param {MaybeSignal} signal
 * @returns {Promise<Opened>}
 */
async function openHeader(source, file, label, signal) {
  throwIfAborted(signal);
  const { size, chunks: iterable } = await source.stream(file, { signal });
  const chunks = iterable[Symbol.asyncIterator]();
  try {
    const bytes = new GgufBytes(label, size, MAX_GGUF_HEADER);
    const reading = readGgufHeader(bytes);
    for (;;) {
      const chunk = await nextChunk(chunks, signal);
      if (chunk !== null) bytes.append(chunk);
      const { done, value } = reading.next();
      if (done) return { header: value, chunks, headerEnd: bytes.position, rest: bytes.bytes.subarray(bytes.at) };
      if (chunk === null) throw bytes.cutShort('the header');
    }
  } catch (error) {
    await closeChunks(chunks);
    throw error;
  }
}

/** @param {Chunks} chunks @param {MaybeSignal} signal @returns {Promise<Uint8Array | null>} null at the end of the file */
async function nextChunk(chunks, signal) {
  throwIfAborted(signal);
  const { done, value } = await chunks.next();
  throwIfAborted(signal);
  return done ? null : value;
}

/** Lets go of the file or connection, whatever state it is in. @param {Chunks} chunks */
async function closeChunks(chunks) {
  await chunks.return?.();
}

/**
 * The rotary divisors of Llama 3 decide how the engine is laid out, before weights are read. Where they stand far behind in the
 * file it is read once more up to there.
 * @param {Source} source
 * @param {string} file
 * @param {string} label
 * @param {Opened} opened
 * @param {MaybeSignal} signal
 * @returns {Promise<Float32Array | null>}
 */
async function readDivisors(source, file, label, opened, signal) {
  const { header } = opened;
  const tensor = header.tensors.find(({ name }) => name === DIVISORS);
  if (tensor === undefined) return null;
  const { type, shape, begin, end } = tensor;
  if (type.name !== 'F32' || shape.length !== 1 || shape[0] > MAX_DIVISORS) {
    const want = `F32 [up to ${MAX_DIVISORS}]`;
    throw new QkvError('weight', `${label}: ${DIVISORS}`, { got: `${type.name} ${JSON.stringify(shape)}`, want });
  }
  const from = header.dataStart + begin;
  const to = header.dataStart + end;
  if (to - opened.headerEnd <= HELD) await holdUpTo(opened, to, signal);
  const isHeld = to <= opened.headerEnd + opened.rest.length;
  const bytes = isHeld
    ? opened.rest.slice(from - opened.headerEnd, to - opened.headerEnd)
    : await readRange(await source.stream(file, { signal }), from, to, signal);
  if (bytes.length === to - from) return new Float32Array(bytes.buffer);
  throw new QkvError('format', `${label} is cut short; bytes of ${DIVISORS}`, { got: bytes.length, want: to - from });
}

/** Reads on, keeping what comes, until a place in the file is there. @param {Opened} opened @param {number} to @param {MaybeSignal} signal */
async function holdUpTo(opened, to, signal) {
  while (opened.headerEnd + opened.rest.length < to) {
    const chunk = await nextChunk(opened.chunks, signal);
    if (chunk === null) return;
    const joined = new Uint8Array(opened.rest.length + chunk.length);
    joined.set(opened.rest);
    joined.set(chunk, opened.rest.length);
    opened.rest = joined;
  }
}

/**
 * @param {import('../safetensors.js').ByteStream} stream
 * @param {number} from
 * @param {number} to
 * @param {MaybeSignal} signal
 * @returns {Promise<Uint8Array<ArrayBuffer>>} shorter where the file ends before
 */
async function readRange({ chunks }, from, to, signal) {
  const bytes = new Uint8Array(to - from);
  let position = 0;
  for await (const chunk of chunks) {
    throwIfAborted(signal);
    const wanted = chunk.subarray(Math.max(0, from - position), Math.max(0, to - position));
    bytes.set(wanted, Math.max(0, position - from));
    position += chunk.length;
    if (position >= to) return bytes;
  }
  return bytes.slice(0, Math.max(0, position - from));
}

/** Refuses by name what the engine cannot decode, before anything is loaded. @param {string} label @param {Placed[]} placed */
function checkTypes(label, placed) {
  const bad = placed.find(({ tensor, isKnown }) => isKnown && !GGUF_READABLE.includes(tensor.dtype));
  if (bad !== undefined) throw unreadable(`${label}: type of ${quoted(bad.fileName)}`, bad.tensor.dtype);
}

/** @param {TensorInfo} tensor @returns {number} bytes of what is reordered as one: a row, or one element of a vector */
function unitBytes(tensor) {
  return tensor.shape.length > 1 ? ggufRowBytes(tensor) : (BY_NAME.get(tensor.dtype)?.bytes ?? 1);
}

/**
 * @param {string} label
 * @param {Opened} opened
 * @param {Placed[]} placed
 * @param {Accept} accept
 * @param {{ signal?: MaybeSignal, onBytes?: (byteCount: number) => void }} calls
 */
async function deliverAll(label, { header, chunks, headerEnd, rest }, placed, accept, { signal, onBytes }) {
  throwIfAborted(signal);
  const { dataStart, alignment } = header;
  const fileSize = dataStart + alignUp(header.tensors.at(-1)?.end ?? 0, alignment);
  const sinks = await accept(
    placed.map(({ tensor }) => tensor),
    fileSize,
  );
  const delivery = new GgufDelivery(
    placed.map(({ tensor, order }) => ({
      begin: tensor.begin,
      end: tensor.end,
      unit: unitBytes(tensor),
      order,
      sink: sinks.get(tensor.name),
    })),
    headerEnd - dataStart,
  );
  /** @param {Uint8Array} bytes */
  const push = (bytes) => {
    delivery.push(bytes);
    const size = dataStart + delivery.position;
    // Checked at once and not at the end: a server that sends too much may never stop.
    if (size > fileSize) checkSize(label, header, size);
  };
  push(rest);
  onBytes?.(headerEnd + rest.length);
  for (let chunk = await nextChunk(chunks, signal); chunk !== null; chunk = await nextChunk(chunks, signal)) {
    push(chunk);
    onBytes?.(chunk.length);
  }
  checkSize(label, header, dataStart + delivery.position);
}
