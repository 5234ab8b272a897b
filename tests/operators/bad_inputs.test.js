/** Every bad input of an operator gets one clear error that names the argument, or a defined result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, MultiHeadAttention, QkvError, scaledDotProductAttention } from 'qkv';
import { qkvError } from '../api/golden.js';
import { flags, floats, numbers, triple } from './tensors.js';

/** @param {() => unknown} action @param {string} code @param {RegExp} [message] */
const expectError = (action, code, message = /./) => assert.throws(action, qkvError(code, message));

const engine = await init({ variant: 'simd' });
const good = triple(1); // [2, 4, 7, 8] and [2, 4, 9, 8]
const threeAxes = { query: numbers(1, [2, 7, 32]), key: numbers(2, [2, 9, 32]), value: numbers(3, [2, 9, 32]) };
const twoAxes = { query: numbers(1, [3, 4]), key: numbers(2, [3, 4]), value: numbers(3, [3, 4]) };
const past = { pastKey: numbers(4, [2, 4, 3, 8]), pastValue: numbers(5, [2, 4, 3, 8]) };
const moved = numbers(6, [2, 4, 7, 8]);
structuredClone(moved.data, { transfer: [moved.data.buffer] });
/** Younger than the type library of the project. */
const ResizableBuffer =
  /** @type {new (size: number, options: object) => ArrayBuffer & { resize: (size: number) => void }} */ (
    /** @type {unknown} */ (ArrayBuffer)
  );
const resizable = new ResizableBuffer(1792, { maxByteLength: 4096 });
const shrunk = { data: new Float32Array(resizable), shape: [2, 4, 7, 8] };
resizable.resize(1024);
const half = { data: new Uint16Array(448), shape: [2, 4, 7, 8] };

