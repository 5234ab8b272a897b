/** GGUF files that are damaged, hostile or of a kind that is not read: each is refused with its code and a clear sentence. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { expectError } from '../expect_error.js';
import * as file from './gguf_file.js';
import { join } from './safetensors_file.js';

const { ARRAY, BOOL, F32, I32, STRING, TYPE, U32, U64, U8 } = file;
const { ggufFile, llamaFile, sourceOf, text, u32, u64, withTensor } = file;

/** @param {Uint8Array} bytes @param {string} code @param {RegExp} message refused whether or not the size is known */
async function refuse(bytes, code, message) {
  const { source, calls } = sourceOf(bytes);
  await expectError(async () => (await openGguf(source, 'f.gguf')).readTensors(() => new Map()), code, message);
  assert.equal(calls.closed, calls.opened, 'every stream is let go');
  const unsized = sourceOf(bytes, { knowsSize: false, sizes: [7] });
  await expectError(async () => (await openGguf(unsized.source, 'f.gguf')).readTensors(() => new Map()), code);
}

const HEAD = [
  ['an empty file', new Uint8Array(0), 'format', /cut short; bytes left for magic: got 0, want 4/],
  ['three bytes', join('GGU'), 'format', /cut short/],
  ['a magic number alone', join('GGUF'), 'format', /cut short; bytes left for version/],
  ['another magic number', ggufFile({ magic: 'GGML' }), 'format', /first four bytes: got "GGML"/],
  ['an HTML page', join('<!DOCTYPE html><html>'), 'format', /not a GGUF file: it is an HTML page/],
  ['a Git LFS pointer', join('version https://git-lfs.github.com/spec/v1'), 'format', /Git LFS/],
  ['version 1', ggufFile({ version: 1 }), 'unsupported', /version of GGUF: got 1, want 2 or 3/],
  ['version 4', ggufFile({ version: 4 }), 'unsupported', /version of GGUF: got 4/],
  ['version 0', ggufFile({ version: 0 }), 'unsupported', /version of GGUF: got 0/],
  ['a big-endian file', join('GGUF', Uint8Array.of(0, 0, 0, 3)), 'unsupported', /big-endian/],
  [
    '2^64 - 1 tensors',
    ggufFile({ tensorCount: 2n ** 64n - 1n }),
    'format',
    /number of tensors: got "18446744073709551615"/,
  ],
  ['2^63 keys', ggufFile({ keyCount: 2n ** 63n }), 'format', /number of metadata keys: got "9223372036854775808"/],
  ['65,537 tensors', ggufFile({ tensorCount: 65_537 }), 'format', /number of tensors: got 65537/],
  [
    'more keys than the file has room for',
    ggufFile({ keyCount: 1000 }),
    'format',
    /cut short; bytes left for 1000 metadata keys/,
  ],
  [
    'more tensors than it has room for',
    llamaFile([], { tensorCount: 60_000 }),
    'format',
    /cut short|number|name|length/,
  ],
];

