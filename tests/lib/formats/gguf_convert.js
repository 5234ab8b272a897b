/**
 * Turns a small model in the form of transformers into a GGUF file as llama.cpp's converter does it (convert_hf_to_gguf.py): names
 * as the reference package has them (tests/golden/gguf/names.json), rows of Q and K in pairs for Llama, stacked Q, K and V for
 * GPT-NeoX, 1 + w in the norms of Gemma, turned matrices for GPT-2. All float32.
 */
import { readFileSync } from 'node:fs';
import { ARRAY, BOOL, F32, ggufFile, STRING, TYPE, U32, VOCABULARY } from './gguf_file.js';

/** @typedef {import('./gguf_file.js').Key} Key */
/** @typedef {Record<string, any>} Config */
/** @typedef {[name: string, ggufName: string, shape: number[]]} Named */
/** @typedef {{ architecture: string, config: Config, tensors: Named[] }} Case */
/** @typedef {{ shape: number[], data: Float32Array }} Matrix */

const NAMES = new URL('../../golden/gguf/names.json', import.meta.url);

/** By the names of tests/golden/tiny. @type {Record<string, Case>} */
export const CASES = JSON.parse(readFileSync(NAMES, 'utf8'));

/** @param {Config} config */
const headDimOf = (config) => config.head_dim ?? (config.hidden_size ?? config.n_embd) / headsOf(config);
/** @param {Config} config @returns {number} */
const headsOf = (config) => config.num_attention_heads ?? config.n_head;

/**
 * out[r] = in[from(r)], rows of `columns` values.
 * @param {Matrix} matrix
 * @param {(row: number) => number} from
 * @returns {Matrix}
 */
function reordered({ shape, data }, from) {
  const columns = data.length / shape[0];
  const out = new Float32Array(data.length);
  for (let row = 0; row < shape[0]; row++) {
    out.set(data.subarray(from(row) * columns, (from(row) + 1) * columns), row * columns);
  }
  return { shape, data: out };
}

/** weights.reshape(heads, 2, E / 2, ...).swapaxes(1, 2) @param {Matrix} matrix @param {number} headDim */
function paired(matrix, headDim) {
  const half = headDim / 2;
  return reordered(matrix, (row) => {
    const [head, place] = [Math.floor(row / headDim), row % headDim];
    const [i, t] = [Math.floor(place / 2), place % 2];
    return head * headDim + t * half + i;
  });
}

/** weights.reshape(heads, 3, E, ...) cut into Q, K and V, one after the other @param {Matrix} matrix @param {number} heads @param {number} headDim */
function stacked(matrix, heads, headDim) {
  return reordered(matrix, (row) => {
    const [which, rest] = [Math.floor(row / (heads * headDim)), row % (heads * headDim)];
    return Math.floor(rest / headDim) * 3 * headDim + which * headDim + (rest % headDim);
  });
}

/** @param {Matrix} matrix @returns {Matrix} */
function turned({ shape: [rows, columns], data }) {
  const out = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) out[(i % columns) * rows + Math.floor(i / columns)] = data[i];
  return { shape: [columns, rows], data: out };
}

/** @param {Case} about @param {string} name @param {Matrix} matrix @returns {Matrix} */
export function converted({ architecture, config }, name, matrix) {
  if (architecture === 'llama' && /\.[qk]_proj\./.test(name)) return paired(matrix, headDimOf(config));
  if (architecture === 'gptneox' && name.includes('query_key_value')) {
    return stacked(matrix, headsOf(config), headDimOf(config));
  }
  if (architecture.startsWith('gemma') && /norm\.weight$/.test(name)) {
    return { shape: matrix.shape, data: matrix.data.map((w) => w + 1) };
  }
  return architecture === 'gpt2' && /\.c_(attn|proj|fc)\.weight$/.test(name) ? turned(matrix) : matrix;
}

