import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { init, MultiHeadAttention, scaledDotProductAttention } from 'qkv';
import { readTensors } from '../../web/lib/formats/safetensors.js';
import { BOUNDS, distance, largestMagnitude } from './differences.js';
import { ownFolder, torchCases } from './torch_case.js';
import { VARIANTS } from './variants.js';

/** @typedef {import('qkv').FloatTensor} FloatTensor */
/** @typedef {import('qkv').BoolTensor} BoolTensor */
/** @typedef {import('./torch_case.js').TorchCase} TorchCase */

const sdpa = torchCases('scaled_dot_product_attention');
const mha = torchCases('MultiheadAttention');

/** @param {TorchCase} torch */
const tensorsOf = ({ tensors }) => {
  const find = (/** @type {string} */ name) => tensors.get(name);
  return {
    float: (/** @type {string} */ name) => /** @type {FloatTensor} */ (find(name)),
    any: (/** @type {unknown} */ name) => (typeof name === 'string' ? /** @type {FloatTensor} */ (find(name)) : null),
  };
};

/** @param {TorchCase} torch @returns {Record<string, FloatTensor>} */
const parametersOf = ({ tensors }) =>
  Object.fromEntries(
    [...tensors]
      .filter(([name]) => name.startsWith('param.'))
      .map(([name, tensor]) => [name.slice('param.'.length), /** @type {FloatTensor} */ (tensor)]),
  );

/** @param {import('qkv').Engine} engine @param {TorchCase} torch @param {object} [changes] */
function layerOf(engine, { module, tensors }, changes) {
  const { embed_dim, num_heads, kdim, vdim, batch_first, add_zero_attn } = module;
  return new MultiHeadAttention(engine, {
    embedDim: Number(embed_dim),
    numHeads: Number(num_heads),
    kDim: kdim === null ? undefined : Number(kdim),
    vDim: vdim === null ? undefined : Number(vdim),
    batchFirst: batch_first === true,
    addZeroAttn: add_zero_attn === true,
    parameters: parametersOf(/** @type {TorchCase} */ ({ tensors })),
    ...changes,
  });
}

/** @param {ArrayLike<number>} ours @param {ArrayLike<number>} theirs */
const relative = (ours, theirs) => distance(ours, theirs) / (1 + largestMagnitude(theirs));

for (const variant of VARIANTS) {
  test(`scaled_dot_product_attention as PyTorch computes it (${sdpa.length} cases), ${variant}`, async (t) => {
    const engine = await init({ variant });
    const worst = { weights: 0, output: 0 };
    for (const torch of sdpa) {
      const { float, any } = tensorsOf(torch);
      const mask = any(torch.call.attn_mask);
      const result = scaledDotProductAttention(engine, {
        query: float('query'),
        key: float('key'),
        value: float('value'),
        mask:
          mask &&
          (mask.data instanceof Uint8Array
            ? { allow: /** @type {BoolTensor} */ (/** @type {unknown} */ (mask)) }
            : { add: mask }),
        causal: torch.call.is_causal === true,
        scale: typeof torch.call.scale === 'number' ? torch.call.scale : null,
        returns: 'weights',
      });
      const weights = distance(result.weights.data, float('weights').data);
      const output = relative(result.output.data, float('output').data);
      assert.ok(weights <= BOUNDS.torchWeights, `${torch.name}: weights are ${weights} from PyTorch's`);
      assert.ok(output <= BOUNDS.torchOutput, `${torch.name}: the output is ${output} from PyTorch's`);
      worst.weights = Math.max(worst.weights, weights);
      worst.output = Math.max(worst.output, output);
    }
    assert.ok(sdpa.length >= 8);
    t.diagnostic(
      `worst: weights ${worst.weights.toExponential(2)}, output ${worst.output.toExponential(2)} (relative)`,
    );
  });

  test(`nn.MultiheadAttention as PyTorch computes it (${mha.length} cases), ${variant}`, async (t) => {
    const engine = await init({ variant });
    const worst = { weights: 0, output: 0 };
    for (const torch of mha) {
      const { float, any } = tensorsOf(torch);
      const { call } = torch;
      const layer = layerOf(engine, torch);
      const options = {
        keyPaddingMask: any(call.key_padding_mask),
        attnMask: any(call.attn_mask),
        needWeights: call.need_weights === true,
        averageWeights: call.average_attn_weights === true,
      };
      const [query, key, value] = [float('query'), float('key'), float('value')];
      const result = layer.forward(query, key, value, { ...options, emptyRows: 'nan' });
      const theirs = float('output');
      assert.deepEqual(result.output.shape, theirs.shape, `${torch.name}: shape`);
      const output = relative(result.output.data, theirs.data);
      assert.ok(output <= BOUNDS.torchOutput, `${torch.name}: the output is ${output} from PyTorch's`);
      worst.output = Math.max(worst.output, output);
      const theirWeights = torch.tensors.get('weights');
      assert.equal(result.weights === null, theirWeights === undefined, `${torch.name}: weights`);
      if (result.weights && theirWeights) {
        assert.deepEqual(result.weights.shape, theirWeights.shape, `${torch.name}: shape of the weights`);
        const weights = distance(result.weights.data, theirWeights.data);
        assert.ok(weights <= BOUNDS.torchWeights, `${torch.name}: weights are ${weights} from PyTorch's`);
        worst.weights = Math.max(worst.weights, weights);
      }
      const without = torch.tensors.get('output_no_weights');
      if (without) {
        const zero = layer.forward(query, key, value, { ...options, emptyRows: 'zero' });
        assert.ok(relative(zero.output.data, without.data) <= BOUNDS.torchOutput, `${torch.name}: rows of zeros`);
        assert.ok(zero.weights?.data.every((weight) => weight === 0));
      }
    }
    assert.ok(mha.length >= 8);
    t.diagnostic(
      `worst: weights ${worst.weights.toExponential(2)}, output ${worst.output.toExponential(2)} (relative)`,
    );
  });
}

