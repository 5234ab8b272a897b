// Sizes that do not fit 32 bits, which is what the wasm module has for them: refused, not wrapped around.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const TOKENS = 2 ** 24;

/** One head short of 2^32 floats of keys, all else as small as can be. */
const CONFIG = {
  ...{ layers: 1, heads: 16, kv_heads: 16, head_dim: 16, width: 1, ffn: 1, vocab: 1, stored_layers: 1 },
  ...{ context: TOKENS, embed_width: 1, embed_scale: 1, position_pad: -1, norm_eps: 1, activation: 1, rope_scale: 1 },
};

/** The module's exports, its linear memory and the lists it describes itself with. */
function open() {
  const bytes = readFileSync(new URL('../../web/lib/qkv.wasm', import.meta.url));
  const exports = /** @type {any} */ (new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports);
  exports._initialize?.();
  const view = () => new DataView(exports.memory.buffer);
  const textAt = (/** @type {number} */ at) => {
    const all = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(all.slice(at, all.indexOf(0, at)));
  };
  const lists = new Map(
    textAt(exports.qkv_describe())
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[0], line.split(' ').slice(1)]),
  );
  const struct = (/** @type {string} */ list, /** @type {Record<string, number>} */ values) => {
    const fields = lists.get(list) ?? [];
    const at = exports.qkv_alloc(fields.length * 4) >>> 0;
    fields.forEach((field, i) => {
      const [name, type] = field.split(':');
      if (type === 'f32') view().setFloat32(at + i * 4, values[name] ?? 0, true);
      else view().setUint32(at + i * 4, values[name] ?? 0, true);
    });
    return at;
  };
  const lastError = () => view().getInt32(exports.qkv_last_error(), true);
  return { exports, view, lists, struct, lastError };
}

/** A finished model of zeros. @param {ReturnType<typeof open>} wasm */
function zeroModel({ exports, view, lists, struct }) {
  const model = exports.qkv_init(struct('config', CONFIG), 0) >>> 0;
  const shape = exports.qkv_alloc(8) >>> 0;
  const zeros = exports.qkv_alloc(16 * 16 * 4) >>> 0;
  (lists.get('slots') ?? []).forEach((_, slot) => {
    assert.equal(exports.qkv_slot_shape(model, slot, shape), 0);
    assert.equal(exports.qkv_load_rows(model, slot, 0, 0, 0, view().getInt32(shape, true), zeros), 0);
  });
  assert.equal(exports.qkv_model_ready(model), 0);
  return model;
}

test('a run whose keys do not fit 32 bits is refused, a shorter one is not', () => {
  const wasm = open();
  const { exports, struct, view } = wasm;
  const model = zeroModel(wasm);
  const lengths = exports.qkv_alloc(4) >>> 0;
  const ids = exports.qkv_alloc(TOKENS * 4) >>> 0;
  const input = struct('input', { ids, lengths, sequences: 1, temperature: 1 });

  assert.notEqual(ids, 0);
  new Uint8Array(exports.memory.buffer, ids, TOKENS * 4).fill(0);
  view().setInt32(lengths, TOKENS, true);
  assert.equal(exports.qkv_run_size(model, input), 0);
  assert.equal(wasm.lastError(), 3);
  view().setInt32(lengths, 1024, true);
  assert.ok(exports.qkv_run_size(model, input) > 1024 * 2 * 256 * 4);
});

test('scratch that does not fit 32 bits is refused with the model or the run, not made small', () => {
  const { exports, struct, lastError } = open();
  const wide = { ...CONFIG, heads: 4096, kv_heads: 4096, head_dim: 4096, width: 2 ** 20, embed_width: 2 ** 20 };

  assert.equal(exports.qkv_model_size(struct('config', wide), 0), 0);
  assert.equal(lastError(), 3);
  assert.equal(exports.qkv_model_size(struct('config', { ...CONFIG, head_width: 2 ** 29 }), 0), 0);
  assert.equal(lastError(), 2);
});
