/** What programs give to the library, by name: models, inputs, options, questions to a run, and arguments that are refused. */
import { decoderFiles, letterTokenizer } from '../api/tiny_decoder.js';
import { tinyFiles } from '../api/tiny_model.js';

/** @typedef {import('../../web/lib/index.js').Model} Model */
/** @typedef {import('../../web/lib/index.js').Run} Run */
/** @typedef {import('../../web/lib/index.js').ForwardInput} ForwardInput */
/** @typedef {import('../../web/lib/index.js').SingleInput} SingleInput */
/** @typedef {import('../../web/lib/index.js').ForwardOptions} ForwardOptions */
/** @typedef {import('../../web/lib/index.js').GenerateOptions} GenerateOptions */
/** @typedef {Record<string, Uint8Array>} Files */

const tokenizer = { 'tokenizer.json': letterTokenizer() };

/** One encoder and two decoders; every one knows the letters. @type {{ bert: Files, gpt2: Files, llama: Files }} */
const FILES = {
  bert: { ...tinyFiles(), ...tokenizer },
  gpt2: { ...decoderFiles('gpt2', { eos_token_id: 5 }), ...tokenizer },
  llama: { ...decoderFiles('llama'), ...tokenizer },
};
/** @typedef {keyof typeof FILES} Kind */
export const KINDS = /** @type {Kind[]} */ (Object.keys(FILES));

/** A new object each time, by which a worker's model is known. @param {Kind} kind @returns {Files} */
export const filesOf = (kind) => ({ ...FILES[kind] });

const bytes = (/** @type {number[]} */ ...values) => Uint8Array.from(values);
/** For arguments that are not of their type, which is the point of them. @param {unknown} value */
const any = (value) => /** @type {any} */ (value);

/** @type {Record<string, ForwardInput>} */
export const INPUTS = {
  ids: { ids: [1, 2, 3] },
  word: 'ab',
  text: 'The animal did not cross',
  pair: ['ab c', 'de'],
  types: { ids: [4, 5, 6, 7], typeIds: new Uint8Array(4) },
  long: { ids: Array.from({ length: 80 }, (_, i) => (i * 7) % 60) },
  batch: { batch: ['a b', { ids: [5, 4, 3] }, ['a', 'b']] },
  // Refused, each in its way.
  empty: '',
  unknown: { ids: [1, 900] },
  none: { ids: [] },
};

/** @type {Record<string, ForwardOptions>} */
export const OPTIONS = {
  plain: {},
  ablate: { ablate: [{ layer: 1, head: 2 }] },
  scale: { scale: 0.25, temperature: 2 },
  mask: { mask: { allow: { data: bytes(1, 0, 1), shape: [3] }, layers: [1] } },
  add: { mask: { add: { data: new Float32Array(9).fill(-0.5), shape: [3, 3] } } },
  'layer 9': { ablate: [{ layer: 9, head: 0 }] },
};

/** @type {Record<string, GenerateOptions>} */
export const GENERATE = {
  three: { maxNewTokens: 3 },
  drawn: { maxNewTokens: 12, temperature: 1, topK: 20, seed: 7 },
  many: { maxNewTokens: 40 },
};

/** @type {Record<string, string[]>} */
export const TEXTS = {
  one: ['a b c'],
  three: ['a', 'b c d', 'The animal'],
  // More than fit into one run of embed.
  many: Array.from({ length: 30 }, (_, i) => 'abcdefghijklmnop'.repeat(4).slice(i)),
  empty: ['a', ''],
};

/** @type {Record<string, (run: Run) => Promise<unknown>>} */
export const READS = {
  weights: (run) => run.getWeights(1, 2),
  window: (run) => run.getWeights(0, 1, { stage: 'masked', rows: [1, 2] }),
  second: (run) => run.getWeights(0, 0, { sequence: 1 }),
  overview: (run) => run.overview({ size: 4 }),
  q: (run) => run.getStage('q', { layer: 1, head: 1 }),
  context: (run) => run.getStage('context', { layer: 0, head: 2 }),
  output: (run) => run.getStage('output', { layer: 1 }),
  embeddings: (run) => run.hidden(0),
  hidden: (run) => run.hidden(2),
  embedding: (run) => run.embedding(),
  last: (run) => run.embedding({ pooling: 'last', normalize: false }),
  logits: (run) => run.logits(),
  next: (run) => run.nextTokens(3, { position: 0 }),
  'layer 9': (run) => run.getWeights(9, 0),
};

/** @typedef {{ code: string, ask: (model: Model) => Promise<unknown> }} Refused */

const NOT_FINITE = [Number.NaN, Number.POSITIVE_INFINITY];
const cycle = /** @type {Record<string, unknown>} */ ({});
cycle.ids = cycle;

