import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { READABLE, readTensors } from '../../../web/lib/formats/safetensors.js';
import { assertAboutLinear } from '../../growth.js';
import { expectError } from '../expect_error.js';
import { collector, entry, fileOf, join, lengthBytes, streamOf } from './safetensors_file.js';

/** @param {Uint8Array} bytes @param {Parameters<typeof streamOf>[1]} [options] */
const read = (bytes, options) => readTensors(streamOf(bytes, options), 'm.safetensors', () => new Map());

/** @param {Uint8Array} bytes @param {string} code @param {RegExp} message refused whether or not the size is known */
async function refuse(bytes, code, message) {
  await expectError(() => read(bytes), code, message);
  await expectError(() => read(bytes, { knowsSize: false, sizes: [3] }), code);
}

const GOOD = { a: entry([2, 2], 0, 16), b: entry([1], 16, 18, 'F16') };

/** @type {[string, Uint8Array, string, RegExp][]} */
const REFUSED = [
  ['an empty file', new Uint8Array(0), 'format', /m\.safetensors is cut short; bytes before the header: got 0, want 8/],
  ['7 bytes', new Uint8Array(7), 'format', /bytes before the header: got 7, want 8/],
  ['a header of length 0', lengthBytes(0), 'format', /length of the safetensors header: got 0, want 2 to 100000000/],
  ['a file of zeros', new Uint8Array(1000), 'format', /length of the safetensors header: got 0, want 2 to/],
  [
    'a header as long as the file',
    fileOfLength(108, 100n, 108),
    'format',
    /cut short; bytes of the header: got 100, want 108/,
  ],
  ['a header length of 2^64 - 1', fileOfLength(64, 2n ** 64n - 1n), 'format', /18446744073709551615.*100000000/],
  ['a header length of 2^63', fileOfLength(64, 2n ** 63n), 'format', /9223372036854775808/],
  ['a header length of 100,000,001', fileOfLength(1024, 100_000_001n), 'format', /100000001/],
  ['a header length above 2^53', fileOfLength(64, 2n ** 53n + 1n), 'format', /9007199254740993/],
  ['a header that is not UTF-8', fileOf(Uint8Array.of(0x7b, 0xff, 0x7d)), 'json', /UTF-8/],
  ['a byte order mark', fileOf('\ufeff{}'), 'json', /a byte order mark/],
  ['a header that is a list', fileOf('[]'), 'json', /want an object/],
  ['half a header', fileOf('{'), 'json', /the end of the file/],
  ['a header that is null', fileOf('null'), 'json', /want an object/],
  ['a header that is a string', fileOf('"x"'), 'json', /want an object/],
  ['a header that is a number', fileOf('123'), 'json', /want an object/],
  ['a header padded with NUL', fileOf('{}\0\0\0'), 'json', /column 3/],
  ['100,000 nested lists', fileOf(`{"a":${'['.repeat(100_000)}`), 'json', /64 levels/],
  ['a tensor that comes twice', fileOf('{"a":{},"a":{}}'), 'json', /each key only once/],
  ['a dtype that comes twice', fileOf('{"a":{"dtype":"F32","dtype":"F16"}}'), 'json', /each key only once/],
  ['offsets that come twice', fileOf('{"a":{"data_offsets":[0,0],"data_offsets":[0,4]}}'), 'json', /only once/],
  ['a number in the metadata', fileOf('{"__metadata__":{"x":1}}'), 'format', /__metadata__.*got 1, want a string/],
  ['an object in the metadata', fileOf({ __metadata__: { x: {} } }), 'format', /want a string/],
  ['a tensor called __metadata__', fileOf({ __metadata__: entry([1], 0, 4) }, 4), 'format', /__metadata__/],
  ['metadata that is a list', fileOf({ __metadata__: [] }), 'format', /want an object/],
  ['a tensor that is a list', fileOf({ a: [] }), 'format', /tensor "a".*want an object/],
  ['an unknown dtype', fileOf({ a: entry([1], 0, 4, 'F99') }, 4), 'format', /dtype: got "F99"/],
  ['a dtype in lower case', fileOf({ a: entry([1], 0, 4, 'f32') }, 4), 'format', /"f32"/],
  ['a missing dtype', fileOf({ a: { shape: [1], data_offsets: [0, 4] } }, 4), 'format', /dtype: got "nothing"/],
  ['a dtype that is a number', fileOf({ a: { ...entry([1], 0, 4), dtype: 5 } }, 4), 'format', /dtype: got 5/],
  ['a missing shape', fileOf({ a: { dtype: 'F32', data_offsets: [0, 4] } }, 4), 'format', /shape: got "nothing"/],
  ['a shape that is a string', fileOf({ a: { ...entry([], 0, 4), shape: '2,2' } }, 4), 'format', /shape/],
  ['a negative size', fileOf('{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', 4), 'json', /whole number/],
  ['a size of 1.5', fileOf('{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}', 4), 'json', /whole number/],
  ['a size of 1e3', fileOf('{"a":{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}}', 4), 'json', /whole number/],
  ['a size of null', fileOf({ a: { ...entry([], 0, 4), shape: [null] } }, 4), 'format', /shape/],
  ['a size in quotes', fileOf({ a: { ...entry([], 0, 4), shape: ['2'] } }, 4), 'format', /shape/],
  [
    'a size above 2^53',
    fileOf('{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,4]}}', 4),
    'json',
    /2\^53/,
  ],
  ['sizes whose product is above 2^53', fileOf({ a: entry([2 ** 32, 2 ** 32], 0, 0, 'U8') }), 'format', /shape.*2\^53/],
  ['sizes whose product overflows before a 0', fileOf({ a: entry([2 ** 50, 2 ** 50, 0], 0, 0) }), 'format', /2\^53/],
  ['one offset', fileOf({ a: { ...entry([1], 0, 4), data_offsets: [0] } }, 4), 'format', /data_offsets/],
  ['three offsets', fileOf({ a: { ...entry([1], 0, 4), data_offsets: [0, 1, 4] } }, 4), 'format', /data_offsets/],
  ['offsets that go backwards', fileOf({ a: entry([1], 4, 0) }, 4), 'format', /data_offsets: got \[4,0\]/],
  ['a negative offset', fileOf('{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}', 4), 'json', /whole number/],
  ['broken offsets', fileOf('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0.5,4.5]}}', 4), 'json', /whole number/],
  ['offsets in quotes', fileOf({ a: { ...entry([1], 0, 4), data_offsets: ['0', '4'] } }, 4), 'format', /data_offsets/],
  [
    'a tensor past the end',
    fileOf({ a: entry([100], 0, 400) }, 16),
    'format',
    /cut short; bytes of tensors: got 16, want 400/,
  ],
  ['a file one byte short', fileOf(GOOD, 17), 'format', /cut short; bytes of tensors: got 17, want 18/],
  ['a file two bytes short', fileOf(GOOD, 16), 'format', /cut short/],
  ['one byte too many', fileOf(GOOD, 19), 'format', /bytes after the last tensor: got 1/],
  ['a zip behind the last tensor', join(fileOf(GOOD, 18), 'PK\x03\x04 and more'), 'format', /after the last tensor/],
  ['bytes but no tensors', fileOf({}, 4), 'format', /after the last tensor/],
  [
    'two tensors on the same bytes',
    fileOf({ a: entry([2], 0, 8), b: entry([2], 0, 8) }, 8),
    'format',
    /tensor "b": first byte/,
  ],
  ['tensors that share a byte', fileOf({ a: entry([4], 0, 4, 'U8'), b: entry([4], 3, 7, 'U8') }, 7), 'format', /got 3/],
  ['a hole', fileOf({ a: entry([1], 0, 4), b: entry([1], 5, 9) }, 9), 'format', /got 5, want 4/],
  ['a hole at the start', fileOf({ a: entry([1], 4, 8) }, 8), 'format', /got 4, want 0/],
  [
    'fewer bytes than the shape needs',
    fileOf({ a: entry([2, 2], 0, 12) }, 12),
    'format',
    /F32 \[2,2\]: got 12, want 16/,
  ],
  ['more bytes than the shape calls for', fileOf({ a: entry([2], 0, 12) }, 12), 'format', /got 12, want 8/],
  ['half a byte of F4', fileOf({ a: entry([3], 0, 2, 'F4') }, 2), 'format', /bits: got 12/],
  ['an HTML page', join('<!DOCTYPE html><title>404</title>'), 'format', /not a safetensors file: it is an HTML page/],
  ['a Git LFS pointer', join('version https://git-lfs.github.com/spec/v1\noid sha256:00'), 'format', /Git LFS pointer/],
  ['a zip archive', join('PK\x03\x04', new Uint8Array(60)), 'format', /zip archive/],
  ['a pickle', join(Uint8Array.of(0x80, 2), 'csomething'), 'format', /pickle/],
  ['a GGUF file', join('GGUF', new Uint8Array([3, 0, 0, 0]), new Uint8Array(60)), 'format', /GGUF/],
];

