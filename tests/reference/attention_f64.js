/** Attention in double precision, from arXiv 1706.03762 (section 3.2.1) and the text of ONNX Attention, opsets 23 to 25, as
 * plain loops over one query at a time. The oracle for the operators; it shares no code with the library or the engine.
 *
 *   s = scale (q . k)    capped = c tanh(s / c)    masked = capped + bias    weights = softmax(masked)    output = weights V
 *
 * The bias of a key that a boolean mask, an edge, a window or a length leaves out is -Infinity; what is there in K and V
 * takes part in nothing. */

/** @typedef {{ data: ArrayLike<number>, shape: readonly number[] }} Tensor */
/**
 * @typedef {object} Options as scaledDotProductAttention takes them
 * @property {Tensor} query
 * @property {Tensor} key
 * @property {Tensor} value
 * @property {number} [heads]
 * @property {number} [kvHeads]
 * @property {{ allow?: Tensor, ignore?: Tensor, add?: Tensor } | null} [mask]
 * @property {boolean | string | number} [causal]
 * @property {readonly [number, number] | null} [window]
 * @property {ArrayLike<number> | null} [keyLengths]
 * @property {Tensor | null} [pastKey]
 * @property {Tensor | null} [pastValue]
 * @property {number | null} [scale]
 * @property {number | null} [softcap]
 * @property {string} [emptyRows]
 */

/** Reads element (b, h, i, e) of a tensor with H heads. @param {Tensor} tensor @param {number} heads */
function reader({ data, shape }, heads) {
  if (shape.length === 4) {
    const [, h, n, e] = shape;
    return { batch: shape[0], heads: h, rows: n, width: e, at: indexer(data, h * n * e, n * e, e) };
  }
  if (shape.length === 2) {
    return { batch: 1, heads: 1, rows: shape[0], width: shape[1], at: indexer(data, 0, 0, shape[1]) };
  }
  const [batch, rows, all] = shape;
  return { batch, heads, rows, width: all / heads, at: indexer(data, rows * all, all / heads, all) };
}

/** @param {ArrayLike<number>} data @param {number} perBatch @param {number} perHead @param {number} perRow */
function indexer(data, perBatch, perHead, perRow) {
  return (/** @type {number} */ b, /** @type {number} */ h, /** @type {number} */ i, /** @type {number} */ e) =>
    data[b * perBatch + h * perHead + i * perRow + e];
}

/** Past rows in front of the new ones. @param {ReturnType<typeof reader>} fresh @param {Tensor | null | undefined} past */
function joined(fresh, past) {
  if (!past) return fresh;
  const old = reader(past, fresh.heads);
  /** @type {typeof fresh.at} */
  const at = (b, h, i, e) => (i < old.rows ? old.at(b, h, i, e) : fresh.at(b, h, i - old.rows, e));
  return { ...fresh, rows: old.rows + fresh.rows, at };
}

/** The element of a mask that broadcasting from the right puts at (b, h, i, j); undefined behind a short last axis.
 * @param {Tensor} mask @param {number[]} place */
function maskElement({ data, shape }, place) {
  const wanted = place.slice(4 - shape.length);
  if (wanted[shape.length - 1] >= shape[shape.length - 1]) return undefined;
  let index = 0;
  shape.forEach((size, axis) => {
    index = index * size + (size === 1 && axis < shape.length - 1 ? 0 : wanted[axis]);
  });
  return data[index];
}

/** @param {Options} o @param {number[]} place */
function maskBias({ mask }, place) {
  if (!mask) return 0;
  if (mask.add) return maskElement(mask.add, place) ?? Number.NEGATIVE_INFINITY;
  const flag = maskElement(/** @type {Tensor} */ (mask.allow ?? mask.ignore), place);
  if (flag === undefined) return Number.NEGATIVE_INFINITY;
  return (flag !== 0) === Boolean(mask.allow) ? 0 : Number.NEGATIVE_INFINITY;
}

/** Whether edges, window and length let query i see key j. @param {Options} o @param {number} b @param {number} i
 * @param {number} j @param {number} queries @param {number} keys */
function isWithin({ causal = false, window, keyLengths, pastKey }, b, i, j, queries, keys) {
  let offset = pastKey ? pastKey.shape[2] : 0;
  if (keyLengths) offset = keyLengths[b] - queries;
  else if (causal === 'bottom-right') offset = keys - queries;
  if (typeof causal === 'number') offset = causal;
  const place = offset + i;
  if (keyLengths && j >= keyLengths[b]) return false;
  if (causal !== false && j > place) return false;
  if (window && window[0] >= 0 && j < place - window[0]) return false;
  return !(window && window[1] >= 0 && j > place + window[1]);
}