/** @type {[string, object, RegExp][]} what it is, the options beside the good ones, what the message says */
const REFUSED = [
  ['a misspelt option', { sclae: 1 }, /name of an option: got "sclae", want query, key/],
  ['another name in mask', { mask: { allow: flags([7, 9]), Add: 1 } }, /name in mask: got "Add"/],
  ['another name in out', { out: { ouput: new Float32Array(4) } }, /name in out: got "ouput"/],
  ['heads with two axes', { ...twoAxes, heads: 2 }, /heads: got 2, want 1, as the shape says/],
  ['kvHeads with two axes', { ...twoAxes, kvHeads: 2 }, /kvHeads: got 2, want 1, as the shape says/],
  ['no query', { query: undefined }, /query: data: got "undefined", want a Float32Array/],
  ['an array for data', { query: { data: [1, 2], shape: [1, 2] } }, /query: data: got "Array", want a Float32Array/],
  ['half precision', { key: half }, /key: data: got "Uint16Array", want a Float32Array/],
  [
    'double precision',
    { value: { data: new Float64Array(576), shape: [2, 4, 9, 8] } },
    /value: data: got "Float64Array"/,
  ],
  ['no shape', { query: { data: new Float32Array(4) } }, /query: shape: got "undefined", want an array/],
  ['one axis', { query: numbers(1, [8]) }, /query: shape: got \[8\], want 2 to 4 axes/],
  ['five axes', { query: numbers(1, [1, 1, 1, 1, 8]) }, /query: shape: got .*, want 2 to 4 axes/],
  ['unequal axes', { key: numbers(1, [9, 8]) }, /key: shape: got \[9,8\], want 4 axes/],
  ['a negative size', { query: { data: new Float32Array(0), shape: [2, 4, -1, 8] } }, /query: shape\[2\]: got -1/],
  [
    'a size of 2^31',
    { query: { data: new Float32Array(0), shape: [2, 4, 2 ** 31, 0] } },
    /query: shape\[2\]: got 2147483648/,
  ],
  [
    'a size of NaN',
    { query: { data: new Float32Array(0), shape: [2, 4, Number.NaN, 8] } },
    /query: shape\[2\]: got NaN/,
  ],
  ['a size in text', { query: { data: new Float32Array(0), shape: [2, 4, '8', 8] } }, /query: shape\[2\]: got "8"/],
  ['a fraction', { query: { data: new Float32Array(0), shape: [2, 4, 1.5, 8] } }, /query: shape\[2\]: got 1.5/],
  [
    'sizes whose product overflows',
    { query: { data: new Float32Array(0), shape: [2 ** 20, 2 ** 20, 2 ** 20, 8] } },
    /query: elements of data: got 0, want 9223372036854776000/,
  ],
  [
    'a buffer that is too short',
    { query: { data: new Float32Array(447), shape: [2, 4, 7, 8] } },
    /query: elements of data: got 447, want 448/,
  ],
  [
    'a buffer that is too long',
    { query: { data: new Float32Array(449), shape: [2, 4, 7, 8] } },
    /query: elements of data: got 449, want 448/,
  ],
  ['a detached buffer', { query: moved }, /query: elements of data: got 0, want 448.*transferred/],
  ['a buffer shrunk between calls', { query: shrunk }, /query: elements of data: got 256, want 448/],
  ['width 0', triple(1, { dim: 0, valueDim: 8 }), /query: width of a head: got 0/],
  ['value width 0', triple(1, { valueDim: 0 }), /value: width of a head: got 0/],
  ['unequal batches', { key: numbers(1, [3, 4, 9, 8]) }, /key: shape\[0\]: got 3, want 2, the batch of query/],
  ['unequal widths', { key: numbers(1, [2, 4, 9, 5]) }, /key: shape\[3\]: got 5, want 8, the width of query/],
  ['unequal rows', { value: numbers(1, [2, 4, 8, 8]) }, /value: shape\[2\]: got 8, want 9, the rows of key/],
  ['heads that do not divide', triple(1, { kvHeads: 3 }), /heads: got 4, want a multiple of the 3 key\/value heads/],
  ['heads against the shape', { heads: 3 }, /heads: got 3, want 4, as the shape says/],
  ['heads 0', { ...threeAxes, heads: 0 }, /heads: got 0, want a whole number from 1/],
  ['heads -1', { ...threeAxes, heads: -1 }, /heads: got -1/],
  ['heads NaN', { ...threeAxes, heads: Number.NaN }, /heads: got NaN/],
  ['heads in text', { ...threeAxes, heads: '8' }, /heads: got "8"/],
  ['heads 2^31', { ...threeAxes, heads: 2 ** 31 }, /heads: got 2147483648/],
  [
    'heads that do not divide the width',
    { ...threeAxes, heads: 5 },
    /query: shape\[2\]: got 32, want a multiple of heads \(5\)/,
  ],
  ['kvHeads unlike the key', { ...threeAxes, heads: 4, kvHeads: 2 }, /key: shape\[2\]: got 32, want 16/],
  [
    'a mask of two kinds',
    { mask: { allow: flags([9]), add: floats([9], () => 0) } },
    /mask: got \["allow","add"\], want exactly one/,
  ],
  [
    'a mask of no kind',
    { mask: { data: new Uint8Array(9), shape: [9] } },
    /mask: got \["data","shape"\], want exactly one of allow, ignore, add/,
  ],
  ['a mask in text', { mask: 'causal' }, /mask: got "string"/],
  [
    'a boolean mask of floats',
    { mask: { allow: floats([9], () => 1) } },
    /mask.allow: data: got "Float32Array", want a Uint8Array/,
  ],
  ['a float mask of bytes', { mask: { add: flags([9]) } }, /mask.add: data: got "Uint8Array", want a Float32Array/],
  ['a mask with more keys', { mask: { allow: flags([7, 10]) } }, /mask.allow: shape\[1\]: got 10, want at most 9/],
  [
    'a mask with other rows',
    { mask: { ignore: flags([6, 9]) } },
    /mask.ignore: shape\[0\]: got 6, want 1 or 7 queries/,
  ],
  [
    'a mask with other heads',
    { mask: { allow: flags([2, 7, 9]) } },
    /mask.allow: shape\[0\]: got 2, want 1 or 4 heads/,
  ],
  [
    'a mask with another batch',
    { mask: { allow: flags([3, 1, 1, 9]) } },
    /mask.allow: shape\[0\]: got 3, want 1 or 2 seq/,
  ],
  ['a mask of five axes', { mask: { allow: flags([1, 1, 1, 1, 9]) } }, /mask.allow: shape: got .*, want 1 to 4 axes/],
  ['a scale of NaN', { scale: Number.NaN }, /scale: got NaN, want a finite number/],
  ['an infinite scale', { scale: Number.POSITIVE_INFINITY }, /scale: got Infinity/],
  ['a scale no float can hold', { scale: 1e300 }, /scale: got 1e\+300/],
  ['a scale in text', { scale: '1' }, /scale: got "1"/],
  ['a negative softcap', { softcap: -1 }, /softcap: got -1, want 0 \(none\) or a number from/],
  ['an infinite softcap', { softcap: Number.POSITIVE_INFINITY }, /softcap: got Infinity/],
  ['a softcap of NaN', { softcap: Number.NaN }, /softcap: got NaN/],
  ['a softcap no float can hold', { softcap: 1e-50 }, /softcap: got 1e-50/],
  ['causal in other words', { causal: 'lower' }, /causal: got "lower", want true, false, 'top-left'/],
  ['a fraction as offset', { causal: 0.5 }, /causal: got 0.5/],
  ['a window of one number', { window: [1] }, /window: got \[1\], want \[left, right\]/],
  ['a window below -1', { window: [-2, 0] }, /window\[0\]: got -2/],
  ['an infinite window', { window: [0, Number.POSITIVE_INFINITY] }, /window\[1\]: got Infinity/],
  ['lengths in an array', { keyLengths: [9, 9] }, /keyLengths: got "Array", want an Int32Array/],
  ['lengths of another batch', { keyLengths: Int32Array.of(9) }, /keyLengths: elements: got 1, want 2, the batch/],
  [
    'a length above the keys',
    { keyLengths: Int32Array.of(9, 10) },
    /keyLengths\[1\]: got 10, want a whole number from 0 to 9/,
  ],
  ['a negative length', { keyLengths: Int32Array.of(-1, 9) }, /keyLengths\[0\]: got -1/],
  [
    'lengths with a past',
    { ...past, keyLengths: Int32Array.of(9, 9) },
    /keyLengths: got "keyLengths with pastKey", want one of them/,
  ],
  ['a past key alone', { pastKey: past.pastKey }, /pastValue: got "nothing", want a tensor, since pastKey is given/],
  [
    'a past value alone',
    { pastValue: past.pastValue },
    /pastKey: got "nothing", want a tensor, since pastValue is given/,
  ],
  [
    'a past of three axes',
    { pastKey: numbers(1, [4, 3, 8]), pastValue: past.pastValue },
    /pastKey: shape: got \[4,3,8\], want 4 axes/,
  ],
  [
    'a past of other heads',
    { pastKey: numbers(1, [2, 2, 3, 8]), pastValue: past.pastValue },
    /pastKey: shape\[1\]: got 2, want 4, the heads of key/,
  ],
  [
    'pasts of unequal rows',
    { pastKey: past.pastKey, pastValue: numbers(1, [2, 4, 2, 8]) },
    /pastValue: shape\[2\]: got 2, want 3, the rows of pastKey/,
  ],
  ['a stage that is none', { returns: 'logits' }, /returns: got "logits", want output, scores/],
  ['emptyRows in other words', { emptyRows: 'ones' }, /emptyRows: got "ones", want zero, nan/],
  ['out of another length', { out: { output: new Float32Array(447) } }, /out.output: elements: got 447, want 448/],
  [
    'out of another type',
    { out: { output: new Float64Array(448) } },
    /out.output: got "Float64Array", want a Float32Array/,
  ],
  ['out that is a buffer', { out: 5 }, /out: got "number"/],
];

