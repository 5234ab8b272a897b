/** Multi-head attention of one layer in float64, written from the paper (arXiv 1706.03762, section 3.2) and not from the
 * engine: x -> q, k, v -> scores -> scaled -> masked -> weights -> context -> concat -> output. */

/** @typedef {{ weight: ArrayLike<number>, bias: ArrayLike<number> }} Linear weight: [out, in] */
/**
 * @typedef {object} Options
 * @property {(head: number, i: number, j: number) => number} [mask] added to the logits
 * @property {number} [scale]
 * @property {number} [temperature]
 * @property {number[]} [ablated] heads
 */

/**
 * @param {ArrayLike<number>} x [n, width]
 * @param {{ q: Linear, k: Linear, v: Linear, o: Linear }} maps
 * @param {{ n: number, width: number, heads: number }} sizes
 * @param {Options} [options]
 */
export function attention(x, maps, { n, width, heads }, { mask, scale, temperature = 1, ablated = [] } = {}) {
  const dim = width / heads;
  const [q, k, v] = [maps.q, maps.k, maps.v].map((map) => linear(x, map, n, width));
  const factor = (scale ?? 1 / Math.sqrt(dim)) / temperature;
  const weights = [];
  const masked = [];
  const concat = new Float64Array(n * width);
  for (let head = 0; head < heads; head++) {
    const logits = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let e = head * dim; e < (head + 1) * dim; e++) sum += q[i * width + e] * k[j * width + e];
        logits[i * n + j] = sum * factor + (mask?.(head, i, j) ?? 0);
      }
    }
    const rows = softmaxRows(logits, n);
    masked.push(logits);
    weights.push(rows);
    if (ablated.includes(head)) continue;
    for (let i = 0; i < n; i++) {
      for (let e = head * dim; e < (head + 1) * dim; e++) {
        for (let j = 0; j < n; j++)
          if (rows[i * n + j] > 0) concat[i * width + e] += rows[i * n + j] * v[j * width + e];
      }
    }
  }
  return { q, k, v, masked, weights, concat, output: linear(concat, maps.o, n, width) };
}

/**
 * A row in which nothing is allowed becomes zeros.
 * @param {Float64Array} logits [n, n]
 * @param {number} n
 */
function softmaxRows(logits, n) {
  const weights = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = logits.subarray(i * n, (i + 1) * n);
    const top = Math.max(...row);
    if (top === Number.NEGATIVE_INFINITY) continue;
    const exps = row.map((value) => Math.exp(value - top));
    const sum = exps.reduce((total, value) => total + value, 0);
    weights.set(
      exps.map((value) => value / sum),
      i * n,
    );
  }
  return weights;
}

/**
 * @param {ArrayLike<number>} x [n, width]
 * @param {Linear} map
 * @param {number} n
 * @param {number} width
 */
export function linear(x, { weight, bias }, n, width) {
  const out = bias.length;
  const y = new Float64Array(n * out);
  for (let i = 0; i < n; i++) {
    for (let o = 0; o < out; o++) {
      let sum = bias[o];
      for (let d = 0; d < width; d++) sum += x[i * width + d] * weight[o * width + d];
      y[i * out + o] = sum;
    }
  }
  return y;
}
