/** What the wasm module does with numbers that are no model, run or map of it: a status and a sentence, whatever the number. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const MODULE = new WebAssembly.Module(readFileSync(new URL('../../web/lib/qkv.wasm', import.meta.url)));
const CONFIG = {
  ...{ layers: 1, heads: 2, kv_heads: 2, head_dim: 4, width: 8, ffn: 8, vocab: 5, stored_layers: 1, context: 16 },
  ...{ embed_width: 8, embed_scale: 1, position_pad: -1, norm_eps: 1e-5, first_norm: 1, activation: 1, rope_scale: 1 },
};
const TOKENS = 3;
const HANDLE = 9;

/** Exports by what their first argument is, with arguments for the others: 0 is memory that they may write to. */
const TAKE_MODEL = /** @type {const} */ ({
  qkv_slot_shape: [0, 'out'],
  qkv_load_rows: [0, 0, 0, 0, 1, 'out'],
  qkv_model_ready: [],
  qkv_run_size: ['input'],
  qkv_run_new: ['input'],
  qkv_model_free: [],
});
const TAKE_RUN = /** @type {const} */ ({
  qkv_forward: [0, 1],
  qkv_append: ['ids', 1],
  qkv_get_weights: [0, 0, 0, 11, 0, 0, TOKENS, 'out'],
  qkv_get_stage: [0, 0, 0, 0, 0, 'out'],
  qkv_overview: [0, 0, 2, 0, 'out', 'out'],
  qkv_embedding: [0, 0, 0, 0, 'out'],
  qkv_logits: [0, 0, 'out'],
  qkv_run_free: [],
});
const TAKE_MAP = /** @type {const} */ ({ qkv_map_apply: ['out', 1, 'out'], qkv_map_free: [] });
/** Where 0 is the refusal. */
const GIVE = ['qkv_run_size', 'qkv_run_new'];

/** A module with a model, a run that was computed, and a map. @param {number} salt */
function open(salt) {
  const exports = /** @type {any} */ (new WebAssembly.Instance(MODULE).exports);
  exports._initialize?.();
  exports.qkv_salt?.(salt);
  const view = () => new DataView(exports.memory.buffer);
  const textAt = (/** @type {number} */ at) => {
    const all = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(all.slice(at, all.indexOf(0, at)));
  };
  const lines = textAt(exports.qkv_describe()).trim().split('\n');
  const list = (/** @type {string} */ key) => lines.find((line) => line.startsWith(`${key} `))?.split(' ') ?? [];
  const struct = (/** @type {string} */ key, /** @type {Record<string, number>} */ values) => {
    const at = exports.qkv_alloc(list(key).length * 4) >>> 0;
    for (const [i, field] of list(key).slice(1).entries()) {
      const [name, type] = field.split(':');
      if (type === 'f32') view().setFloat32(at + i * 4, values[name] ?? 0, true);
      else view().setInt32(at + i * 4, values[name] ?? 0, true);
    }
    return at;
  };
  const out = exports.qkv_alloc(4096) >>> 0;
  new Float32Array(exports.memory.buffer, out, 1024).fill(0.5);
  const ids = exports.qkv_alloc(16) >>> 0;
  new Int32Array(exports.memory.buffer, ids, 4).set([1, 2, 3, TOKENS]);
  const model = exports.qkv_init(struct('config', CONFIG), 0);
  for (const slot of list('slots').slice(1).keys()) {
    assert.equal(exports.qkv_slot_shape(model, slot, ids), 0);
    assert.equal(exports.qkv_load_rows(model, slot, 0, 0, 0, view().getInt32(ids, true), out), 0);
  }
  new Int32Array(exports.memory.buffer, ids, 4).set([1, 2, 3, TOKENS]);
  assert.equal(exports.qkv_model_ready(model), 0);
  const input = struct('input', { ids, lengths: ids + 12, sequences: 1, temperature: 1 });
  const newRun = () => {
    const run = exports.qkv_run_new(model, input);
    assert.notEqual(run, 0);
    assert.equal(exports.qkv_forward(run, 0, 1), 0);
    return run;
  };
  const map = exports.qkv_map_new(2, 2, out, 0);
  const error = () => {
    const at = exports.qkv_last_error() >>> 0;
    return { code: view().getInt32(at, true), what: textAt(view().getUint32(at + 4, true)) };
  };
  const places = /** @type {Record<string, number>} */ ({ out, ids, input });
  /** @param {string} name @param {number} handle @param {readonly (string | number)[]} rest */
  const call = (name, handle, rest) =>
    exports[name](handle, ...rest.map((one) => (typeof one === 'string' ? places[one] : one)));
  return { exports, model, run: newRun(), map, newRun, call, error, out };
}

