/** GGUF files of all architectures: refused, or the same model however the file comes in chunks; then what reads that model. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { resolveModel } from '../../../web/lib/families/index.js';
import { ggufRowBytes, openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { ARCHITECTURES } from '../../../web/lib/formats/gguf/gguf_architectures.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { ARRAY, BOOL, F32, ggufFile, I32, STRING, sourceOf, U32, U64, U8 } from '../../lib/formats/gguf_file.js';
import { collector } from '../../lib/formats/safetensors_file.js';
import { changedBytes, readings } from './inputs.js';
import { checkResolved } from './target_config.js';
import { checkText } from './target_tokenizer.js';

/** @typedef {import('../../lib/formats/gguf_file.js').Key} Key */
/** @typedef {import('../../lib/formats/gguf_file.js').Tensor} Tensor */
/** @typedef {{ keys: Key[], tensors: Tensor[] }} Parts */

const WIDTH = 8;
/** Bytes of a file whose tensors claim to be large; what is cut off is found missing. */
const LONGEST = 50_000;
const PIECES = {
  gpt2: ['<s>', '</s>', 'a', 'b', 'ab', 'Ġ', 'Ġa', 'd'],
  llama: ['<unk>', '<s>', '</s>', '▁', 'a', '▁a', '<0x41>', 'aa'],
  t5: ['<pad>', '</s>', '<unk>', '▁', 'a', '▁a', 'b', 'ab'],
  bert: ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '▁a', 'a', '▁b', 'b'],
};

