/**
 * From the metadata and tensors of a GGUF file to config.json and to tensors as transformers names and orders them. Numbers that
 * contradict the tensors are refused here; whether the numbers are believable is for the family to say.
 */
import { QkvError } from '../../checks/errors.js';
import { ARCHITECTURES } from './gguf_architectures.js';
import { ggufEnds } from './gguf_ends.js';
import { quoted } from './gguf_header.js';

/** @typedef {import('./gguf_header.js').GgufHeader} GgufHeader */
/** @typedef {import('./gguf_header.js').GgufTensor} GgufTensor */
/** @typedef {import('./gguf_header.js').Metadata} Metadata */
/** @typedef {import('./gguf_delivery.js').RowOrder} RowOrder */
/** @typedef {import('./gguf_architectures.js').Architecture} Architecture */
/** @typedef {import('./gguf_architectures.js').Asked} Asked */
/** @typedef {import('./gguf_architectures.js').Config} Config */
/** @typedef {import('./gguf_architectures.js').Numbers} Numbers */
/** @typedef {import('../safetensors.js').TensorInfo} TensorInfo */
/**
 * A tensor as the rest of the library sees it.
 * @typedef {object} Placed
 * @property {TensorInfo} tensor
 * @property {string} fileName its name in the file
 * @property {boolean} isKnown transformers has it
 * @property {RowOrder | null} order where its rows stand in the file
 */
/** @typedef {{ config: Config, vocab: number, placesOf: (tensor: GgufTensor) => Placed[] }} GgufModel */

/** A layer's number in a tensor's name. */
const LAYER = /^blk\.(0|[1-9][0-9]{0,5})\./;
/** How Llama 3.1 and later stretch the slow rotations; the factor is in the file. */
const LLAMA3 = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
/**
 * What would change the computation in a way that config.json has no word for in these families: the value that changes nothing.
 * @type {Record<string, number>}
 */
const NEUTRAL = {
  expert_count: 0,
  nextn_predict_layers: 0,
  logit_scale: 1,
  embedding_scale: 1,
  residual_scale: 1,
  'attention.clamp_kqv': 0,
  'attention.max_alibi_bias': 0,
  'rope.scaling.attn_factor': 1,
  'rope.scaling.yarn_log_multiplier': 0,
};
const DIVISOR_TOLERANCE = 1e-4;
const LARGEST_DIVISOR = 1e6;

/**
 * @param {GgufHeader} header
 * @param {string} label of the file
 * @param {Float32Array | null} divisors of the rotary frequencies, where the file has some
 * @returns {GgufModel}
 */
export function ggufModel(header, label, divisors) {
  const asking = createAsking(header, label);
  const { name, architecture } = architectureOf(asking);
  const { metadata } = header;
  const numbers = readNumbers(asking, name, architecture, divisors);
  /** @type {Asked} */
  const asked = {
    numbers,
    number: (key) => asking.optional(`${name}.${key}`),
    flags: (key) => asking.flags(`${name}.${key}`, numbers.layers),
    shape: asking.shape,
  };
  const seesLater = asking.optional(`${name}.attention.causal`) === 0 ? { is_causal: false } : {};
  const pooling = { qkv_pooling_type: asking.optional(`${name}.pooling_type`) };
  const config = { ...architecture.config(asked), ...tokenIds(asking), ...endIds(asking), ...pooling, ...seesLater };
  const license = metadata.get('general.license');
  return {
    config: typeof license === 'string' ? { ...config, license } : config,
    vocab: numbers.vocab,
    placesOf: createPlaces(label, architecture, numbers),
  };
}

/** @typedef {ReturnType<typeof createAsking>} Asking */

