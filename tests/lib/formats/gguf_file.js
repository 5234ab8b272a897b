/** Makes GGUF files, good ones and broken ones: a small Llama whose every part can be changed. */
import { join, streamOf } from './safetensors_file.js';

/** @typedef {import('../../../web/lib/sources/source.js').Source} Source */
/** @typedef {number | bigint} Whole */
/** @typedef {{ of: number, values: (Whole | string | boolean)[], count?: Whole }} List a list in metadata; count: what the file says */
/** @typedef {[key: string, type: number, value: Whole | string | boolean | List]} Key */
/**
 * @typedef {object} Tensor
 * @property {string} name
 * @property {Whole[]} shape as PyTorch has it
 * @property {number} type
 * @property {Whole} [offset] what the file says; else where it is
 * @property {Uint8Array} [data] else bytes that differ from tensor to tensor
 * @property {number} [dims] what the file says
 */
/**
 * @typedef {object} FileParts
 * @property {string} magic
 * @property {number} version
 * @property {Key[]} keys
 * @property {Tensor[]} tensors
 * @property {Whole} keyCount
 * @property {Whole} tensorCount
 * @property {number} alignment
 */

export const U8 = 0;
export const U32 = 4;
export const I32 = 5;
export const F32 = 6;
export const BOOL = 7;
export const STRING = 8;
export const ARRAY = 9;
export const U64 = 10;

/** Bytes of the numbers of metadata. @type {Record<number, number>} */
const SIZES = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
/** Values and bytes of a block. @type {Record<number, [number, number]>} */
const BLOCKS = { 0: [1, 4], 1: [1, 2], 2: [32, 18], 3: [32, 20], 6: [32, 22], 8: [32, 34], 10: [256, 84], 28: [1, 8] };
export const TYPE = { F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q5_0: 6, Q8_0: 8, Q2_K: 10, F64: 28, BF16: 30 };

/** @param {number} type @param {Whole | boolean} value @returns {Uint8Array} */
function numberBytes(type, value) {
  const bytes = new Uint8Array(SIZES[type]);
  const view = new DataView(bytes.buffer);
  if (type === 6) view.setFloat32(0, Number(value), true);
  else if (type === 12) view.setFloat64(0, Number(value), true);
  else if (SIZES[type] === 8) view.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true);
  else bytes.set(numberBytes(U64, BigInt(value)).subarray(0, bytes.length));
  return bytes;
}

/** @param {Whole} value */
export const u32 = (value) => numberBytes(U32, value);
/** @param {Whole} value */
export const u64 = (value) => numberBytes(U64, value);
/** @param {string} text @param {Whole} [length] what the file says */
export const text = (text, length) => join(u64(length ?? join(text).length), text);

/** @param {number} type @param {Key[2]} value @returns {Uint8Array} */
function valueBytes(type, value) {
  if (typeof value === 'object') {
    const { of, values, count = values.length } = value;
    return join(u32(of), u64(count), ...values.map((one) => valueBytes(of, one)));
  }
  return typeof value === 'string' ? text(value) : numberBytes(type, value);
}

/** @param {Tensor} tensor @returns {number} */
function byteCount({ shape, type }) {
  const [values, bytes] = BLOCKS[type] ?? [1, 2];
  return (shape.reduce((/** @type {number} */ product, size) => product * Number(size), 1) / values) * bytes;
}

/** @param {number} offset @param {number} alignment */
const alignUp = (offset, alignment) => Math.ceil(offset / alignment) * alignment;

/** @param {Partial<FileParts>} parts @returns {Uint8Array} */
export function ggufFile(parts) {
  const { magic = 'GGUF', version = 3, keys = [], tensors = [], alignment = 32 } = parts;
  const { keyCount = keys.length, tensorCount = tensors.length } = parts;
  const metadata = keys.map(([key, type, value]) => join(text(key), u32(type), valueBytes(type, value)));
  /** @type {Uint8Array[]} */
  const lines = [];
  /** @type {Uint8Array[]} */
  const data = [];
  let at = 0;
  for (const [i, tensor] of tensors.entries()) {
    const { name, shape, type, offset = at, dims = shape.length } = tensor;
    const sizes = [...shape].reverse().map(u64);
    lines.push(join(text(name), u32(dims), ...sizes, u32(type), u64(offset)));
    const own = tensor.data ?? pattern(byteCount(tensor), i);
    const padded = new Uint8Array(alignUp(own.length, alignment));
    padded.set(own);
    data.push(padded);
    at += padded.length;
  }
  const head = join(magic, u32(version), u64(tensorCount), u64(keyCount), ...metadata, ...lines);
  const padding = tensors.length > 0 ? alignUp(head.length, alignment) - head.length : 0;
  return join(head, new Uint8Array(padding), ...data);
}

