import assert from 'node:assert/strict';
import test from 'node:test';
import { checkShard, readIndex } from '../../../web/lib/formats/shards.js';
import { expectError } from '../expect_error.js';

const FILE = 'model.safetensors.index.json';
/** @param {unknown} value text, or what becomes JSON */
const index = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return readIndex(new TextEncoder().encode(text), FILE);
};
/** @param {string} name */
const info = (name) => ({ name, dtype: 'F32', shape: [1], begin: 0, end: 4 });

test('an index gives the files in order, each once, and the file of every tensor', () => {
  const read = index({
    metadata: { total_size: 8 },
    weight_map: {
      a: 'model-00002-of-00002.safetensors',
      b: 'model-00001-of-00002.safetensors',
      __proto__x: 'x.safetensors',
    },
  });
  assert.deepEqual(read.files, [
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'x.safetensors',
  ]);
  assert.equal(read.fileOf.get('a'), 'model-00002-of-00002.safetensors');
});

for (const name of [
  '../../x.safetensors',
  '..safetensors',
  '../x.safetensors',
  'http://evil/x.safetensors',
  '/etc/passwd',
  'a/b.safetensors',
  'a\\b.safetensors',
  '.safetensors',
  'x.safetensors\n',
  'x.safetensors?y',
  'x%2f.safetensors',
  'x.bin',
  'model.safetensors.index.json', // an index that names itself
  '',
  5,
  null,
  { file: 'x.safetensors' },
]) {
  test(`refused: a shard called ${JSON.stringify(name)}`, async () => {
    await expectError(
      () => index({ weight_map: { 'a.weight': name } }),
      'format',
      /weight_map\["a\.weight"\].*plain name/,
    );
  });
}

test('refused: an index that is no object, has no map, an empty one, or too many shards', async () => {
  await expectError(() => index('[]'), 'json', /want an object/);
  await expectError(() => index('{"weight_map":'), 'json');
  await expectError(() => index({}), 'format', /weight_map: got "nothing"/);
  await expectError(() => index({ weight_map: [] }), 'format', /weight_map/);
  await expectError(() => index({ weight_map: {} }), 'format', /number of shards: got 0/);
  const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`t${i}`, `s${i}.safetensors`]));
  await expectError(() => index({ weight_map: many }), 'format', /number of shards: got 10001/);
  delete many.t0;
  assert.equal(index({ weight_map: many }).files.length, 10_000);
});

test('refused: a tensor that the index gives to two shards', async () => {
  await expectError(
    () => index('{"weight_map":{"a":"x.safetensors","a":"y.safetensors"}}'),
    'json',
    /each key only once/,
  );
});

test('a shard must hold what the index says, nothing more and nothing less', async () => {
  const read = index({ weight_map: { a: 'x.safetensors', b: 'x.safetensors', c: 'y.safetensors' } });
  assert.doesNotThrow(() => checkShard(read, 'x.safetensors', [info('b'), info('a')]));
  await expectError(() => checkShard(read, 'x.safetensors', [info('a')]), 'format', /tensor "b": got "nothing"/);
  await expectError(
    () => checkShard(read, 'x.safetensors', ['a', 'b', 'c'].map(info)),
    'format',
    /"c".*y\.safetensors/,
  );
  await expectError(
    () => checkShard(read, 'y.safetensors', ['c', 'd'].map(info)),
    'format',
    /"d".*only tensors that the index lists/,
  );
});