for (const [name, options, message] of REFUSED) {
  test(`refused: ${name}`, () => {
    expectError(
      () => scaledDotProductAttention(engine, /** @type {any} */ ({ ...good, ...options })),
      'argument',
      message,
    );
  });
}

/** @type {[string, object, (output: Float32Array) => boolean][]} */
const DEFINED = [
  ['scale 0', { scale: 0 }, (output) => output.every(Number.isFinite)],
  ['a negative scale', { scale: -1 }, (output) => output.every(Number.isFinite)],
  [
    'softcap 0 is none',
    { softcap: 0 },
    (output) => output[5] === scaledDotProductAttention(engine, good).output.data[5],
  ],
  ['softcap 1e-30', { softcap: 1e-30 }, (output) => output.every(Number.isFinite)],
  [
    'a mask that is false everywhere',
    { mask: { allow: flags([9], () => false) } },
    (output) => output.every((x) => x === 0),
  ],
  ['a mask without columns', { mask: { allow: flags([0]) } }, (output) => output.every((x) => x === 0)],
  ['a mask of NaN', { mask: { add: floats([9], () => Number.NaN) } }, (output) => output.every(Number.isNaN)],
  [
    'a mask of Infinity',
    { mask: { add: floats([9], () => Number.POSITIVE_INFINITY) } },
    (output) => output.every(Number.isNaN),
  ],
  [
    'a column of -Infinity',
    { mask: { add: floats([9], (j) => (j === 4 ? Number.NEGATIVE_INFINITY : 0)) } },
    (output) => output.every(Number.isFinite),
  ],
  ['-1e38 everywhere', { mask: { add: floats([9], () => -1e38) } }, (output) => output.every(Number.isFinite)],
  [
    'causal with fewer keys than queries',
    { ...triple(1, { keys: 3 }), causal: true },
    (output) => output.every(Number.isFinite),
  ],
  [
    'causal at the bottom right with fewer keys',
    { ...triple(1, { keys: 3 }), causal: 'bottom-right' },
    (output) => output.subarray(0, 32).every((x) => x === 0) && output[32] !== 0,
  ],
  [
    'causal with a past of length 0',
    { pastKey: numbers(1, [2, 4, 0, 8]), pastValue: numbers(1, [2, 4, 0, 8]), causal: true },
    (output) => output.every(Number.isFinite),
  ],
  [
    'causal with lengths below the queries',
    { keyLengths: Int32Array.of(2, 0), causal: true },
    (output) => output.subarray(0, 40).every((x) => x === 0) && output.subarray(224).every((x) => x === 0),
  ],
  [
    'a shared buffer',
    { query: { data: new Float32Array(new SharedArrayBuffer(1792)), shape: [2, 4, 7, 8] } },
    (output) => output.every(Number.isFinite),
  ],
  [
    'a view in the middle of a buffer',
    { query: { data: new Float32Array(new ArrayBuffer(1800), 4, 448), shape: [2, 4, 7, 8] } },
    (output) => output.every(Number.isFinite),
  ],
  [
    'the largest offset',
    { causal: 2 ** 31 - 1, window: [2 ** 31 - 1, 2 ** 31 - 1] },
    (output) => output.every(Number.isFinite),
  ],
];

