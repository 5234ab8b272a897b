// The wasm module against the native engine: the same seeded models, the same bits in every stage. The counterpart is
// tests/native/digest_test.c, whose two programs (SIMD and scalar kernels) print the numbers compared here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const native = (/** @type {string} */ name) => fileURLToPath(new URL(`build/native/${name}`, root));

/** What makes a config an encoder of the BERT kind, as in tests/native/tiny_model.c. */
const bert = {
  ...{ embed_scale: 1, position_pad: -1, embed_norm: 1, norm_bias: 1, first_norm: 1, qkv_bias: 1, o_bias: 1 },
  ...{ ffn_bias: 1, activation: 1, rope_scale: 1 },
};
/** @type {Record<string, any>} lists stand for pointers to them */
const models = {
  square: {
    ...{ layers: 2, heads: 4, kv_heads: 4, head_dim: 8, width: 32, ffn: 64, vocab: 50, stored_layers: 2 },
    ...{ context: 200, embed_width: 32, segments: 2, positions: 200, norm_eps: 1e-12, ...bert },
  },
  odd: {
    ...{ layers: 3, heads: 6, kv_heads: 2, head_dim: 5, width: 25, ffn: 83, vocab: 73, stored_layers: 3 },
    ...{ context: 300, embed_width: 25, positions: 300, norm_eps: 1e-3, ...bert },
  },
  decoder: {
    ...{ layers: 3, heads: 4, kv_heads: 2, head_dim: 10, width: 24, ffn: 40, vocab: 61, stored_layers: 3 },
    ...{ context: 300, causal: 1, embed_width: 24, embed_scale: 2.5, position_pad: -1, norm_kind: 1, norm_place: 2 },
    ...{ norm_eps: 1e-4, norm_shift: 1, first_norm: 1, final_norm: 1, qk_norm: 1, activation: 2, gated: 1, softcap: 3 },
    scales: Float32Array.of(0.3, 0.2, 0.4),
    windows: Int32Array.of(4, -1, 9),
    ...{ rope_dim: 6, rope_sets: 2, rope_scale: 1 },
    rope_frequencies: Float32Array.of(1, 0.21, 0.044, 0.7, 0.01, 0.0003),
    rope_of_layer: Int32Array.of(0, 1, -1),
    ...{ head_rows: 61, head_width: 24, head_tied: 1, logit_softcap: 8 },
  },
  relative: {
    ...{ layers: 4, heads: 3, kv_heads: 3, head_dim: 7, width: 22, ffn: 35, vocab: 47, stored_layers: 2 },
    ...{ context: 200, embed_width: 13, embed_scale: 1, segments: 2, positions: 202, position_first: 2 },
    ...{ position_pad: 1, embed_norm: 1, embed_project: 1, norm_place: 1, norm_eps: 1e-5, final_norm: 1, parallel: 1 },
    ...{ o_bias: 1, activation: 4 },
    windows: Int32Array.of(-1, 5, -1, 30),
    ...{ rope_dim: 4, rope_sets: 1, rope_scale: 1.3, rope_frequencies: Float32Array.of(1, 0.1) },
    ...{ buckets: 7, bucket_reach: 3, bucket_of: Int32Array.of(4, 3, 2, 0, 1, 5, 6) },
    ...{
      head_rows: 5,
      head_width: 9,
      head_dense: 1,
      head_dense_bias: 1,
      head_activation: 3,
      head_norm: 1,
      head_bias: 1,
    },
  },
};
const lengths = [7, 33, 130];

/** xorshift32, as in tests/native/seeded.h. @param {number} seed */
function seeded(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return state;
  };
  return { float: () => (next() >>> 8) / 8388608 - 1, int: (/** @type {number} */ below) => next() % below };
}

/** FNV-1a. @param {Uint8Array} bytes */
function digest(bytes) {
  let hash = 2166136261;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash;
}

/** The module's exports behind a few calls that read like the C test. */
function open() {
  const module = new WebAssembly.Module(readFileSync(new URL('web/lib/qkv.wasm', root)));
  const exports = /** @type {any} */ (new WebAssembly.Instance(module).exports);
  exports._initialize?.();
  const bytes = (/** @type {number} */ at, /** @type {number} */ n) => new Uint8Array(exports.memory.buffer, at, n);
  const text = (/** @type {number} */ at) => {
    const all = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(all.slice(at, all.indexOf(0, at)));
  };
  const lists = new Map(
    text(exports.qkv_describe())
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[0], line.split(' ').slice(1)]),
  );
  const alloc = (/** @type {ArrayBufferView | number} */ data) => {
    const size = typeof data === 'number' ? data : data.byteLength;
    const at = exports.qkv_alloc(size) >>> 0;
    assert.notEqual(at, 0);
    if (typeof data !== 'number') bytes(at, size).set(new Uint8Array(data.buffer, data.byteOffset, size));
    return at;
  };
  const struct = (/** @type {string} */ list, /** @type {Record<string, any>} */ values) => {
    const fields = lists.get(list) ?? [];
    const view = new DataView(new ArrayBuffer(fields.length * 4));
    fields.forEach((field, i) => {
      const [name, type] = field.split(':');
      const value = values[name] ?? 0;
      if (type === 'f32') view.setFloat32(i * 4, value, true);
      else view.setInt32(i * 4, ArrayBuffer.isView(value) ? alloc(value) : value, true);
    });
    return alloc(view);
  };
  return { exports, bytes, lists, alloc, struct };
}