/** @param {GgufHeader} header @param {string} label */
function createAsking({ metadata, tensors }, label) {
  const shapes = new Map(tensors.map(({ name, shape }) => [name, shape]));
  /** @param {string} key @param {unknown} got @param {string} want @returns {QkvError} */
  const refusal = (key, got, want) => {
    const shown = ArrayBuffer.isView(got) || Array.isArray(got) ? 'a list' : (got ?? 'nothing');
    return new QkvError('config', `${label}: metadata ${quoted(key)}`, { got: shown, want });
  };
  /** A number, or a list that says the same for every layer. @param {string} key @returns {number | null} */
  const optional = (key) => {
    const value = metadata.get(key) ?? null;
    if (value === null) return null;
    if (typeof value === 'boolean') return Number(value);
    const isList = typeof value === 'object' && value.length > 0 && [...value].every((one) => one === value[0]);
    const number = isList ? value[0] : value;
    if (typeof number === 'number') return number;
    throw refusal(key, value, 'a number, the same for all layers');
  };
  return {
    label,
    metadata,
    tensors,
    refusal,
    optional,
    /** @param {string} name */
    shape: (name) => shapes.get(name) ?? null,
    /** @param {string} key @param {number} count @returns {boolean[] | null} */
    flags(key, count) {
      const value = metadata.get(key);
      return value instanceof Uint8Array && value.length === count ? Array.from(value, (one) => one === 1) : null;
    },
    /** A whole number above 0. @param {string} key @param {number} [missing] @returns {number} */
    count(key, missing) {
      const value = optional(key) ?? missing;
      if (value !== undefined && Number.isSafeInteger(value) && value > 0) return value;
      throw refusal(key, value, 'a whole number above 0');
    },
  };
}

/** @param {Asking} asking @returns {{ name: string, architecture: Architecture }} */
function architectureOf({ label, metadata, refusal }) {
  const name = metadata.get('general.architecture');
  if (typeof name !== 'string') throw refusal('general.architecture', name, 'the name of an architecture');
  const kind = metadata.get('general.type') ?? 'model';
  if (kind !== 'model') {
    throw new QkvError('unsupported', `${label}: metadata "general.type"`, { got: kind, want: 'model' });
  }
  const parts = metadata.get('split.count') ?? 0;
  if (parts !== 0 && parts !== 1) {
    const fix = 'Join the parts first: llama-gguf-split --merge.';
    throw new QkvError('unsupported', `${label}: files of the model`, { got: parts, want: 1, fix });
  }
  const architecture = ARCHITECTURES.get(name);
  if (architecture !== undefined) return { name, architecture };
  const want = [...ARCHITECTURES.keys()].join(', ');
  throw new QkvError('unsupported', `${label}: metadata "general.architecture"`, { got: name, want });
}

/**
 * @param {Asking} asking
 * @param {string} name
 * @param {Architecture} architecture
 * @param {Float32Array | null} divisors
 * @returns {Numbers}
 */
function readNumbers(asking, name, architecture, divisors) {
  const { count, optional, label } = asking;
  const { vocab, width } = tableShape(asking, name);
  const layers = count(`${name}.block_count`);
  checkLayers(asking, `${name}.block_count`, layers);
  checkNeutral(asking, name, architecture);
  const heads = count(`${name}.attention.head_count`);
  const headDim = count(`${name}.attention.key_length`, width / heads);
  const valueDim = count(`${name}.attention.value_length`, headDim);
  const ropeDims = count(`${name}.rope.dimension_count`, headDim);
  if (valueDim !== headDim) {
    const want = `${headDim}, as that of keys`;
    throw new QkvError('unsupported', `${label}: width of a head's values`, { got: valueDim, want });
  }
  if (ropeDims > headDim || (ropeDims !== headDim && !architecture.partial)) {
    throw new QkvError('unsupported', `${label}: rotated components of a head`, { got: ropeDims, want: headDim });
  }
  const window = optional(`${name}.attention.sliding_window`) ?? 0;
  return {
    layers,
    width,
    ffn: count(`${name}.feed_forward_length`),
    heads,
    kvHeads: count(`${name}.attention.head_count_kv`, heads),
    headDim,
    context: count(`${name}.context_length`),
    vocab,
    ropeDims,
    window: window === 0 ? null : window,
    rope: readRope(asking, name, ropeDims, divisors),
  };
}

/** @param {Asking} asking @param {string} name @param {Architecture} architecture */
function checkNeutral({ label, optional }, name, { isEncoder = false }) {
  // Decoders may be encoders by a word in config.json; how far a window then reaches is not said alike everywhere.
  const hasWindow = (optional(`${name}.attention.sliding_window`) ?? 0) !== 0;
  const causal = isEncoder ? { 'attention.causal': 0 } : hasWindow ? { 'attention.causal': 1 } : {};
  for (const [part, want] of Object.entries({ ...NEUTRAL, ...causal })) {
    const key = `${name}.${part}`;
    const got = optional(key) ?? want;
    if (got === want) continue;
    const fix = 'This version computes nothing else for this architecture.';
    throw new QkvError('unsupported', `${label}: metadata ${quoted(key)}`, { got, want: `${want} or nothing`, fix });
  }
}