/** @param {Case} about @returns {Key[]} */
function keysOf({ architecture, config: c }) {
  /** @type {[string, number, any][]} */
  const entries = [
    ['block_count', U32, c.num_hidden_layers ?? c.n_layer],
    ['context_length', U32, c.max_position_embeddings ?? c.n_positions],
    ['embedding_length', U32, c.hidden_size ?? c.n_embd],
    ['feed_forward_length', U32, c.intermediate_size ?? c.n_inner ?? 4 * c.n_embd],
    ['attention.head_count', U32, headsOf(c)],
    ['attention.head_count_kv', U32, c.num_key_value_heads],
    ['attention.key_length', U32, c.head_dim],
    ['attention.value_length', U32, c.head_dim],
    ['attention.layer_norm_rms_epsilon', F32, c.rms_norm_eps],
    ['attention.layer_norm_epsilon', F32, c.layer_norm_eps ?? c.layer_norm_epsilon ?? c.norm_epsilon],
    ['attention.causal', BOOL, architecture === 'bert' ? false : undefined],
    ['attention.sliding_window', U32, c.sliding_window],
    ['attention.sliding_window_pattern', U32, c.sliding_window_pattern],
    ['attention.scale', F32, c.query_pre_attn_scalar && c.query_pre_attn_scalar ** -0.5],
    ['attn_logit_softcapping', F32, c.attn_logit_softcapping],
    ['final_logit_softcapping', F32, c.final_logit_softcapping],
    ['rope.freq_base', F32, c.rope_theta ?? c.rotary_emb_base],
    ['rope.freq_base_swa', F32, c.rope_local_base_freq],
    ['rope.dimension_count', U32, ropeDims(c)],
    ['use_parallel_residual', BOOL, architecture === 'gptneox' ? (c.use_parallel_residual ?? true) : undefined],
  ];
  const known = entries.filter(([, , value]) => value !== undefined && value !== null);
  return known.map(([key, type, value]) => [`${architecture}.${key}`, type, value]);
}

/** @param {Config} config */
function ropeDims(config) {
  const share = config.partial_rotary_factor ?? config.rotary_pct ?? 1;
  return config.model_type === 'gpt2' || config.model_type === 'bert'
    ? undefined
    : Math.floor(share * headDimOf(config));
}

/** The divisors of the rotary frequencies that the converter writes for Llama 3. @param {Config} config @returns {Float32Array} */
function divisorsOf({ rope_scaling: scaling, rope_theta: theta, ...config }) {
  const dims = headDimOf(config);
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = scaling;
  return Float32Array.from({ length: dims / 2 }, (_, i) => {
    const length = 2 * Math.PI * theta ** ((2 * i) / dims);
    if (length < original / high) return 1;
    if (length > original / low) return factor;
    const smooth = (original / length - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

/** @param {Float32Array} data */
const bytesOf = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/**
 * @param {Case} about
 * @param {(name: string) => Matrix} tensorOf by its name in transformers
 * @param {{ divisorsLast?: boolean, vocabulary?: Key[] }} [options] divisorsLast: where a quantiser may put them
 * @returns {Uint8Array}
 */
export function toGguf(about, tensorOf, { divisorsLast = false, vocabulary = VOCABULARY } = {}) {
  const tensors = about.tensors.map(([name, ggufName]) => {
    const { shape, data } = converted(about, name, tensorOf(name));
    return { name: ggufName, shape, type: TYPE.F32, data: bytesOf(data) };
  });
  if (about.config.rope_scaling) {
    const data = divisorsOf(about.config);
    const divisors = { name: 'rope_freqs.weight', shape: [data.length], type: TYPE.F32, data: bytesOf(data) };
    if (divisorsLast) tensors.push(divisors);
    else tensors.unshift(divisors);
  }
  const tags = { of: STRING, values: ['test'] };
  const keys = /** @type {Key[]} */ ([
    ['general.architecture', STRING, about.architecture],
    ['general.tags', ARRAY, tags],
    ...keysOf(about),
    ...vocabulary,
  ]);
  return ggufFile({ keys, tensors });
}