/**
 * @param {ReturnType<typeof open>} wasm
 * @param {Record<string, readonly (string | number)[]>} calls
 * @param {number} handle
 * @param {string} what
 */
function refuses({ exports, call, error }, calls, handle, what) {
  const used = exports.qkv_heap_used();
  for (const [name, rest] of Object.entries(calls)) {
    assert.equal(call(name, handle, rest), GIVE.includes(name) ? 0 : HANDLE, `${name} of ${what}`);
    assert.equal(error().code, HANDLE, `${name} of ${what}`);
    assert.match(error().what, /^no such (model|run|map)/, `${name} of ${what}`);
  }
  assert.equal(exports.qkv_heap_used(), used, what);
}

/** The first row of weights of a run, as text. @param {ReturnType<typeof open>} wasm @param {number} run */
function weightsOf({ exports, out }, run) {
  assert.equal(exports.qkv_get_weights(run, 0, 0, 1, 11, 0, 0, TOKENS, out), 0);
  return Array.from(new Float32Array(exports.memory.buffer, out, TOKENS * TOKENS)).join();
}

test('what was freed, is of another kind or was never given out is refused by every export', () => {
  const wasm = open(0x1234abcd);
  const { exports, model, run, map, newRun } = wasm;
  const before = weightsOf(wasm, run);
  const freed = newRun();
  assert.equal(exports.qkv_run_free(freed), 0);
  const inItsPlace = newRun();
  const numbers = [0, 1, 2, 16, 4096, 65536, 2 ** 20, 2 ** 20 + 1, 2 ** 31, -1, -16, 0x7ffffff0, wasm.out];
  for (const number of numbers) {
    for (const calls of [TAKE_MODEL, TAKE_RUN, TAKE_MAP]) refuses(wasm, calls, number, `the number ${number}`);
  }
  refuses(wasm, TAKE_RUN, freed, 'a run that was freed');
  refuses(wasm, TAKE_MODEL, run, 'a run given as a model');
  refuses(wasm, TAKE_RUN, model, 'a model given as a run');
  refuses(wasm, TAKE_MAP, model, 'a model given as a map');
  refuses(wasm, TAKE_MODEL, map, 'a map given as a model');
  assert.equal(weightsOf(wasm, run), before);
  assert.equal(weightsOf(wasm, inItsPlace), before);
});

test('the runs of a model go with it, and nothing else does', () => {
  const wasm = open(7);
  const { exports, model, run, map, newRun } = wasm;
  const another = newRun();
  assert.equal(exports.qkv_model_free(model), 0);
  refuses(wasm, TAKE_MODEL, model, 'a model that was freed');
  refuses(wasm, TAKE_RUN, run, 'a run of a model that was freed');
  refuses(wasm, TAKE_RUN, another, 'another run of it');
  assert.equal(exports.qkv_map_apply(map, wasm.out, 1, wasm.out + 64), 0);
});

test('what another instance gave out is refused', () => {
  const [wasm, other] = [open(0x11111111), open(0xeeeeeeee)];
  refuses(wasm, TAKE_MODEL, other.model, 'a model of another instance');
  refuses(wasm, TAKE_RUN, other.run, 'a run of another instance');
  refuses(wasm, TAKE_MAP, other.map, 'a map of another instance');
});

test('memory is freed once, and only what qkv_alloc gave out', () => {
  const wasm = open(7);
  const { exports, model, run, out, error } = wasm;
  const before = weightsOf(wasm, run);
  const buffer = exports.qkv_alloc(100) >>> 0;
  const used = exports.qkv_heap_used();
  for (const address of [model, run, 8, 4, out + 16, out + 1, buffer + 48, 2 ** 31, 2 ** 32 - 16]) {
    assert.equal(exports.qkv_free(address), HANDLE, `${address}`);
    assert.match(error().what, /^no such memory/);
  }
  assert.equal(exports.qkv_heap_used(), used);
  assert.equal(exports.qkv_free(buffer), 0);
  assert.equal(exports.qkv_free(buffer), HANDLE, 'freed twice');
  assert.equal(exports.qkv_free(0), 0, 'nothing to free');
  assert.ok(exports.qkv_heap_used() < used);
  assert.equal(weightsOf(wasm, run), before);
});
