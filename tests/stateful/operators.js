/** The operators, as programs call them on the engine that models compute on as well. */
import { MultiHeadAttention, scaledDotProductAttention } from '../../web/lib/index.js';

/** @typedef {import('../../web/lib/index.js').Engine} Engine */
/** @typedef {import('../../web/lib/index.js').FloatTensor} FloatTensor */

/** @param {number} seed @param {number[]} shape @returns {FloatTensor} numbers between -1 and 1 that follow from the seed */
function numbers(seed, shape) {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  let state = seed * 7919 + 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    data[i] = state / 2 ** 31 - 1;
  }
  return { data, shape };
}

const [query, key, value] = [numbers(1, [1, 2, 5, 4]), numbers(2, [1, 2, 6, 4]), numbers(3, [1, 2, 6, 4])];
const large = numbers(4, [1, 4, 64, 16]);

/** Three forms of attention; so few that an engine keeps the plans of all. @type {Record<string, (engine: Engine) => unknown>} */
export const ATTEND = {
  plain: (engine) => scaledDotProductAttention(engine, { query, key, value }),
  weights: (engine) => scaledDotProductAttention(engine, { query, key, value, causal: true, returns: 'weights' }),
  large: (engine) => scaledDotProductAttention(engine, { query: large, key: large, value: large }),
};

const WIDTH = 8;
const parameters = {
  in_proj_weight: numbers(5, [3 * WIDTH, WIDTH]),
  in_proj_bias: numbers(6, [3 * WIDTH]),
  'out_proj.weight': numbers(7, [WIDTH, WIDTH]),
};

/** @param {Engine} engine */
export const newLayer = (engine) => new MultiHeadAttention(engine, { embedDim: WIDTH, numHeads: 2, parameters });

/** What a layer of that width is asked. @type {Record<string, (layer: MultiHeadAttention) => unknown>} */
export const PROJECT = {
  small: (layer) => [layer.forward(numbers(8, [1, 3, WIDTH])), layer.getStage('q', { head: 1 })],
  batch: (layer) => [layer.forward(numbers(9, [3, 40, WIDTH])), layer.getStage('weights', { head: 0, sequence: 2 })],
};

const shared = new ArrayBuffer(4096);
const any = (/** @type {unknown} */ given) => /** @type {any} */ (given);

/** @param {object} options @returns {(engine: Engine) => unknown} */
const attend = (options) => (engine) => scaledDotProductAttention(engine, any({ query, key, value, ...options }));

/** What the operators refuse, all with the code `argument`. @type {Record<string, (engine: Engine) => unknown>} */
export const REFUSED_ATTEND = {
  'no query': attend({ query: undefined }),
  'query without shape': attend({ query: { data: query.data } }),
  'an array-like query': attend({ query: { data: { length: 40 }, shape: query.shape } }),
  'a mask that is none': attend({ mask: 7 }),
  'keys of another width': attend({ key: numbers(1, [1, 2, 6, 3]) }),
  'an unknown option': attend({ head: 2 }),
  'one buffer for two results': (engine) => {
    const data = new Float32Array(60);
    return attend({ returns: 'weights', out: { output: data.subarray(0, 40), weights: data } })(engine);
  },
  'overlapping buffers': attend({
    returns: 'weights',
    out: { output: new Float32Array(shared, 0, 40), weights: new Float32Array(shared, 100, 60) },
  }),
  'a layer without parameters': (engine) => new MultiHeadAttention(engine, any({ embedDim: 8, numHeads: 2 })),
};