/** @param {number} size @param {number} seed @returns {Uint8Array} */
export function pattern(size, seed) {
  return Uint8Array.from(
    { length: Number.isFinite(size) && size < 1e6 ? size : 0 },
    (_, i) => (i * 7 + seed * 31) & 255,
  );
}

/** What a small vocabulary looks like. @type {Key[]} */
export const VOCABULARY = [
  ['tokenizer.ggml.model', STRING, 'gpt2'],
  ['tokenizer.ggml.pre', STRING, 'gpt-2'],
  ['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: ['<s>', 'a', 'b', 'c', 'ab', 'Ġ', 'Ġa', 'd'] }],
  ['tokenizer.ggml.token_type', ARRAY, { of: I32, values: [3, 1, 1, 1, 1, 1, 1, 1] }],
  ['tokenizer.ggml.merges', ARRAY, { of: STRING, values: ['a b', 'Ġ a'] }],
  ['tokenizer.ggml.bos_token_id', U32, 0],
];

/** @type {Key[]} */
export const LLAMA_KEYS = [
  ['general.architecture', STRING, 'llama'],
  ['general.name', STRING, 'Tiny'],
  ['general.license', STRING, 'mit'],
  ['llama.block_count', U32, 1],
  ['llama.context_length', U32, 64],
  ['llama.embedding_length', U32, 64],
  ['llama.feed_forward_length', U32, 96],
  ['llama.attention.head_count', U32, 4],
  ['llama.attention.head_count_kv', U32, 2],
  ['llama.attention.layer_norm_rms_epsilon', F32, 0.5],
  ['llama.rope.freq_base', F32, 500],
  ['llama.rope.dimension_count', U32, 16],
];

/** @type {Tensor[]} */
export const LLAMA_TENSORS = [
  { name: 'token_embd.weight', shape: [8, 64], type: TYPE.Q8_0 },
  { name: 'blk.0.attn_norm.weight', shape: [64], type: TYPE.F32 },
  { name: 'blk.0.attn_q.weight', shape: [64, 64], type: TYPE.Q4_1 },
  { name: 'blk.0.attn_k.weight', shape: [32, 64], type: TYPE.F16 },
  { name: 'blk.0.attn_v.weight', shape: [32, 64], type: TYPE.F32 },
  { name: 'blk.0.attn_output.weight', shape: [64, 64], type: TYPE.Q4_0 },
  { name: 'blk.0.ffn_norm.weight', shape: [64], type: TYPE.F32 },
  { name: 'blk.0.ffn_gate.weight', shape: [96, 64], type: TYPE.Q5_0 },
  { name: 'blk.0.ffn_up.weight', shape: [96, 64], type: TYPE.Q4_1 },
  { name: 'blk.0.ffn_down.weight', shape: [64, 96], type: TYPE.Q8_0 },
  { name: 'output_norm.weight', shape: [64], type: TYPE.F32 },
];

/**
 * The small Llama with some keys replaced or added (value null: taken away).
 * @param {[key: string, type: number, value: Key[2] | null][]} [changes]
 * @param {Partial<FileParts>} [parts]
 * @returns {Uint8Array}
 */
export function llamaFile(changes = [], parts = {}) {
  const changed = new Map(changes.map((change) => [change[0], change]));
  const kept = [...LLAMA_KEYS, ...VOCABULARY].filter(([key]) => !changed.has(key));
  const added = changes.flatMap(([key, type, value]) =>
    value === null ? [] : [/** @type {Key} */ ([key, type, value])],
  );
  return ggufFile({ keys: [...kept, ...added], tensors: LLAMA_TENSORS, ...parts });
}

/**
 * The tensors of the small Llama with one of them changed.
 * @param {string} name
 * @param {Partial<Tensor>} change
 * @returns {Tensor[]}
 */
export const withTensor = (name, change) =>
  LLAMA_TENSORS.map((tensor) => (tensor.name === name ? { ...tensor, ...change } : tensor));

/**
 * A source of one file, which counts how often it is opened and whether it was let go.
 * @param {Uint8Array} bytes
 * @param {Parameters<typeof streamOf>[1]} [options]
 */
export function sourceOf(bytes, options) {
  const calls = { opened: 0, closed: 0 };
  const stream = async () => {
    calls.opened++;
    const { size, chunks } = streamOf(bytes, options);
    async function* counted() {
      try {
        yield* chunks;
      } finally {
        calls.closed++;
      }
    }
    return { size, chunks: counted() };
  };
  /** @type {Source} */
  const source = {
    name: 'm',
    where: (file) => file,
    bytes: async () => bytes,
    stream,
    find: stream,
  };
  return { source, calls };
}