/** @param {unknown} input @param {string} [code] @returns {Refused} */
const input = (input, code = 'argument') => ({ code, ask: (model) => model.forward(any(input)) });
/** @param {unknown} options @param {string} [code] @returns {Refused} */
const option = (options, code = 'argument') => ({ code, ask: (model) => model.forward({ ids: [1, 2] }, any(options)) });

/** Arguments that a model refuses, with the code. @type {Record<string, Refused>} */
export const REFUSED = {
  'forward()': input(undefined),
  'forward(null)': input(null),
  'forward(7)': input(7),
  'forward(Symbol)': input(Symbol('s')),
  'forward(function)': input(() => 1),
  'forward([one])': input(['a']),
  'forward([a, 7])': input(['a', 7]),
  'forward({})': input(Object.create(null)),
  'forward(Map)': input(new Map()),
  'forward(bytes)': input(bytes(1, 2)),
  'batch: new Array(2)': input({ batch: new Array(2) }),
  'batch: []': input({ batch: [] }),
  'batch: null': input({ batch: null }),
  'batch: [null]': input({ batch: ['a', null] }),
  'batch: array-like': input({ batch: { length: 1, 0: 'a' } }),
  'batch of batches': input({ batch: [{ batch: ['a'] }] }),
  'batch and ids': input({ batch: ['a'], ids: [1] }),
  'ids: null': input({ ids: null }),
  'ids: text': input({ ids: '123' }),
  'ids: new Array(2)': input({ ids: new Array(2) }),
  'ids: [1.5]': input({ ids: [1, 1.5] }),
  'ids: [-1]': input({ ids: [-1] }, 'range'),
  'ids: BigInt64Array': input({ ids: new BigInt64Array(2) }),
  'ids: DataView': input({ ids: new DataView(new ArrayBuffer(8)) }),
  'ids: itself': input(cycle),
  'ids: 2^32': input({ ids: [2 ** 32] }, 'range'),
  'ids: 5,000': input({ ids: new Int32Array(5000) }, 'range'),
  'typeIds: one of two': input({ ids: [1, 2], typeIds: [0] }),
  'typeIds: null': input({ ids: [1, 2], typeIds: null }),
  'typeIds: [9]': input({ ids: [1], typeIds: [9] }, 'range'),
  'source and target': input({ source: 'a', target: 'b' }, 'unsupported'),
  'options: null': option(null),
  'options: []': option([]),
  'options: text': option('x'),
  'options: unknown': option({ layer: 1 }),
  'signal: {}': option({ signal: {} }),
  'scale: NaN': option({ scale: NOT_FINITE[0] }),
  'scale: null': option({ scale: null }),
  'scale: function': option({ scale: () => 1 }),
  'temperature: 0': option({ temperature: 0 }),
  'temperature: text': option({ temperature: '1' }),
  'ablate: text': option({ ablate: 'all' }),
  'ablate: new Array(1)': option({ ablate: new Array(1) }),
  'ablate: [null]': option({ ablate: [null] }),
  'ablate: [7]': option({ ablate: [7] }),
  'ablate: null': option({ ablate: null }),
  'ablate: layer 9': option({ ablate: [{ layer: 9, head: 0 }] }, 'range'),
  'mask: 7': option({ mask: 7 }),
  'mask: {}': option({ mask: {} }),
  'mask: allow null': option({ mask: { allow: null } }),
  'mask: no shape': option({ mask: { allow: { data: bytes(1, 1) } } }),
  'mask: shape [3]': option({ mask: { allow: { data: bytes(1, 1), shape: [3] } } }),
  'mask: Infinity': option({ mask: { add: { data: Float32Array.of(0, NOT_FINITE[1]), shape: [2] } } }),
  'mask: layers [0.5]': option({ mask: { allow: { data: bytes(1, 1), shape: [2] }, layers: [0.5] } }),
  'mask: layers 2': option({ mask: { allow: { data: bytes(1, 1), shape: [2] }, layers: 2 } }),
  'mask: new Array(1) layers': option({ mask: { allow: { data: bytes(1, 1), shape: [2] }, layers: new Array(1) } }),
  'tokenize()': { code: 'argument', ask: (model) => model.tokenize(any(undefined)) },
  'tokenize(7)': { code: 'argument', ask: (model) => model.tokenize(any(7)) },
  'tokenize(a, null)': { code: 'argument', ask: (model) => model.tokenize('a', any(null)) },
  'embed(text)': { code: 'argument', ask: (model) => model.embed(any('a')) },
  'embed()': { code: 'argument', ask: (model) => model.embed(any(undefined)) },
  'embed([7])': { code: 'argument', ask: (model) => model.embed(any(['a', 7])) },
  'embed(new Array(2))': { code: 'argument', ask: (model) => model.embed(new Array(2)) },
  'embed: pooling': { code: 'argument', ask: (model) => model.embed(['a'], any({ pooling: 'most' })) },
  'embed: onProgress': { code: 'argument', ask: (model) => model.embed(['a'], any({ onProgress: 7 })) },
};