for (const [name, options, holds] of DEFINED) {
  test(`defined: ${name}`, () => {
    const { output } = scaledDotProductAttention(engine, { ...good, ...options });
    assert.ok(holds(output.data), `${output.data.subarray(0, 48)}`);
  });
}

test('an engine that is none, that was disposed, or ended while a layer lives', async () => {
  for (const nothing of [undefined, null, {}, 'engine']) {
    expectError(
      () => scaledDotProductAttention(/** @type {any} */ (nothing), good),
      'argument',
      /engine: .*want what init\(\) returned/,
    );
  }
  const other = await init({ variant: 'simd' });
  scaledDotProductAttention(other, good);
  other.dispose();
  other.dispose();
  expectError(() => scaledDotProductAttention(other, good), 'disposed', /engine was disposed/);
  expectError(() => scaledDotProductAttention(engine, /** @type {any} */ (null)), 'argument', /options: got "null"/);
});

test('memory that is refused is a sentence, and later calls work', async () => {
  const small = await init({ variant: 'simd', memoryLimit: 400_000 });
  expectError(
    () => scaledDotProductAttention(small, triple(1, { queries: 2000, keys: 2000 })),
    'memory',
    /It needs .* MB and .* are available/,
  );
  assert.ok(scaledDotProductAttention(small, good).output.data.every(Number.isFinite));
  // Plans kept for other shapes give way.
  for (let queries = 1; queries < 60; queries++) scaledDotProductAttention(small, triple(1, { queries, keys: 40 }));
  small.dispose();
});

