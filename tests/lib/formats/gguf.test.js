/** Reading GGUF files: what is in them arrives as it should. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { ggufRowBytes, openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { GgufBytes } from '../../../web/lib/formats/gguf/gguf_bytes.js';
import { readGgufHeader } from '../../../web/lib/formats/gguf/gguf_header.js';
import { expectError } from '../expect_error.js';
import * as file from './gguf_file.js';
import { collector } from './safetensors_file.js';

const { TYPE, U32, llamaFile, sourceOf } = file;

/** @typedef {import('../../../web/lib/formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {Parameters<typeof sourceOf>[1]} Options */

const GOLDEN = new URL('../../golden/gguf/', import.meta.url);

/** @param {Uint8Array} bytes @param {Options} [options] @param {(tensor: TensorInfo) => number} [capacityOf] */
async function readAll(bytes, options, capacityOf = (tensor) => 2 * ggufRowBytes(tensor)) {
  const { source, calls } = sourceOf(bytes, options);
  const model = await openGguf(source, 'f.gguf');
  const { accept, received } = collector(capacityOf);
  await model.readTensors((tensors) => {
    const sinks = accept(tensors);
    for (const tensor of tensors) {
      const sink = sinks.get(tensor.name);
      assert.ok(sink);
      const { commit } = sink;
      sink.commit = (count) => {
        assert.equal(count % ggufRowBytes(tensor), 0, `${tensor.name} comes in whole rows`);
        commit(count);
      };
    }
    return sinks;
  });
  assert.equal(calls.closed, calls.opened, 'every stream is let go');
  return { model, received, calls };
}

test('versions 2 and 3 are read, with any alignment and with or without padding at the end', async () => {
  for (const version of [2, 3]) {
    const bytes = llamaFile([['general.alignment', U32, 128]], { version, alignment: 128 });
    const { model } = await readAll(bytes);
    assert.equal(model.tensors.length, file.LLAMA_TENSORS.length);
  }
  const tensors = [...file.LLAMA_TENSORS, { name: 'extra', shape: [3], type: TYPE.F32 }];
  const padded = llamaFile([], { tensors });
  for (const bytes of [padded, padded.subarray(0, -20)]) {
    assert.equal((await readAll(bytes)).received.get('extra')?.length, 12);
  }
});

test('a type that is not decoded may stand in a tensor that nobody wants', async () => {
  const tensors = [...file.LLAMA_TENSORS, { name: 'extra', shape: [4], type: TYPE.F64 }];
  const { model } = await readAll(llamaFile([], { tensors }));
  assert.equal(model.tensors.at(-1)?.dtype, 'F64');
});

test('every tensor arrives whole, its rows in the order of transformers, however the file is cut', async () => {
  const bytes = llamaFile();
  for (const sizes of [[bytes.length], [1], [7, 1000], [4096]]) {
    for (const rows of [1, 3, 1000]) {
      const { model, received } = await readAll(bytes, { sizes }, (tensor) => rows * ggufRowBytes(tensor));
      for (const [i, { shape, type }] of file.LLAMA_TENSORS.entries()) {
        const tensor = model.tensors[i];
        const size = tensor.end - tensor.begin;
        const own = file.pattern(size, i);
        const isPaired = /[qk]_proj/.test(tensor.name);
        const want = isPaired ? unpaired(own, size / Number(shape[0]), 16) : [...own];
        assert.deepEqual(received.get(tensor.name), want, `${tensor.name} of type ${type}`);
      }
    }
  }
});

/** Written from the converter: there row t E/2 + i of a head goes to row 2i + t. @param {Uint8Array} bytes @param {number} rowBytes @param {number} headDim */
function unpaired(bytes, rowBytes, headDim) {
  const rows = bytes.length / rowBytes;
  const out = new Uint8Array(bytes.length);
  for (let head = 0; head < rows / headDim; head++) {
    for (let t = 0; t < 2; t++) {
      for (let i = 0; i < headDim / 2; i++) {
        const from = head * headDim + 2 * i + t;
        const to = head * headDim + (t * headDim) / 2 + i;
        out.set(bytes.subarray(from * rowBytes, (from + 1) * rowBytes), to * rowBytes);
      }
    }
  }
  return [...out];
}

test('nothing is read twice, and a file can be let go unread', async () => {
  const { source, calls } = sourceOf(llamaFile());
  const model = await openGguf(source, 'f.gguf');
  assert.equal(calls.closed, 0);
  await model.readTensors(() => new Map());
  await expectError(() => model.readTensors(() => new Map()), 'state', /read already/);
  const other = await openGguf(source, 'f.gguf');
  await other.close();
  await other.close();
  assert.equal(calls.closed, calls.opened);
});

test('progress counts every byte, and cancelling works before, during the header and during the tensors', async () => {
  const bytes = llamaFile();
  const { source, calls } = sourceOf(bytes, { sizes: [500] });
  let loaded = 0;
  const model = await openGguf(source, 'f.gguf');
  await model.readTensors(() => new Map(), {
    onBytes: (count) => {
      loaded += count;
    },
  });
  assert.equal(loaded, bytes.length);
  const stop = new AbortController();
  stop.abort();
  await expectError(() => openGguf(source, 'f.gguf', { signal: stop.signal }), 'aborted');
  const late = new AbortController();
  const second = await openGguf(source, 'f.gguf', { signal: late.signal });
  await expectError(() => second.readTensors(() => new Map(), { onBytes: () => late.abort() }), 'aborted');
  assert.equal(calls.closed, calls.opened);
});

test('an error of the receiver comes through, and the file is let go', async () => {
  const { source, calls } = sourceOf(llamaFile());
  const model = await openGguf(source, 'f.gguf');
  await assert.rejects(
    model.readTensors(() => Promise.reject(new RangeError('full'))),
    RangeError,
  );
  assert.equal(calls.closed, calls.opened);
});

test('a file of the reference writer is read as the reference reader reads it', async () => {
  const bytes = new Uint8Array(await readFile(new URL('tiny.gguf', GOLDEN)));
  const want = JSON.parse(await readFile(new URL('tiny.json', GOLDEN), 'utf8'));
  const source = new GgufBytes('tiny.gguf', bytes.length, bytes.length);
  const reading = readGgufHeader(source);
  let step = reading.next();
  for (let at = 0; !step.done; at += 100) {
    source.append(bytes.subarray(at, at + 100));
    step = reading.next();
  }
  const { metadata, tensors, dataStart } = step.value;
  const plain = [...metadata].map(([key, value]) => {
    if (typeof value === 'bigint') return [key, String(value)];
    return [key, ArrayBuffer.isView(value) ? Array.from(/** @type {Int32Array} */ (value)) : value];
  });
  const flags = { 'test.bools': [1, 0] };
  assert.deepEqual(Object.fromEntries(plain), { ...want.metadata, ...flags });
  const found = tensors.map(({ name, type, shape, begin, end }) => {
    const data = bytes.subarray(dataStart + begin, dataStart + end);
    return { name, type: type.name, shape, sha256: createHash('sha256').update(data).digest('hex') };
  });
  assert.deepEqual(found, want.tensors);
});