/** @param {number} size @param {bigint} length @param {number} [really] */
function fileOfLength(size, length, really) {
  const bytes = new Uint8Array(size).fill(0x20);
  bytes.set(lengthBytes(really ?? length));
  return bytes;
}

for (const [what, bytes, code, message] of REFUSED) {
  test(`refused: ${what}`, () => refuse(bytes, code, message));
}

/** @type {[string, Uint8Array][]} */
const ACCEPTED = [
  ['no tensors at all', fileOf({})],
  ['spaces before and after the header', fileOf(` \n${JSON.stringify(GOOD)}   `, 18)],
  ['null as metadata', fileOf({ __metadata__: null })],
  ['a scalar', fileOf({ a: entry([], 0, 4) }, 4)],
  ['a tensor without elements', fileOf({ a: entry([0, 5], 0, 0), b: entry([1], 0, 4) }, 4)],
  ['65 axes of size 1', fileOf({ a: entry(Array(65).fill(1), 0, 4) }, 4)],
  ['an even number of F4', fileOf({ a: entry([4], 0, 2, 'F4') }, 2)],
  [
    'types nobody asks for',
    fileOf({ a: entry([1], 0, 8, 'I64'), b: entry([1], 8, 16, 'C64'), c: entry([1], 16, 17, 'BOOL') }, 17),
  ],
  ['tensors listed in another order than their bytes', fileOf({ b: entry([1], 4, 8), a: entry([1], 0, 4) }, 8)],
];