test('every allocation that fails leaves an engine that works', async () => {
  const weights = layerParameters();
  let failures = 0;
  for (let limit = 1000; limit < 60_000; limit += 1500) {
    const small = await init({ variant: 'simd', memoryLimit: limit });
    try {
      const layer = new MultiHeadAttention(small, { embedDim: 16, numHeads: 4, parameters: weights });
      layer.forward(numbers(1, [1, 20, 16]));
      layer.dispose();
    } catch (error) {
      assert.ok(error instanceof QkvError && error.code === 'memory', String(error));
      failures++;
    }
    small.dispose();
  }
  assert.ok(failures > 3 && failures < 40, `${failures}`);
});

test('memory is given back over many layers', () => {
  const before = engine.memory().used;
  for (let i = 0; i < 1000; i++) {
    const layer = new MultiHeadAttention(engine, { embedDim: 16, numHeads: 4, parameters: layerParameters() });
    if (i % 10 === 0) layer.forward(numbers(i, [1, 5, 16]));
    layer.dispose();
    layer.dispose();
  }
  assert.equal(engine.memory().used, before);
});

/** @returns {Record<string, import('qkv').FloatTensor>} */
function layerParameters() {
  return { in_proj_weight: numbers(1, [48, 16]), 'out_proj.weight': numbers(2, [16, 16]) };
}

