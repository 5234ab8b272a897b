// The wasm module against the native engine: the same seeded models, the same bits in every stage. The counterpart is
// tests/native/digest_test.c, whose two programs (SIMD and scalar kernels) print the numbers compared here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const native = (/** @type {string} */ name) => fileURLToPath(new URL(`build/native/${name}`, root));

const square = { layers: 2, heads: 4, kv_heads: 4, head_dim: 8, width: 32, ffn: 64, vocab: 50, positions: 200 };
const odd = { layers: 3, heads: 6, kv_heads: 2, head_dim: 5, width: 25, ffn: 83, vocab: 73, positions: 300 };
const models = {
  square: { ...square, segments: 2, norm_eps: 1e-12, table: 0 },
  odd: { ...odd, segments: 0, norm_eps: 1e-3, table: 0 },
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
  const struct = (/** @type {string} */ list, /** @type {Record<string, number>} */ values) => {
    const fields = lists.get(list) ?? [];
    const view = new DataView(new ArrayBuffer(fields.length * 4));
    fields.forEach((field, i) => {
      const [name, type] = field.split(':');
      if (type === 'f32') view.setFloat32(i * 4, values[name] ?? 0, true);
      else view.setInt32(i * 4, values[name] ?? 0, true);
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
    for (let layer = 0; layer < (slot.split(':')[1] === 'layer' ? config.layers : 1); layer++) {
      const data = alloc(Float32Array.from({ length: rows * cols }, () => random.float() * 0.5));
      assert.equal(exports.qkv_load_rows(model, index, layer, 0, 0, rows, data), 0, slot);
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
          const wide = ['x', 'output', 'hidden'].includes(stage);
          const map = ['scores', 'scaled', 'capped', 'biased', 'masked', 'weights'].includes(stage);
          const all = config.heads * config.head_dim;
          const cols = wide ? config.width : stage === 'concat' ? all : map ? rows : config.head_dim;
          assert.equal(exports.qkv_get_stage(run, 0, config.layers - 1, 1, index, sequence, out), 0, stage);
          hash = (Math.imul(hash, 31) + digest(bytes(out, rows * cols * 4))) >>> 0;
        });
        lines.push(`digest ${name} ${precision} ${index} ${hash.toString(16).padStart(8, '0')}`);
      });
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
  assert.equal(lines.length, 2 * 2 * 16);
  assert.deepEqual(lines, nativeLines(native('digest_test')));
  assert.deepEqual(lines, nativeLines(native('digest_test_scalar')));
});
