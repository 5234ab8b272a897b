/** What the wasm module says of itself, and memory that grows under our hands. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createCore } from '../../web/lib/engine/core.js';
import { parseDescription, writeStruct } from '../../web/lib/engine/describe.js';
import { createHeap } from '../../web/lib/engine/heap.js';
import { resolveModel } from '../../web/lib/families/index.js';
import { CONFIGS } from '../lib/families/family_configs.js';
import { qkvError } from './golden.js';

const TEXT = `version 1.2.3
statuses OK:0 MEMORY:3
limits threads:4 thumbnail:32
precisions f32 q10
planes f32 scale
activations none gelu
kinds encoder
stages x:width weights:keys
stats entropy
poolings mean cls
config layers:i32 norm_eps:f32 activation:i32:activations
input ids:ptr scale:f32
operator query:ptr heads:i32
slots tokens:model:table q.bias:layer:vector attn_norm.weight:layer:norm
`;

test('names get the numbers of their places, statuses their own', () => {
  const description = parseDescription(TEXT);
  assert.equal(description.version, '1.2.3');
  assert.deepEqual(
    [...description.statuses],
    [
      [0, 'OK'],
      [3, 'MEMORY'],
    ],
  );
  assert.deepEqual(description.planes, ['f32', 'scale']);
  assert.deepEqual(description.poolings, ['mean', 'cls']);
  assert.deepEqual(description.limits, { threads: 4, thumbnail: 32 });
  assert.deepEqual(description.stages, ['x', 'weights']);
  assert.equal(description.columns.get('weights'), 'keys');
  assert.deepEqual(description.config[2], { name: 'activation', type: 'i32', names: ['none', 'gelu'] });
  assert.deepEqual(description.slots.get('q.bias'), { index: 1, scope: 'layer', role: 'vector' });
  assert.equal(description.slots.get('attn_norm.weight')?.role, 'norm');
});

test('a line that is missing and a type that is unknown mean another version', () => {
  assert.throws(() => parseDescription(TEXT.replace(/^stats.*\n/m, '')), qkvError('wasm', 'stats', 'same version'));
  assert.throws(() => parseDescription(TEXT.replace(/^activations.*\n/m, '')), qkvError('wasm', 'activations'));
  assert.throws(() => parseDescription(TEXT.replace('threads:4 ', '')), qkvError('wasm', 'limit "threads"'));
  assert.throws(() => parseDescription(TEXT.replace('layers:i32', 'layers:i64')), qkvError('wasm', 'layers:i64'));
});

test('a struct is written field by field, and a field that nobody sets is an error', () => {
  const { config } = parseDescription(TEXT);
  const view = new DataView(new ArrayBuffer(12));
  writeStruct(view, config, { layers: -2, norm_eps: 0.5, activation: 'gelu' });
  assert.deepEqual([view.getInt32(0, true), view.getFloat32(4, true), view.getInt32(8, true)], [-2, 0.5, 1]);
  assert.throws(() => writeStruct(view, config, { layers: 1, norm_eps: 1 }), qkvError('wasm', '"activation"'));
  const unknown = { layers: 1, norm_eps: 1, activation: 'tanh' };
  assert.throws(() => writeStruct(view, config, unknown), qkvError('wasm', 'no activation "tanh"'));
});

test('every name that a family writes into its config is one of the module', async () => {
  const { description } = await createCore(new WebAssembly.Module(readFileSync('web/lib/qkv.wasm')));
  const names = new Map(description.config.map((field) => [field.name, field.names]));
  const used = new Set();
  for (const [type, config] of Object.entries(CONFIGS)) {
    for (const [field, value] of Object.entries(resolveModel(config, type).engine)) {
      const known = names.get(field) ?? null;
      assert.equal(typeof value === 'string', known !== null, `${type}: ${field}`);
      if (known !== null) assert.ok(known.includes(String(value)), `${type}: ${field} is ${value}`);
      if (field === 'norm_place' || field === 'parallel') used.add(value);
    }
  }
  assert.deepEqual([...used].sort(), ['parallel', 'parallel_one_norm', 'post', 'pre', 'sandwich', 'serial']);
});

test('the heap goes on working after memory has grown', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const heap = createHeap(memory);
  heap.writeFloat32(16, [1, 2, 3]);
  heap.writeBytes(64, [...Buffer.from('text'), 0]);
  const copy = heap.readFloat32(16, 3);
  memory.grow(2);
  assert.deepEqual([...copy], [1, 2, 3]);
  assert.deepEqual([...heap.readFloat32(16, 3)], [1, 2, 3]);
  assert.equal(heap.readText(64), 'text');
  assert.equal(heap.size(), 3 * 65536);
  heap.writeInt32(2 * 65536, [-1]);
  assert.deepEqual([...heap.bytes(2 * 65536, 4)], [255, 255, 255, 255]);
});