/** @type {[string, [string, number, import('./gguf_file.js').Key[2] | null][], string, RegExp][]} */
const METADATA = [
  ['a type of value that is none', [['x', 13, 0]], 'format', /type of metadata "x": got 13, want 0 to 12/],
  ['a flag that is neither true nor false', [['x', BOOL, 2]], 'format', /metadata "x": got 2, want 0 or 1/],
  [
    'a list of flags with another byte',
    [['x', ARRAY, { of: BOOL, values: [1, 0, 7] }]],
    'format',
    /got 7, want 0 or 1/,
  ],
  ['a list of lists', [['x', ARRAY, { of: ARRAY, values: [] }]], 'format', /lists of lists are not read/],
  ['a list of a type that is none', [['x', ARRAY, { of: 99, values: [] }]], 'format', /values of metadata "x": got 99/],
  [
    'a list of 2^63 numbers',
    [['x', ARRAY, { of: U8, values: [], count: 2n ** 63n }]],
    'format',
    /length of metadata "x"/,
  ],
  [
    'a list of 2^61 numbers of 8 bytes',
    [['x', ARRAY, { of: U64, values: [], count: 2n ** 61n }]],
    'format',
    /length of/,
  ],
  ['a list longer than the file', [['x', ARRAY, { of: U32, values: [], count: 100_000 }]], 'format', /cut short|got/],
  [
    'a list of more texts than the file',
    [['x', ARRAY, { of: STRING, values: [], count: 100_000 }]],
    'format',
    /cut short|got/,
  ],
  ['no architecture', [['general.architecture', STRING, null]], 'config', /general\.architecture": got "nothing"/],
  ['an architecture that is a number', [['general.architecture', U32, 1]], 'config', /general\.architecture": got 1/],
  [
    'an architecture that is not known',
    [['general.architecture', STRING, 'mamba']],
    'unsupported',
    /got "mamba", want llama, /,
  ],
  ['an alignment of 0', [['general.alignment', U32, 0]], 'format', /general\.alignment": got 0/],
  ['an alignment of 24', [['general.alignment', U32, 24]], 'format', /a power of two/],
  ['an alignment of 2^31', [['general.alignment', U32, 2 ** 31]], 'format', /a power of two from 8 to 65536/],
  ['an alignment that is text', [['general.alignment', STRING, '32']], 'format', /a power of two/],
  ['a part of several files', [['split.count', U32, 3]], 'unsupported', /files of the model: got 3, want 1/],
  ['no layers', [['llama.block_count', U32, 0]], 'config', /block_count": got 0, want a whole number above 0/],
  [
    'more layers than there are tensors of',
    [['llama.block_count', U32, 2 ** 31]],
    'config',
    /got 2147483648, want 1, as many/,
  ],
  ['a block count that is text', [['llama.block_count', STRING, '1']], 'config', /want a number/],
  ['a block count of 2^60', [['llama.block_count', U64, 2n ** 60n]], 'config', /block_count/],
  ['half a head', [['llama.attention.head_count', F32, 0.5]], 'config', /a whole number above 0/],
  ['NaN heads', [['llama.attention.head_count', F32, Number.NaN]], 'config', /a whole number above 0/],
  [
    'heads that differ between layers',
    [['llama.attention.head_count', ARRAY, { of: U32, values: [4, 2] }]],
    'config',
    /the same for all/,
  ],
  ['heads that do not divide the width', [['llama.attention.head_count', U32, 5]], 'config', /key_length": got 12.8/],
  [
    'another width than the table',
    [['llama.embedding_length', U32, 32]],
    'config',
    /got 32, want 64, the width of the token/,
  ],
  ['no width', [['llama.embedding_length', U32, null]], 'config', /embedding_length": got "nothing"/],
  ['an adapter', [['general.type', STRING, 'adapter']], 'unsupported', /general\.type": got "adapter", want model/],
  [
    'factors of LongRoPE, which stand in tensors',
    [['llama.rope.scaling.type', STRING, 'longrope']],
    'unsupported',
    /rope\.scaling\.type": got "longrope", want "?none, linear or yarn"?.* Its factors stand in tensors/,
  ],
  [
    'a decoder with a window that sees what is behind',
    [
      ['llama.attention.causal', BOOL, false],
      ['llama.attention.sliding_window', U32, 8],
    ],
    'unsupported',
    /causal": got 0/,
  ],
  [
    'logits that are scaled',
    [['llama.logit_scale', F32, 0.5]],
    'unsupported',
    /logit_scale": got 0\.5, want 1 or nothing/,
  ],
  ['biases by distance', [['llama.attention.max_alibi_bias', F32, 8]], 'unsupported', /max_alibi_bias": got 8/],
  ['experts', [['llama.expert_count', U32, 8]], 'unsupported', /expert_count": got 8, want 0 or nothing/],
  [
    'half a head that is rotated',
    [['llama.rope.dimension_count', U32, 8]],
    'unsupported',
    /rotated components of a head: got 8, want 16/,
  ],
  ['values wider than keys', [['llama.attention.value_length', U32, 32]], 'unsupported', /got 32, want 16/],
  [
    'a scaling that is a number',
    [['llama.rope.scaling.type', U32, 1]],
    'config',
    /rope\.scaling\.type": got 1, want a name/,
  ],
  [
    'more rows than the heads make',
    [['llama.attention.head_count_kv', U32, 4]],
    'weight',
    /rows of "blk\.0\.attn_k\.weight": got 32, want 64/,
  ],
  [
    'an unknown kind of tokenizer',
    [['tokenizer.ggml.model', STRING, 'rwkv']],
    'unsupported',
    /got "rwkv", want gpt2, llama/,
  ],
  ['an unknown way of cutting words', [['tokenizer.ggml.pre', STRING, 'new']], 'unsupported', /got "new", want gpt-2/],
  [
    'tokens that are numbers',
    [['tokenizer.ggml.tokens', ARRAY, { of: I32, values: [1, 2] }]],
    'tokenizer',
    /tokens": got/,
  ],
  [
    'more tokens than the table has rows',
    [['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: [...'abcdefghi'] }]],
    'tokenizer',
    /got "9 tokens", want a list of 1 to 8 texts/,
  ],
  ['no tokens', [['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: [] }]], 'tokenizer', /tokens": got "0 tokens"/],
  [
    'a token that comes twice',
    [['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: [...'abcdefga'] }]],
    'tokenizer',
    /tokens\[7\]": got "a"/,
  ],
  [
    'fewer types than tokens',
    [['tokenizer.ggml.token_type', ARRAY, { of: I32, values: [1] }]],
    'tokenizer',
    /got "1 numbers", want 8/,
  ],
  [
    'a byte token that is none',
    [['tokenizer.ggml.token_type', ARRAY, { of: I32, values: [3, 6, 1, 1, 1, 1, 1, 1] }]],
    'tokenizer',
    /tokens\[1\]": got "a", want a byte/,
  ],
  ['no merges', [['tokenizer.ggml.merges', ARRAY, null]], 'tokenizer', /merges": got "nothing"/],
  [
    'a merge of one piece',
    [['tokenizer.ggml.merges', ARRAY, { of: STRING, values: ['ab'] }]],
    'tokenizer',
    /merges\[0\]": got "ab"/,
  ],
  [
    'a merge of three pieces',
    [['tokenizer.ggml.merges', ARRAY, { of: STRING, values: ['a b c'] }]],
    'tokenizer',
    /merges\[0\]/,
  ],
  [
    'a BOS outside the vocabulary',
    [['tokenizer.ggml.bos_token_id', U32, 8]],
    'tokenizer',
    /bos_token_id": got 8, want .*7/,
  ],
  ['a flag that is a number', [['tokenizer.ggml.add_bos_token', U32, 1]], 'tokenizer', /true or false/],
  [
    'scores that are not numbers',
    [
      ['tokenizer.ggml.model', STRING, 'llama'],
      ['tokenizer.ggml.scores', ARRAY, { of: F32, values: [0, 1, 2, 3, 4, 5, 6, Number.NaN] }],
    ],
    'tokenizer',
    /scores\[7\]": got "NaN"/,
  ],
  ['no scores where they decide', [['tokenizer.ggml.model', STRING, 't5']], 'tokenizer', /scores": got "nothing"/],
];

/** @type {[string, import('./gguf_file.js').Tensor[], string, RegExp][]} */
const TENSORS = [
  [
    'a tensor that comes twice',
    withTensor('output_norm.weight', { name: 'blk.0.attn_norm.weight' }),
    'format',
    /each name only once/,
  ],
  ['a tensor without a name', withTensor('output_norm.weight', { name: '' }), 'format', /want a name/],
  [
    'a name of 256 bytes',
    withTensor('output_norm.weight', { name: 'x'.repeat(256) }),
    'format',
    /length of name of tensor 10: got 256/,
  ],
  [
    'no dimensions',
    withTensor('output_norm.weight', { dims: 0 }),
    'format',
    /number of dimensions.*got 0, want 1 to 4/,
  ],
  ['five dimensions', withTensor('output_norm.weight', { dims: 5 }), 'format', /got 5, want 1 to 4/],
  ['2^32 - 1 dimensions', withTensor('output_norm.weight', { dims: 2 ** 32 - 1 }), 'format', /got 4294967295/],
  ['a dimension of 0', withTensor('output_norm.weight', { shape: [0] }), 'format', /dimension 0 .*got 0/],
  [
    'a dimension of 2^63',
    withTensor('output_norm.weight', { shape: [2n ** 63n] }),
    'format',
    /dimension 0 .*9223372036854775808/,
  ],
  [
    'a product beyond 2^64',
    withTensor('output_norm.weight', { shape: [2 ** 32, 2 ** 32] }),
    'format',
    /fewer than 2\^53 bytes/,
  ],
  [
    'a product of 2^64 + 64',
    withTensor('output_norm.weight', { shape: [2 ** 33, 2 ** 31 + 1] }),
    'format',
    /fewer than 2\^53 bytes/,
  ],
  [
    'a row beyond 2^53 bytes',
    withTensor('output_norm.weight', { shape: [2n ** 53n - 1n] }),
    'format',
    /fewer than 2\^53 bytes/,
  ],
  [
    'a row that is no multiple of its blocks',
    withTensor('blk.0.attn_q.weight', { shape: [64, 48] }),
    'format',
    /row of tensor "blk\.0\.attn_q\.weight": got 48, want a multiple of 32, as Q4_1/,
  ],
  [
    'a type that is none',
    withTensor('output_norm.weight', { type: 4 }),
    'unsupported',
    /type of tensor "output_norm\.weight": got 4/,
  ],
  [
    'a type that is not decoded',
    withTensor('blk.0.attn_v.weight', { shape: [2, 256], type: TYPE.Q2_K }),
    'unsupported',
    /"blk\.0\.attn_v\.weight": got "Q2_K", want F32, .*Q8_0 or Q4_K_M/,
  ],
  [
    'a type that is not computed, in rows that it could not have',
    withTensor('blk.0.attn_v.weight', { type: TYPE.Q2_K }),
    'unsupported',
    /type of tensor "blk\.0\.attn_v\.weight": got "Q2_K", want F32, .*Q8_0 or Q4_K_M/,
  ],
  ['float64 where it is wanted', withTensor('output_norm.weight', { type: TYPE.F64 }), 'unsupported', /got "F64"/],
  [
    'an offset between two alignments',
    withTensor('output_norm.weight', { offset: 33 }),
    'format',
    /got 33, want a multiple of 32/,
  ],
  [
    'an offset of 2^64 - 32',
    withTensor('output_norm.weight', { offset: 2n ** 64n - 32n }),
    'format',
    /offset of tensor "output_norm/,
  ],
  [
    'an offset of almost 2^53',
    withTensor('output_norm.weight', { offset: 2n ** 53n - 32n }),
    'format',
    /offset of tensor "output_norm/,
  ],
  [
    'an offset past the file',
    withTensor('output_norm.weight', { offset: 1 << 20 }),
    'format',
    /want \d+, where the tensor before it ends/,
  ],
  [
    'two tensors at one place',
    withTensor('output_norm.weight', { offset: 0 }),
    'format',
    /where the tensor before it ends/,
  ],
  ['a hole', withTensor('token_embd.weight', { offset: 32 }), 'format', /got 32, want 0, where/],
  ['no token table', file.LLAMA_TENSORS.slice(1), 'weight', /shape of "token_embd\.weight": got "nothing"/],
  [
    'a token table of one dimension',
    withTensor('token_embd.weight', { shape: [512] }),
    'weight',
    /a table of two dimensions/,
  ],
  ['no tensors', [], 'weight', /token_embd/],
];

/** A file whose second half is written by hand. @param {Uint8Array[]} parts @param {number} keys @returns {Uint8Array} */
const raw = (keys, ...parts) => join('GGUF', u32(3), u64(0), u64(keys), ...parts);

/** @type {[string, Uint8Array, string, RegExp][]} */
const RAW = [
  [
    'a key that comes twice',
    ggufFile({
      keys: [
        ['a', U8, 1],
        ['a', U8, 2],
      ],
    }),
    'format',
    /metadata key 1: got "a", want each key only once/,
  ],
  ['a key without a name', ggufFile({ keys: [['', U32, 1]] }), 'format', /metadata key 0: got "", want a name/],
  ['a key of 2^64 - 1 bytes', raw(1, text('a', 2n ** 64n - 1n), u32(0), u64(0)), 'format', /length of metadata key 0/],
  [
    'a key of 65,536 bytes',
    raw(1, text('x'.repeat(65_536)), u32(0), u32(0)),
    'format',
    /length of metadata key 0: got 65536/,
  ],
  ['a key longer than the file', raw(1, text('a', 60_000), u32(0), u32(0)), 'format', /cut short/],
  [
    'a key that is not UTF-8',
    raw(1, u64(1), Uint8Array.of(0xff), u32(0), u32(0)),
    'format',
    /metadata key 0: got "bytes that are not UTF-8"/,
  ],
  ['a text of 2^40 bytes', raw(1, text('a'), u32(STRING), u64(2n ** 40n), u64(0)), 'format', /length of metadata "a"/],
  [
    'a text longer than the file',
    raw(1, text('a'), u32(STRING), u64(1000)),
    'format',
    /cut short; bytes left for metadata "a": got 0, want 1000/,
  ],
  [
    'a text in a list longer than the file',
    raw(1, text('a'), u32(ARRAY), u32(STRING), u64(1), u64(2n ** 24n)),
    'format',
    /cut short/,
  ],
];

for (const [what, bytes, code, message] of /** @type {[string, Uint8Array, string, RegExp][]} */ ([...HEAD, ...RAW])) {
  test(`${what} is refused`, () => refuse(bytes, code, message));
}
for (const [what, changes, code, message] of METADATA) {
  test(`${what}: refused`, () => refuse(llamaFile(changes), code, message));
}
for (const [what, tensors, code, message] of TENSORS) {
  test(`${what}: refused in the list of tensors`, () => refuse(llamaFile([], { tensors }), code, message));
}

test('a file cut anywhere is refused', async () => {
  const bytes = llamaFile();
  for (let size = 0; size < bytes.length; size += size < 2000 ? 13 : 997) {
    await refuse(bytes.subarray(0, size), 'format', /cut short/);
  }
});

test('bytes behind the last tensor are refused', () =>
  refuse(join(llamaFile(), new Uint8Array(64)), 'format', /bytes after the last tensor: got 64, want at most 0/));