for (const [what, bytes] of ACCEPTED) {
  test(`accepted: ${what}`, async () => {
    await read(bytes);
    await read(bytes, { knowsSize: false, sizes: [1] });
  });
}

test('names with a meaning in JavaScript, empty and very long names are names', async () => {
  const long = 'x'.repeat(1_000_000);
  const names = ['__proto__', 'constructor', 'toString', '', long];
  const header = `{${names.map((name, i) => `${JSON.stringify(name)}:${JSON.stringify(entry([1], 4 * i, 4 * i + 4))}`)}}`;
  const { tensors } = await read(fileOf(header, 20));
  assert.deepEqual(
    tensors.map(({ name }) => name),
    names,
  );
  const error = await expectError(() => read(fileOf(header, 19)), 'format', /cut short/);
  assert.ok(error.message.length < 500);
  const wrong = fileOf(`{${JSON.stringify(long)}:{}}`);
  assert.ok((await expectError(() => read(wrong), 'format', /dtype/)).message.length < 500);
});

test('a million tensors without elements are refused instead of filling the memory, with work that grows as they do', async () => {
  const one = JSON.stringify(entry([0], 0, 0));
  const headerOf = (/** @type {number} */ count) =>
    `{${Array.from({ length: count }, (_, i) => `"${i}":${one}`).join()}}`;
  await expectError(() => read(fileOf(headerOf(1_000_000))), 'json', /at most 1000000 values/);
  await assertAboutLinear('tensors without elements', (count) => read(fileOf(headerOf(count))), 6000);
});

test('a header that claims 100 million bytes takes no more memory than bytes come', async () => {
  let asked = 0;
  async function* endless() {
    yield lengthBytes(100_000_000);
    while (asked++ < 10) yield new Uint8Array(1000).fill(0x20);
  }
  const stream = { size: null, chunks: endless() };
  await expectError(
    () => readTensors(stream, 'm', () => new Map()),
    'format',
    /cut short; bytes of the header: got 10000, want 100000000/,
  );
});

test('metadata and tensors come out as they stand in the file', async () => {
  const header = await read(fileOf({ __metadata__: { format: 'pt', __proto__x: 'y' }, ...GOOD }, 18));
  assert.deepEqual(
    [...header.metadata],
    [
      ['format', 'pt'],
      ['__proto__x', 'y'],
    ],
  );
  assert.deepEqual(header.tensors[0], { name: 'a', dtype: 'F32', shape: [2, 2], begin: 0, end: 16 });
});