/** The token table says how large vocabulary and width are; the metadata must agree. @param {Asking} asking @param {string} name */
function tableShape({ label, shape, count, refusal }, name) {
  const table = shape('token_embd.weight');
  if (table === null || table.length !== 2) {
    const got = table === null ? 'nothing' : table;
    throw new QkvError('weight', `${label}: shape of "token_embd.weight"`, { got, want: 'a table of two dimensions' });
  }
  const [vocab, width] = table;
  const key = `${name}.embedding_length`;
  if (count(key) !== width) throw refusal(key, count(key), `${width}, the width of the token table`);
  return { vocab, width };
}

/** Layers are counted in the file, so that a number in the metadata cannot ask for more. @param {Asking} asking @param {string} key @param {number} layers */
function checkLayers({ tensors, refusal }, key, layers) {
  const found = new Set(tensors.flatMap((tensor) => LAYER.exec(tensor.name)?.[1] ?? []));
  if (found.size !== layers) throw refusal(key, layers, `${found.size}, as many layers as the tensors belong to`);
}

/**
 * @param {Asking} asking
 * @param {string} name
 * @param {number} dims
 * @param {Float32Array | null} divisors
 * @returns {Config}
 */
function readRope(asking, name, dims, divisors) {
  const { label, metadata, optional, count, refusal } = asking;
  const theta = optional(`${name}.rope.freq_base`) ?? 10_000;
  if (divisors !== null) {
    if (divisors.length === dims / 2 && divisors.every((divisor) => divisor > 0 && divisor < LARGEST_DIVISOR)) {
      return { rope_theta: theta, rope_scaling: scalingOf(dims, theta, count(`${name}.context_length`), divisors) };
    }
    const want = `${dims / 2} numbers above 0`;
    throw new QkvError('weight', `${label}: rope_freqs.weight`, { got: `${divisors.length} numbers`, want });
  }
  const key = `${name}.rope.scaling.type`;
  const type = metadata.get(key) ?? 'none';
  if (typeof type !== 'string') throw refusal(key, type, 'a name');
  const factor = optional(`${name}.rope.scaling.factor`) ?? optional(`${name}.rope.scale_linear`) ?? 1;
  const isLinear = type === 'linear' || (type === 'none' && factor !== 1);
  if (isLinear) return { rope_theta: theta, rope_scaling: factor === 1 ? null : { rope_type: 'linear', factor } };
  if (type === 'none') return { rope_theta: theta, rope_scaling: null };
  if (type !== 'yarn') {
    const fix = type === 'longrope' ? 'Its factors stand in tensors that this version does not read.' : undefined;
    throw new QkvError('unsupported', `${label}: metadata ${quoted(key)}`, {
      got: type,
      want: 'none, linear or yarn',
      fix,
    });
  }
  const original = optional(`${name}.rope.scaling.original_context_length`);
  const scaling = { rope_type: type, factor, original_max_position_embeddings: original };
  const [fast, slow] = ['fast', 'slow'].map((part) => optional(`${name}.rope.scaling.yarn_beta_${part}`));
  const betas = { ...(fast === null ? {} : { beta_fast: fast }), ...(slow === null ? {} : { beta_slow: slow }) };
  return { rope_theta: theta, rope_scaling: { ...scaling, ...betas } };
}

/**
 * The file has the result, one divisor for each frequency; config.json has what it is computed from. Other divisors than those of
 * Llama 3 are said as LongRoPE says them, which may have any.
 * @param {number} dims
 * @param {number} theta
 * @param {number} context
 * @param {Float32Array} divisors
 * @returns {Config}
 */