/** @type {[string, object, RegExp, string?][]} */
const REFUSED_LAYERS = [
  ['no options', /** @type {any} */ (null), /MultiHeadAttention: embedDim/],
  ['embedDim 0', { embedDim: 0 }, /embedDim: got 0, want 1 to/, 'range'],
  ['embedDim in text', { embedDim: '16' }, /embedDim: got "16", want a whole number/],
  ['heads that do not divide', { numHeads: 3 }, /embedDim: got 16, want a multiple of numHeads \(3\)/],
  ['key/value heads that do not divide', { numKvHeads: 3 }, /numHeads: got 4, want a multiple of numKvHeads \(3\)/],
  [
    'a misspelt parameter',
    { parameters: { ...layerParameters(), in_proj_bais: numbers(1, [48]) } },
    /name in parameters: got "in_proj_bais"/,
  ],
  [
    'joint and split weights',
    { parameters: { ...layerParameters(), q_proj_weight: numbers(1, [16, 16]) } },
    /parameters: got "in_proj_weight and q_proj_weight", want one way or the other/,
  ],
  ['no parameters', { parameters: undefined }, /parameters: got "undefined", want tensors by torch's names/],
  ['empty parameters', { parameters: {} }, /parameters: in_proj_weight: got "no tensors"/],
  [
    'a missing output projection',
    { parameters: { in_proj_weight: numbers(1, [48, 16]) } },
    /parameters: out_proj.weight: got "only in_proj_weight"/,
  ],
  [
    'a weight of another shape',
    { parameters: { ...layerParameters(), in_proj_weight: numbers(1, [16, 48]) } },
    /parameters: in_proj_weight: shape\[0\]: got 16, want 48/,
  ],
  [
    'a bias of another shape',
    { parameters: { ...layerParameters(), in_proj_bias: numbers(1, [16]) } },
    /in_proj_bias: shape\[0\]: got 16, want 48/,
  ],
  [
    'one bias for keys',
    { parameters: { ...layerParameters(), bias_k: numbers(1, [1, 1, 16]) } },
    /bias_v: got "nothing"/,
  ],
  ['a joint weight with another kDim', { kDim: 8 }, /in_proj_weight: got "kDim 8, vDim 16"/],
  ['batchFirst in text', { batchFirst: 'no' }, /batchFirst: got "no", want true or false/],
];

for (const [name, options, message, code = 'argument'] of REFUSED_LAYERS) {
  test(`refused layer: ${name}`, () => {
    const all = { embedDim: 16, numHeads: 4, parameters: layerParameters() };
    const given = /** @type {any} */ (options === null ? {} : { ...all, ...options });
    expectError(() => new MultiHeadAttention(engine, given), code, message);
  });
}

/** @type {[string, any[], RegExp][]} */
const REFUSED_CALLS = [
  ['no query', [], /forward: query: data/],
  ['another width', [numbers(1, [2, 5, 8])], /forward: query: shape\[2\]: got 8, want 16, the embedDim/],
  ['another batch', [numbers(1, [2, 5, 16]), numbers(1, [3, 5, 16])], /key: shape\[0\]: got 3, want 2/],
  [
    'other rows',
    [numbers(1, [2, 5, 16]), numbers(1, [2, 6, 16]), numbers(1, [2, 5, 16])],
    /value: shape\[1\]: got 5, want 6/,
  ],
  ['unequal axes', [numbers(1, [2, 5, 16]), numbers(1, [6, 16])], /key: shape: got \[6,16\], want 3 axes/],
  [
    'a padding mask of other keys',
    [numbers(1, [2, 5, 16]), undefined, undefined, { keyPaddingMask: flags([2, 4]) }],
    /keyPaddingMask: shape\[1\]: got 4, want 5/,
  ],
  [
    'an attention mask of other heads',
    [numbers(1, [2, 5, 16]), undefined, undefined, { attnMask: flags([4, 5, 5]) }],
    /attnMask: shape\[0\]: got 4, want 8, batch times heads/,
  ],
  [
    'a mask of another type',
    [numbers(1, [2, 5, 16]), undefined, undefined, { attnMask: { data: new Int8Array(25), shape: [5, 5] } }],
    /attnMask: data: got "Int8Array"/,
  ],
  [
    'needWeights in text',
    [numbers(1, [2, 5, 16]), undefined, undefined, { needWeights: 'yes' }],
    /needWeights: got "yes"/,
  ],
];

for (const [name, args, message] of REFUSED_CALLS) {
  test(`refused forward: ${name}`, () => {
    const layer = new MultiHeadAttention(engine, { embedDim: 16, numHeads: 4, parameters: layerParameters() });
    expectError(() => /** @type {any} */ (layer).forward(...args), 'argument', message);
    layer.dispose();
  });
}

test('a layer before its first pass, with a wrong place, and after dispose', () => {
  const layer = new MultiHeadAttention(engine, { embedDim: 16, numHeads: 4, parameters: layerParameters() });
  expectError(() => layer.getStage('q', { head: 0 }), 'state', /no forward pass yet/);
  layer.forward(numbers(1, [5, 16]));
  expectError(
    () => layer.getStage(/** @type {any} */ ('logits'), { head: 0 }),
    'argument',
    /getStage: name: got "logits"/,
  );
  expectError(() => layer.getStage('q', { head: 4 }), 'range', /head: got 4, want 0 to 3/);
  expectError(() => layer.getStage('q'), 'argument', /getStage: head: want a whole number/);
  expectError(() => layer.getStage('output', { sequence: 1 }), 'range', /sequence: got 1, want 0 to 0/);
  layer.forward({ data: new Float32Array(0), shape: [0, 3, 16] });
  expectError(() => layer.getStage('output'), 'state', /the last forward pass had no sequences/);
  layer.dispose();
  expectError(() => layer.forward(numbers(1, [5, 16])), 'disposed', /MultiHeadAttention was disposed/);
  expectError(() => layer.getStage('output'), 'disposed');
});