/** @param {ReturnType<typeof open>} wasm @param {any} config @param {number} precision */
function makeModel({ exports, bytes, lists, alloc, struct }, config, precision) {
  const random = seeded(42);
  const model = exports.qkv_init(struct('config', config), precision) >>> 0;
  const shape = alloc(8);
  (lists.get('slots') ?? []).forEach((slot, index) => {
    assert.equal(exports.qkv_slot_shape(model, index, shape), 0);
    const [rows, cols] = new Int32Array(bytes(shape, 8).slice().buffer);
    for (let layer = 0; layer < (slot.split(':')[1] === 'layer' ? config.stored_layers : 1); layer++) {
      const data = alloc(Float32Array.from({ length: rows * cols }, () => random.float() * 0.5));
      // Layer 0 may lack a norm that the others have: its numbers are drawn all the same.
      const missing = config.first_norm !== 1 && layer === 0 && slot.startsWith('attn_norm.');
      assert.equal(exports.qkv_load_rows(model, index, layer, 0, 0, missing ? 0 : rows, data), 0, slot);
      exports.qkv_free(data);
    }
  });
  assert.equal(exports.qkv_model_ready(model), 0);
  return model;
}

/** @param {ReturnType<typeof open>} wasm @param {any} config @param {number} model */
function makeRun({ exports, alloc, struct }, config, model) {
  const random = seeded(43);
  const tokens = lengths.reduce((sum, n) => sum + n, 0);
  const ids = new Int32Array(tokens);
  const types = new Int32Array(tokens);
  for (let t = 0; t < tokens; t++) {
    ids[t] = random.int(config.vocab);
    types[t] = random.int(2);
  }
  const input = { ids: alloc(ids), type_ids: alloc(types), lengths: alloc(Int32Array.from(lengths)), sequences: 3 };
  const run = exports.qkv_run_new(model, struct('input', { ...input, temperature: 1 })) >>> 0;
  assert.equal(exports.qkv_forward(run, 0, config.layers), 0);
  return run;
}

const hex = (/** @type {number} */ hash) => hash.toString(16).padStart(8, '0');

/** The lines that tests/native/digest_test.c prints, from the wasm module. */
function wasmLines() {
  const wasm = open();
  const { exports, bytes, alloc } = wasm;
  /** @type {string[]} */
  const lines = [];
  const out = alloc(130 * 130 * 4);
  for (let precision = 0; precision < (wasm.lists.get('precisions') ?? []).length; precision++) {
    for (const [name, config] of Object.entries(models)) {
      const run = makeRun(wasm, config, makeModel(wasm, config, precision));
      (wasm.lists.get('stages') ?? []).forEach((stage, index) => {
        let hash = 0;
        lengths.forEach((rows, sequence) => {
          const { width, heads, head_dim: head } = config;
          const cols = { width, heads: heads * head, head, keys: rows }[stage.split(':')[1]] ?? 0;
          assert.equal(
            exports.qkv_get_stage(run, config.causal ?? 0, config.layers - 1, 1, index, sequence, out),
            0,
            stage,
          );
          hash = (Math.imul(hash, 31) + digest(bytes(out, rows * cols * 4))) >>> 0;
        });
        lines.push(`digest ${name} ${precision} ${index} ${hex(hash)}`);
      });
      if (!config.head_rows) continue;
      assert.equal(exports.qkv_logits(run, 1, 20, out), 0);
      lines.push(`digest ${name} ${precision} logits ${hex(digest(bytes(out, config.head_rows * 4)))}`);
    }
  }
  return lines;
}

/** @param {string} program */
function nativeLines(program) {
  assert.ok(existsSync(program), `${program} is not built: run ./build.sh test`);
  return execFileSync(program, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.startsWith('digest '));
}

test('wasm SIMD, native SIMD and native scalar give the same bits in every stage', () => {
  const lines = wasmLines();
  assert.equal(lines.length, 3 * (4 * 16 + 2));
  assert.deepEqual(lines, nativeLines(native('digest_test')));
  assert.deepEqual(lines, nativeLines(native('digest_test_scalar')));
});