test('a safetensors file saved from torch loads as it is', async () => {
  const engine = await init({ variant: 'simd' });
  const torch = mha.find(({ name }) => name === '12.mha.self_average');
  assert.ok(torch);
  const { float } = tensorsOf(torch);
  const fromTensors = layerOf(engine, torch);
  const fromFile = layerOf(engine, torch, { parameters: stateDictFile(parametersOf(torch)) });
  const [a, b] = [fromTensors, fromFile].map((layer) => layer.forward(float('query')).output.data);
  assert.deepEqual(a, b);
  assert.ok(relative(b, float('output').data) <= BOUNDS.torchOutput);
});

test('what readFileSync gives is read from where it lies, and a file of halves is refused by name', async () => {
  const engine = await init({ variant: 'simd' });
  const torch = mha.find(({ path }) => path.includes('self_average'));
  assert.ok(torch);
  const { float } = tensorsOf(torch);
  const file = stateDictFile(parametersOf(torch));
  const folder = mkdtempSync(join(tmpdir(), 'qkv-'));
  try {
    writeFileSync(join(folder, 'layer.safetensors'), file);
    // A Buffer in the middle of a larger block of memory, as Node's pool of small buffers gives it.
    const pooled = Buffer.concat([Buffer.alloc(3), readFileSync(join(folder, 'layer.safetensors'))]).subarray(3);
    for (const bytes of [readFileSync(join(folder, 'layer.safetensors')), pooled]) {
      const { output } = layerOf(engine, torch, { parameters: bytes }).forward(float('query'));
      assert.ok(relative(output.data, float('output').data) <= BOUNDS.torchOutput);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const text = Buffer.from(file).toString('latin1').replaceAll('"dtype":"F32"', '"dtype":"I32"');
  const integers = new Uint8Array(Buffer.from(text, 'latin1'));
  assert.throws(
    () => layerOf(engine, torch, { parameters: integers }),
    /parameters: in_proj_weight: got "I32", want F32\. Save the layer as float32/,
  );
});

test("the library's own reader gives the parameters of every case of the tree", async () => {
  const engine = await init({ variant: 'simd' });
  const files = readdirSync(ownFolder).filter((file) => file.includes('.mha.') && file.endsWith('.safetensors'));
  for (const file of files) {
    const bytes = readFileSync(join(ownFolder, file));
    /** @type {Map<string, FloatTensor>} */
    const parameters = new Map();
    await readTensors(
      {
        size: bytes.length,
        chunks: (async function* () {
          yield bytes;
        })(),
      },
      file,
      (tensors) => {
        const wanted = tensors.filter(({ name }) => name.startsWith('param.'));
        return new Map(
          wanted.map(({ name, shape, begin, end }) => {
            const data = new Float32Array((end - begin) / 4);
            parameters.set(name.slice('param.'.length), { data, shape });
            return [name, { capacity: end - begin, view: () => new Uint8Array(data.buffer), commit: () => {} }];
          }),
        );
      },
    );
    const torch = mha.find(({ path }) => path.endsWith(file));
    assert.ok(torch);
    const layer = layerOf(engine, torch, { parameters });
    const { float } = tensorsOf(torch);
    if (torch.call.key_padding_mask || torch.call.attn_mask) continue;
    const { output } = layer.forward(float('query'), float('key'), float('value'));
    assert.ok(relative(output.data, float('output').data) <= BOUNDS.torchOutput, file);
  }
  assert.ok(files.length >= 6);
});

/** What safetensors.torch.save_file(layer.state_dict(), path) writes. @param {Record<string, FloatTensor>} tensors */
function stateDictFile(tensors) {
  let end = 0;
  const header = Object.entries(tensors).map(([name, { data, shape }]) => {
    const begin = end;
    end += data.byteLength;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const text = new TextEncoder().encode(
    JSON.stringify({ ...Object.fromEntries(header), __metadata__: { format: 'pt' } }),
  );
  const size = new Uint8Array(new BigUint64Array([BigInt(text.length)]).buffer);
  return new Uint8Array(
    Buffer.concat([
      size,
      text,
      ...Object.values(tensors).map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
    ]),
  );
}