/** @param {keyof typeof PIECES} model @returns {Key[]} */
function vocabulary(model) {
  const ids = ['bos', 'eos', 'unknown', 'seperator', 'padding'];
  return [
    ['tokenizer.ggml.model', STRING, model],
    ['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: PIECES[model] }],
    ['tokenizer.ggml.scores', ARRAY, { of: F32, values: PIECES[model].map((_, i) => -i) }],
    ['tokenizer.ggml.token_type', ARRAY, { of: I32, values: [3, 3, 2, 1, 1, 1, model === 'llama' ? 6 : 1, 1] }],
    ['tokenizer.ggml.merges', ARRAY, { of: STRING, values: ['a b', 'Ġ a'] }],
    ['tokenizer.ggml.add_bos_token', BOOL, 1],
    ...ids.map((id, i) => /** @type {Key} */ ([`tokenizer.ggml.${id}_token_id`, U32, i % 4])),
  ];
}

/** @param {string} name @param {keyof typeof PIECES} model @returns {Parts} */
function small(name, model) {
  const names = Object.keys(ARCHITECTURES.get(name)?.names ?? {});
  const hasParts = names.includes('blk.{i}.attn_q');
  const tensors = names
    .filter((stem) => stem !== 'output' && !(hasParts && stem.endsWith('attn_qkv')))
    .map((stem) => {
      const isVector = /norm/.test(stem);
      const rows = stem.endsWith('attn_qkv') ? 3 * WIDTH : WIDTH;
      return {
        name: `${stem.replace('{i}', '0')}.weight`,
        shape: isVector ? [WIDTH] : [rows, WIDTH],
        type: isVector ? 0 : 1,
      };
    });
  const numbers = { block_count: 1, context_length: 16, embedding_length: WIDTH, feed_forward_length: WIDTH };
  const heads = { 'attention.head_count': 2, 'attention.head_count_kv': 2, 'rope.dimension_count': 4 };
  const eps =
    name === 'gpt2' || name === 'bert' || name === 'phi2' || name === 'gptneox' ? 'layer_norm' : 'layer_norm_rms';
  return {
    keys: [
      ['general.architecture', STRING, name],
      ...Object.entries({ ...numbers, ...heads }).map(
        ([key, value]) => /** @type {Key} */ ([`${name}.${key}`, U32, value]),
      ),
      [`${name}.attention.${eps}_epsilon`, F32, 1e-5],
      ...(name === 'bert' ? [/** @type {Key} */ ([`${name}.attention.causal`, BOOL, 0])] : []),
      ...vocabulary(model),
    ],
    tensors,
  };
}

const MODELS = /** @type {(keyof typeof PIECES)[]} */ (Object.keys(PIECES));
const PARTS = [...ARCHITECTURES.keys()].map((name, i) => small(name, MODELS[i % MODELS.length]));
PARTS.push(...MODELS.map((model) => small('llama', model)));

const KEYS = [
  ...[
    'general.architecture',
    'general.alignment',
    'general.type',
    'split.count',
    'X.rope.scaling.type',
    'X.rope.freq_base',
  ],
  ...['X.rope.scaling.factor', 'X.attention.key_length', 'X.attention.value_length', 'X.attention.sliding_window'],
  ...['X.rope.scaling.original_context_length', 'X.expert_count', 'X.attention.scale', 'X.attn_logit_softcapping'],
  ...['X.attention.sliding_window_pattern', 'X.rope.scaling.yarn_beta_fast', 'X.use_parallel_residual', 'general.name'],
  ...['tokenizer.ggml.pre', 'tokenizer.ggml.add_space_prefix', 'tokenizer.ggml.remove_extra_whitespaces', 'x'],
  ...['tokenizer.ggml.precompiled_charsmap', 'tokenizer.ggml.add_eos_token', 'X.vocab_size', 'general.license'],
];
const number = fc.constantFrom(
  0n,
  1n,
  2n,
  3n,
  4n,
  8n,
  16n,
  32n,
  64n,
  1_000n,
  2n ** 20n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n,
);
const words = fc.constantFrom(
  'llama',
  'gpt2',
  'bert',
  'qwen2',
  'yarn',
  'linear',
  'none',
  'longrope',
  'qwen2',
  'llama-bpe',
  'olmo',
  '',
  'a b',
  '▁',
);
const value = fc.oneof(
  fc.tuple(fc.constantFrom(U8, U32, I32, U64, BOOL, 12), number),
  fc.tuple(fc.constant(F32), fc.constantFrom(0n, 1n, 2n, 10_000n, 1_000_000n)),
  fc.tuple(fc.constant(STRING), fc.oneof(words, fc.string({ unit: 'binary', maxLength: 6 }))),
  fc.tuple(
    fc.constant(ARRAY),
    fc.oneof(
      fc.record({
        of: fc.constant(STRING),
        values: fc.array(fc.oneof(words, fc.string({ unit: 'grapheme', maxLength: 5 })), { maxLength: 9 }),
      }),
      fc.record({ of: fc.constantFrom(U8, I32, F32, BOOL, U64), values: fc.array(number, { maxLength: 9 }) }),
      fc.record({ of: fc.constantFrom(STRING, I32, 9, 77), values: fc.constant([]), count: number }),
    ),
  ),
);
const keyChange = fc.record({ pick: fc.nat(100), name: fc.option(fc.constantFrom(...KEYS)), value, drop: fc.nat(9) });
const tensorChange = fc.record({
  pick: fc.nat(100),
  change: fc.oneof(
    fc.record({ shape: fc.array(fc.oneof(fc.bigInt(1n, 40n), number), { minLength: 1, maxLength: 5 }) }),
    fc.record({ type: fc.nat(45) }),
    fc.record({ offset: number }),
    fc.record({ dims: fc.nat(9) }),
    fc.record({
      name: fc.constantFrom('rope_freqs.weight', 'output.weight', 'blk.1.attn_q.weight', 'x', '', 'token_embd.weight'),
    }),
    fc.constant({ name: 'rope_freqs.weight', shape: [2], type: 0 }),
    fc.constant({ name: 'blk.0.attn_q.bias', shape: [WIDTH], type: 0 }),
  ),
  more: fc.boolean(),
});

/** @param {Parts} parts @param {{ pick: number, name: string | null, value: [number, any], drop: number }} how */
function changeKey({ keys }, { pick, name, value: [type, one], drop }) {
  const at = pick % keys.length;
  const architecture = keys.find(([key]) => key === 'general.architecture')?.[2];
  const key = name?.replace('X', typeof architecture === 'string' ? architecture : 'llama') ?? keys[at][0];
  if (name !== null) keys.push([key, type, one]);
  else if (drop === 0) keys.splice(at, 1);
  else keys[at] = [key, type, one];
}

const changedParts = fc
  .record({
    base: fc.constantFrom(...PARTS),
    keys: fc.array(keyChange, { maxLength: 3 }),
    tensors: fc.array(tensorChange, { maxLength: 2 }),
    counts: fc.oneof(
      { weight: 9, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.record({ keyCount: number, tensorCount: number }) },
    ),
    alignment: fc.constantFrom(32, 32, 32, 32, 8, 64),
    version: fc.constantFrom(3, 3, 3, 3, 2, 1, 4),
  })
  .map(({ base, keys, tensors, ...rest }) => {
    const parts = { keys: [...base.keys], tensors: base.tensors.map((tensor) => ({ ...tensor })) };
    for (const how of keys) if (parts.keys.length > 0) changeKey(parts, how);
    for (const { pick, change, more } of tensors) {
      const at = pick % parts.tensors.length;
      const changed = { ...parts.tensors[at], .../** @type {Partial<Tensor>} */ (change) };
      if (more) parts.tensors.push(changed);
      else parts.tensors[at] = changed;
    }
    return ggufFile({ ...parts, ...rest }).subarray(0, LONGEST);
  });

/** @param {Uint8Array} bytes @param {{ sizes: number[], knowsSize: boolean }} how */
async function readAll(bytes, how) {
  const { source, calls } = sourceOf(bytes, how);
  const { accept, received } = collector((tensor) => ggufRowBytes(tensor));
  try {
    const model = await openGguf(source, 'f.gguf');
    const rows = model.tensors.filter((tensor) => ggufRowBytes(tensor) <= bytes.length);
    await model.readTensors((tensors) => accept(tensors.filter((tensor) => rows.includes(tensor))));
    for (const { name, begin, end } of rows) assert.equal(received.get(name)?.length, end - begin, name);
    return { config: model.config, tokenizer: model.tokenizer, tensors: model.tensors, received };
  } catch (error) {
    if (error instanceof QkvError) return error;
    throw error;
  } finally {
    assert.equal(calls.closed, calls.opened, 'the file is let go');
  }
}

/** @type {import('./inputs.js').Target} */
export const gguf = {
  name: 'gguf',
  isJson: false,
  seeds: PARTS.map((parts) => ggufFile(parts)),
  inputs: (pool) => fc.oneof({ weight: 3, arbitrary: changedParts }, { weight: 2, arbitrary: changedBytes(pool) }),
  async check(bytes) {
    const [whole, cut] = [await readAll(bytes, readings(bytes)[0]), await readAll(bytes, readings(bytes)[1])];
    if (whole instanceof QkvError || cut instanceof QkvError) {
      assert.equal(whole instanceof QkvError, cut instanceof QkvError, `${whole} and ${cut}`);
      throw whole;
    }
    assert.deepEqual(cut, whole);
    const resolved = resolveModel(whole.config, 'f.gguf');
    checkResolved(resolved);
    if (whole.tokenizer === null) return `${resolved.family} without a vocabulary`;
    const made = createTokenizer(whole.tokenizer, { vocab: resolved.engine.vocab, maxTokens: 50 });
    const model = /** @type {{ type: string, byte_fallback?: boolean }} */ (whole.tokenizer.model);
    for (const one of ['ab a', ' é漢 <s>A\n']) checkText(made, one, null, 50, model.byte_fallback !== true);
    return `${resolved.family} ${model.type}`;
  },
};