/** The same for generate: where the model is no decoder, that is what is said. @type {Record<string, Refused>} */
export const REFUSED_GENERATE = {
  'generate()': { code: 'argument', ask: (model) => model.generate(any(undefined)) },
  'generate: batch': { code: 'unsupported', ask: (model) => model.generate(any({ batch: ['a'] })) },
  'generate: new Array(2)': { code: 'argument', ask: (model) => model.generate(any(new Array(2))) },
  'maxNewTokens: 0': { code: 'range', ask: (model) => model.generate('a', { maxNewTokens: 0 }) },
  'maxNewTokens: text': { code: 'argument', ask: (model) => model.generate('a', any({ maxNewTokens: '3' })) },
  'topP: 2': { code: 'range', ask: (model) => model.generate('a', { topP: 2 }) },
  'seed: text': { code: 'argument', ask: (model) => model.generate('a', any({ seed: 'x' })) },
  'onToken: text': { code: 'argument', ask: (model) => model.generate('a', any({ onToken: 'x' })) },
  'generate: options null': { code: 'argument', ask: (model) => model.generate('a', any(null)) },
};

/** Questions that a run refuses. @type {Record<string, { code: string, ask: (run: Run) => Promise<unknown> }>} */
export const REFUSED_READS = {
  'getWeights()': { code: 'argument', ask: (run) => run.getWeights(any(undefined), 0) },
  "getWeights('0')": { code: 'argument', ask: (run) => run.getWeights(any('0'), 0) },
  'getWeights(-1)': { code: 'range', ask: (run) => run.getWeights(-1, 0) },
  'getWeights: rows [1]': { code: 'argument', ask: (run) => run.getWeights(0, 0, { rows: any([1]) }) },
  'getWeights: rows of nothing': { code: 'argument', ask: (run) => run.getWeights(0, 0, { rows: any(new Array(2)) }) },
  'getWeights: sequence 7': { code: 'range', ask: (run) => run.getWeights(0, 0, { sequence: 7 }) },
  'getWeights: stage null': { code: 'argument', ask: (run) => run.getWeights(0, 0, any({ stage: null, x: 1 })) },
  'getStage()': { code: 'argument', ask: (run) => run.getStage(any(undefined)) },
  'getStage: no head': { code: 'argument', ask: (run) => run.getStage('q', { layer: 0 }) },
  'getStage(Symbol)': { code: 'argument', ask: (run) => run.getStage(any(Symbol('q'))) },
  'hidden(3)': { code: 'range', ask: (run) => run.hidden(3) },
  'hidden: null': { code: 'argument', ask: (run) => run.hidden(0, any(null)) },
  'overview: size 0': { code: 'range', ask: (run) => run.overview({ size: 0 }) },
  'overview: null': { code: 'argument', ask: (run) => run.overview(any(null)) },
  'embedding: pooling': { code: 'argument', ask: (run) => run.embedding(any({ pooling: 'most' })) },
  'embedding: normalize': { code: 'argument', ask: (run) => run.embedding(any({ normalize: 1 })) },
};

/** @typedef {{ code: string, source: () => unknown, options?: Record<string, unknown> }} RefusedLoad */

/** @param {string} code @param {Files} files @returns {RefusedLoad} */
const files = (code, files) => ({ code, source: () => ({ ...FILES.bert, ...files }) });
/** @param {string} code @param {Record<string, unknown>} options @returns {RefusedLoad} */
const loading = (code, options) => ({ code, source: () => filesOf('bert'), options });

/** Loads that are refused, early and late. @type {Record<string, RefusedLoad>} */
export const REFUSED_LOADS = {
  nothing: { code: 'source', source: () => undefined },
  'a number': { code: 'source', source: () => 7 },
  'no files': { code: 'source', source: () => ({}) },
  'no weights': { code: 'missing', source: () => ({ 'config.json': FILES.bert['config.json'] }) },
  'no config': { code: 'missing', source: () => ({ 'model.safetensors': FILES.bert['model.safetensors'] }) },
  'a config that is no JSON': files('json', { 'config.json': bytes(123) }),
  'a tokenizer that is no JSON': files('json', { 'tokenizer.json': bytes(91, 93, 93) }),
  'weights cut short': files('format', { 'model.safetensors': FILES.bert['model.safetensors'].subarray(0, -9) }),
  'weights of another model': files('weight', { 'model.safetensors': FILES.gpt2['model.safetensors'] }),
  'an unknown option': loading('argument', { workers: 2 }),
  'an unknown precision': loading('argument', { precision: 'q9' }),
  'maxTokens 0': loading('range', { maxTokens: 0 }),
  'a callback that is none': loading('argument', { onProgress: 'x' }),
  'a signal that is none': loading('argument', { signal: true }),
};
