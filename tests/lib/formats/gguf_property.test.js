/** GGUF files made at random and files changed at random: whole tensors or one QkvError, soon, whatever the chunks. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { ggufRowBytes, openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { ARRAY, F32, I32, LLAMA_TENSORS, llamaFile, pattern, STRING, sourceOf, U32 } from './gguf_file.js';
import { collector } from './safetensors_file.js';

/** Seconds of computing: some milliseconds suffice, a loop over a count that nobody checked has no end. */
const SLOWEST = 5;
/** QKV_FUZZ=100 runs a hundred times as long, with other seeds. */
const LONGER = Number(process.env.QKV_FUZZ ?? 1);
const SEED = LONGER === 1 ? 0 : Date.now();

const chunkSizes = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 5 });
const reading = fc.record({ sizes: chunkSizes, knowsSize: fc.boolean() });
const extraTensor = fc.record({
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  shape: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
  type: fc.constantFrom(0, 1),
});

/** @param {Uint8Array} bytes @param {{ sizes: number[], knowsSize: boolean }} how @param {number} [rows] */
async function readAll(bytes, how, rows = 1) {
  const { source, calls } = sourceOf(bytes, how);
  const { accept, received } = collector((tensor) => rows * ggufRowBytes(tensor));
  try {
    const model = await openGguf(source, 'f.gguf');
    await model.readTensors(accept);
    return { model, received };
  } finally {
    assert.equal(calls.closed, calls.opened, 'the file is let go');
  }
}

test('every valid file gives every tensor its bytes, however it is cut into chunks', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(extraTensor, { selector: ({ name }) => name, maxLength: 6 }),
      reading,
      fc.integer({ min: 1, max: 3 }),
      async (extra, how, rows) => {
        const tensors = [...LLAMA_TENSORS, ...extra.map((one) => ({ ...one, name: `x${one.name}` }))];
        const { model, received } = await readAll(llamaFile([], { tensors }), how, rows);
        assert.equal(model.tensors.length, tensors.length);
        for (const [i, { name, begin, end }] of model.tensors.entries()) {
          const own = [...pattern(end - begin, i)];
          const isPaired = /[qk]_proj/.test(name);
          const bytes = received.get(name) ?? [];
          assert.deepEqual(isPaired ? bytes.toSorted() : bytes, isPaired ? own.toSorted() : own);
        }
      },
    ),
    { seed: SEED + 6, numRuns: 100 * LONGER },
  ));

/** @typedef {[at: number, byte: number]} Change */
/** @type {fc.Arbitrary<Change[]>} mostly in the header, where all the numbers are */
const changes = fc.array(
  fc.tuple(fc.oneof({ weight: 4, arbitrary: fc.nat(2600) }, { weight: 1, arbitrary: fc.nat() }), fc.nat(255)),
  { minLength: 1, maxLength: 4 },
);

/** @param {Uint8Array} bytes @param {{ sizes: number[], knowsSize: boolean }} how */
async function outcome(bytes, how) {
  const before = process.cpuUsage();
  try {
    const { model } = await readAll(bytes, how);
    return { config: model.config, tokenizer: model.tokenizer, tensors: model.tensors };
  } catch (error) {
    assert.ok(error instanceof QkvError, error instanceof Error ? error.stack : String(error));
    return 'refused';
  } finally {
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < SLOWEST * 1e6, 'took too long');
  }
}

/** Files whose vocabulary goes through each kind of tokenizer. */
const SCORES = { of: F32, values: [0, -1, -2, -3, -4, -5, -6, -7] };
const FILES = [
  llamaFile(),
  ...['llama', 't5', 'bert'].map((model) =>
    llamaFile([
      ['tokenizer.ggml.model', STRING, model],
      ['tokenizer.ggml.scores', ARRAY, SCORES],
      ['tokenizer.ggml.unknown_token_id', U32, 1],
      ['tokenizer.ggml.seperator_token_id', U32, 2],
    ]),
  ),
];

test('changed bytes never hang, crash or depend on chunking: one model or one QkvError', () =>
  fc.assert(
    fc.asyncProperty(fc.constantFrom(...FILES), reading, changes, async (bytes, how, where) => {
      const changed = bytes.slice();
      for (const [at, byte] of where) changed[at % bytes.length] = byte;
      const whole = { sizes: [1 << 16], knowsSize: true };
      assert.deepEqual(await outcome(changed, how), await outcome(changed, whole));
    }),
    { seed: SEED + 7, numRuns: 700 * LONGER },
  ));

test('numbers of eight bytes put anywhere into the header never make it grow or hang', () => {
  const huge = [2n ** 64n - 1n, 2n ** 63n, 2n ** 62n, 2n ** 53n, 2n ** 40n, 2n ** 32n, 2n ** 31n, 2n ** 24n, 70_000n];
  const numbers = fc.constantFrom(...huge);
  return fc.assert(
    fc.asyncProperty(fc.constantFrom(...FILES), fc.nat(2600), numbers, reading, async (bytes, at, number, how) => {
      const changed = bytes.slice();
      new DataView(changed.buffer).setBigUint64(at, number, true);
      await outcome(changed, how);
    }),
    { seed: SEED + 8, numRuns: 700 * LONGER },
  );
});

test('a vocabulary of strange texts survives', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 6 }), { minLength: 3, maxLength: 12 }),
      fc.constantFrom('gpt2', 'llama', 't5', 'bert'),
      async (tokens, model) => {
        const count = tokens.length;
        const ids = /** @type {const} */ (['bos', 'eos', 'unknown', 'seperator', 'padding']);
        const bytes = llamaFile([
          ['tokenizer.ggml.model', STRING, model],
          ['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: [...tokens] }],
          ['tokenizer.ggml.token_type', ARRAY, { of: I32, values: tokens.map((_, i) => [1, 1, 3, 4, 5][i % 5]) }],
          ['tokenizer.ggml.scores', ARRAY, { of: F32, values: tokens.map((_, i) => -i) }],
          ...ids.map(
            (id, i) => /** @type {[string, number, number]} */ ([`tokenizer.ggml.${id}_token_id`, U32, i % count]),
          ),
        ]);
        const told = await outcome(bytes, { sizes: [4096], knowsSize: true });
        if (told !== 'refused') assert.notEqual(told.tokenizer, null);
      },
    ),
    { seed: SEED + 9, numRuns: 300 * LONGER },
  ));