/** @param {number[]} masked @param {boolean} isEmpty @param {number} empty */
function softmax(masked, isEmpty, empty) {
  if (isEmpty) return masked.map(() => empty);
  const largest = masked.reduce((a, b) => (Number.isNaN(b) || b > a ? b : a), Number.NEGATIVE_INFINITY);
  const powers = masked.map((s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

/** @typedef {{ query: ReturnType<typeof reader>, key: ReturnType<typeof reader>, value: ReturnType<typeof reader> }} Readers */

/**
 * One query. `size` is what rounding in float32 is relative to: the largest |scale q k|, summed without signs, plus |bias|,
 * over the keys that take part, and at least 1; `wholeSize` the same over all keys, scaled or not.
 * @param {Options} o
 * @param {Readers} readers
 * @param {number} b
 * @param {number} h
 * @param {number} i
 */
function rowOf(o, { query, key }, b, h, i) {
  const g = Math.floor(h / (query.heads / key.heads));
  const scale = o.scale ?? 1 / Math.sqrt(query.width);
  const cap = o.softcap;
  const row = { scores: /** @type {number[]} */ ([]), biases: /** @type {number[]} */ ([]), size: 1, wholeSize: 1 };
  for (let j = 0; j < key.rows; j++) {
    let [sum, magnitude] = [0, 0];
    for (let e = 0; e < query.width; e++) {
      const product = query.at(b, h, i, e) * key.at(b, g, j, e);
      sum += product;
      magnitude += Math.abs(product);
    }
    const isSeen = isWithin(o, b, i, j, query.rows, key.rows);
    const bias = isSeen ? maskBias(o, [b, h, i, j]) : Number.NEGATIVE_INFINITY;
    row.scores.push(sum);
    row.biases.push(bias);
    const scaledMagnitude = magnitude * Math.abs(scale);
    if (bias !== Number.NEGATIVE_INFINITY) row.size = Math.max(row.size, scaledMagnitude + Math.abs(bias));
    const finiteBias = Number.isFinite(bias) ? Math.abs(bias) : 0;
    row.wholeSize = Math.max(row.wholeSize, magnitude, scaledMagnitude + finiteBias);
  }
  const scaled = row.scores.map((s) => s * scale);
  const capped = cap ? scaled.map((s) => cap * Math.tanh(s / cap)) : scaled;
  const masked = capped.map((s, j) => (row.biases[j] === Number.NEGATIVE_INFINITY ? row.biases[j] : s + row.biases[j]));
  const isEmpty = row.biases.every((bias) => bias === Number.NEGATIVE_INFINITY);
  const weights = softmax(masked, isEmpty, o.emptyRows === 'nan' ? Number.NaN : 0);
  return { ...row, g, scaled, capped, masked, isEmpty, weights };
}

/** @typedef {'output' | 'scores' | 'scaled' | 'capped' | 'masked' | 'weights' | 'size' | 'wholeSize' | 'valueSize'} Name */

/**
 * Everything in layout [B, H, L, ...], as plain arrays of doubles. size, wholeSize and valueSize (largest |v| that takes
 * part) are [B, H, L]; seen [B, G, M] says which keys any query may see.
 * @param {Options} o
 */
export function referenceAttention(o) {
  const query = reader(o.query, o.heads ?? 1);
  const key = joined(reader(o.key, o.kvHeads ?? query.heads), o.pastKey);
  const value = joined(reader(o.value, o.kvHeads ?? query.heads), o.pastValue);
  const empty = o.emptyRows === 'nan' ? Number.NaN : 0;
  const names = /** @type {const} */ ([
    'output',
    'scores',
    'scaled',
    'capped',
    'masked',
    'weights',
    'size',
    'wholeSize',
    'valueSize',
  ]);
  const result = /** @type {Record<Name, number[]>} */ ({});
  for (const name of names) result[name] = [];
  const seen = new Uint8Array(query.batch * key.heads * key.rows);
  for (let b = 0; b < query.batch; b++) {
    for (let h = 0; h < query.heads; h++) {
      for (let i = 0; i < query.rows; i++) {
        const row = rowOf(o, { query, key, value }, b, h, i);
        let valueSize = 0;
        const sums = new Array(value.width).fill(row.isEmpty ? empty : 0);
        row.biases.forEach((bias, j) => {
          if (bias === Number.NEGATIVE_INFINITY) return;
          seen[(b * key.heads + row.g) * key.rows + j] = 1;
          for (let c = 0; c < value.width; c++) {
            const v = value.at(b, row.g, j, c);
            sums[c] += row.weights[j] * v;
            valueSize = Math.max(valueSize, Math.abs(v));
          }
        });
        result.output.push(...sums);
        result.valueSize.push(valueSize);
        result.size.push(row.size);
        result.wholeSize.push(row.wholeSize);
        for (const name of /** @type {const} */ (['scores', 'scaled', 'capped', 'masked', 'weights']))
          result[name].push(...row[name]);
      }
    }
  }
  const { batch, heads, rows: queries } = query;
  return { ...result, seen, batch, heads, kvHeads: key.heads, queries, keys: key.rows, valueDim: value.width };
}

/**
 * An output [B, L, H Ev] or [L, Ev] in the order [B, H, L, Ev].
 * @param {Tensor} tensor
 * @param {number} heads
 */
export function byHeads(tensor, heads) {
  const { batch, heads: count, rows, width, at } = reader(tensor, heads);
  const all = [];
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < count; h++)
      for (let i = 0; i < rows; i++) for (let e = 0; e < width; e++) all.push(at(b, h, i, e));
  return all;
}