function scalingOf(dims, theta, context, divisors) {
  const factor = divisors.reduce((largest, divisor) => Math.max(largest, divisor), 1);
  const { low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = LLAMA3;
  const isLlama3 = divisors.every((divisor, i) => {
    const turns = (original / (2 * Math.PI)) * theta ** ((-2 * i) / dims);
    const smooth = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return Math.abs(divisor * ((1 - smooth) / factor + smooth) - 1) < DIVISOR_TOLERANCE;
  });
  if (isLlama3) return { rope_type: 'llama3', factor, ...LLAMA3 };
  const list = [...divisors];
  return {
    rope_type: 'longrope',
    short_factor: list,
    long_factor: list,
    factor: 1,
    attention_factor: 1,
    original_max_position_embeddings: context,
  };
}

/** @param {Asking} asking @returns {Config} */
function tokenIds({ optional }) {
  const keys = { bos_token_id: 'bos', pad_token_id: 'padding', unk_token_id: 'unknown' };
  const entries = Object.entries(keys).map(([key, word]) => [key, optional(`tokenizer.ggml.${word}_token_id`)]);
  return Object.fromEntries(entries.filter(([, id]) => id !== null));
}

/** One id or a list of them, as in config.json. @param {Asking} asking @returns {Config} */
function endIds({ metadata, optional }) {
  // Checked even where the vocabulary is absent.
  for (const word of ['eos', 'eot', 'eom']) optional(`tokenizer.ggml.${word}_token_id`);
  const ends = ggufEnds(metadata);
  if (ends.length === 0) return {};
  return { eos_token_id: ends.length === 1 ? ends[0] : ends };
}

/**
 * @param {string} label
 * @param {Architecture} architecture
 * @param {Numbers} numbers
 * @returns {(tensor: GgufTensor) => Placed[]}
 */
function createPlaces(label, { names, paired = [], stacked = [] }, { heads, kvHeads, headDim }) {
  /** @param {string} stem @param {GgufTensor} tensor @returns {RowOrder | null} */
  const orderOf = (stem, tensor) => {
    if (paired.includes(stem)) return checked(tensor, pairedOrder(headDim), stem.endsWith('_k') ? kvHeads : heads);
    if (stacked.includes(stem)) return checked(tensor, stackedOrder(heads, headDim), 1);
    return null;
  };
  /** @param {GgufTensor} tensor @param {RowOrder} order @param {number} groups @returns {RowOrder} */
  const checked = (tensor, order, groups) => {
    const rows = order.rows * groups;
    if (tensor.shape[0] === rows && tensor.type.values <= (tensor.shape[1] ?? 1)) return order;
    throw new QkvError('weight', `${label}: rows of ${quoted(tensor.name)}`, { got: tensor.shape[0], want: rows });
  };
  return (tensor) => {
    const [, stem, ending] = /^(.*)\.(weight|bias)$/.exec(tensor.name.replace(LAYER, 'blk.{i}.')) ?? [];
    const name = stem !== undefined && Object.hasOwn(names, stem) ? names[stem] : undefined;
    const { name: fileName, type, shape, begin, end } = tensor;
    const info = { name: fileName, dtype: type.name, shape, begin, end };
    const isRaw = tensor.name.includes('{i}');
    if (name === undefined || stem === undefined || isRaw)
      return [{ tensor: info, fileName, isKnown: false, order: null }];
    const layer = LAYER.exec(fileName)?.[1] ?? '';
    const full = [name].flat().map((one) => `${one.replace('{i}', layer)}.${ending}`);
    const order = orderOf(stem, tensor);
    return parts(label, info, full).map((part) => ({ tensor: part, fileName, isKnown: true, order }));
  };
}

/** Equal parts of the rows. @param {string} label @param {TensorInfo} tensor @param {string[]} names @returns {TensorInfo[]} */
function parts(label, tensor, names) {
  const rows = tensor.shape[0] / names.length;
  const bytes = (tensor.end - tensor.begin) / names.length;
  if (!Number.isInteger(rows) || !Number.isInteger(bytes)) {
    const want = `a multiple of ${names.length}`;
    throw new QkvError('weight', `${label}: rows of ${quoted(tensor.name)}`, { got: tensor.shape[0], want });
  }
  return names.map((name, i) => {
    const begin = tensor.begin + i * bytes;
    return { ...tensor, name, shape: [rows, ...tensor.shape.slice(1)], begin, end: begin + bytes };
  });
}

/**
 * Rotary in transformers turns component i with i + E/2, in llama.cpp 2i with 2i + 1 for this architecture: row t E/2 + i of a
 * head stands at 2i + t.
 * @param {number} headDim
 * @returns {RowOrder}
 */
function pairedOrder(headDim) {
  const half = headDim / 2;
  return { rows: headDim, from: (row) => (row % half) * 2 + Math.floor(row / half) };
}

/**
 * Row (head, which of q k v, component) stands at (which, head, component).
 * @param {number} heads
 * @param {number} headDim
 * @returns {RowOrder}
 */
function stackedOrder(heads, headDim) {
  return {
    rows: 3 * heads * headDim,
    from(row) {
      const head = Math.floor(row / (3 * headDim));
      const which = Math.floor(row / headDim) % 3;
      return (which * heads + head) * headDim + (row % headDim);
    },
  };
}