test('sinks get exactly the bytes of their tensor in portions of their capacity, whatever the chunks', async () => {
  const file = fileOf(
    {
      a: entry([5, 3], 0, 60),
      skipped: entry([7], 60, 67, 'U8'),
      b: entry([8], 67, 83, 'F16'),
      c: entry([2], 83, 85, 'U8'),
    },
    85,
  );
  for (const sizes of [[1], [7], [85, 1], [1000], [13, 64, 2]]) {
    /** @type {Record<string, number[]>} */
    const commits = { a: [], b: [], c: [] };
    const { accept, received } = collector((tensor) => (tensor.name === 'a' ? 24 : 4));
    await readTensors(streamOf(file, { sizes }), 'm', (tensors) => {
      const sinks = accept(tensors);
      sinks.delete('skipped');
      for (const [name, sink] of sinks) {
        const { commit } = sink;
        sink.commit = (count) => {
          commits[name].push(count);
          commit(count);
        };
      }
      return sinks;
    });
    const data = Array.from({ length: 85 }, (_, i) => i);
    assert.deepEqual(received.get('a'), data.slice(0, 60));
    assert.deepEqual(received.get('b'), data.slice(67, 83));
    assert.deepEqual(commits, { a: [24, 24, 12], b: [4, 4, 4, 4], c: [2] });
  }
});

test('nothing is handed on before the whole header has been checked', async () => {
  let asked = false;
  const accept = () => {
    asked = true;
    return new Map();
  };
  for (const [, bytes] of REFUSED) {
    await readTensors(streamOf(bytes), 'm', accept).catch(() => {});
    assert.equal(asked, false);
  }
});

test('a type that cannot be read is refused only when somebody wants the tensor', async () => {
  const file = fileOf({ a: entry([1], 0, 8, 'I64') }, 8);
  await read(file);
  await expectError(
    () => readTensors(streamOf(file), 'm', collector().accept),
    'unsupported',
    /tensor "a": dtype: got "I64"/,
  );
  for (const dtype of READABLE) {
    const size = { F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1 }[dtype] ?? 0;
    await readTensors(streamOf(fileOf({ a: entry([1], 0, size, dtype) }, size)), 'm', collector().accept);
  }
});

test('progress adds up to the size of the file, and an abort ends the reading', async () => {
  const file = fileOf(GOOD, 18);
  let seen = 0;
  await readTensors(streamOf(file, { sizes: [5] }), 'm', () => new Map(), { onBytes: (count) => (seen += count) });
  assert.equal(seen, file.length);

  const controller = new AbortController();
  let closed = false;
  async function* chunks() {
    try {
      yield file.subarray(0, 20);
      controller.abort();
      yield file.subarray(20);
    } finally {
      closed = true;
    }
  }
  const stream = { size: file.length, chunks: chunks() };
  await expectError(() => readTensors(stream, 'm', () => new Map(), { signal: controller.signal }), 'aborted');
  assert.equal(closed, true);
});

test('errors of the caller and of the source come through unchanged', async () => {
  const mine = new QkvError('weight', 'mine');
  const accept = () => {
    throw mine;
  };
  await assert.rejects(readTensors(streamOf(fileOf(GOOD, 18)), 'm', accept), mine);
  async function* broken() {
    yield fileOf(GOOD, 18).subarray(0, 30);
    throw mine;
  }
  await assert.rejects(
    readTensors({ size: null, chunks: broken() }, 'm', () => new Map()),
    mine,
  );
});

test('files written by PyTorch are read, values and all', async () => {
  const bytes = new Uint8Array(await readFile(new URL('../../golden/tiny/bert/model.safetensors', import.meta.url)));
  const { accept, received } = collector((tensor) => Math.max(8, 4 * (tensor.shape.at(-1) ?? 1)));
  const { tensors } = await readTensors(streamOf(bytes, { sizes: [1000, 1] }), 'model.safetensors', (all) =>
    accept(all.filter(({ dtype }) => dtype === 'F32')),
  );
  const head = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  assert.ok(tensors.length > 30);
  for (const { name, begin, end } of tensors.filter(({ dtype }) => dtype === 'F32')) {
    assert.deepEqual(received.get(name), [...bytes.subarray(head + begin, head + end)], name);
  }
});
