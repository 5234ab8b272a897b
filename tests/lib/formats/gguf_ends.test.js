/** Which tokens of a GGUF file end a text: those of llama.cpp. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openGguf } from '../../../web/lib/formats/gguf/gguf.js';
import { ARRAY, I32, llamaFile, STRING, sourceOf, U32 } from './gguf_file.js';

const TEXTS = ['<s>', 'a', 'b', 'c', 'ab', 'Ġ', 'Ġa', 'd'];

/**
 * The small Llama with texts in place of its last ones, control tokens all.
 * @param {string[]} ends
 * @param {[string, number, any][]} [keys]
 */
async function opened(ends, keys = []) {
  const values = [...TEXTS.slice(0, TEXTS.length - ends.length), ...ends];
  const types = values.map((_, id) => (id === 0 || id >= TEXTS.length - ends.length ? 3 : 1));
  const given = new Set(keys.map(([key]) => key));
  /** @type {[string, number, any][]} */
  const usual = [
    ['tokenizer.ggml.tokens', ARRAY, { of: STRING, values }],
    ['tokenizer.ggml.token_type', ARRAY, { of: I32, values: types }],
    ['tokenizer.ggml.merges', ARRAY, { of: STRING, values: [] }],
  ];
  const bytes = llamaFile([...usual.filter(([key]) => !given.has(key)), ...keys]);
  return openGguf(sourceOf(bytes).source, 'model.gguf');
}

/** @param {string[]} ends @param {[string, number, any][]} [keys] */
const endsOf = async (ends, keys) => (await opened(ends, keys)).config.eos_token_id;

const EACH = [
  ...['<|eot_id|>', '<|im_end|>', '<|end|>', '<|return|>', '<|call|>', '<|flush|>', '<|calls|>', '<end_of_turn>'],
  ...['<|endoftext|>', '</s>', '<|eom_id|>', '<EOT>', '_<EOT>', '[EOT]', '[EOS]', '<|end_of_text|>'],
  ...['<end_of_utterance>', '<eos>', '<turn|>', '<|tool_response>', '<|fim_pad|>', '<|repo_name|>', '<|file_sep|>'],
];

test('tokens whose text says that they end a text end it, beside the one that the metadata names', async () => {
  for (const text of EACH) {
    assert.equal(await endsOf([text]), 7, text);
    assert.deepEqual(await endsOf([text], [['tokenizer.ggml.eos_token_id', U32, 3]]), [3, 7], text);
  }
  assert.equal(await endsOf(['<|start|>']), undefined);
  assert.deepEqual(await endsOf(['<|im_end|>', '<|endoftext|>', '<|eom_id|>']), [5, 6, 7]);
});

test('the metadata names the end of a text, of a turn and of a message', async () => {
  const keys = ['eos', 'eot', 'eom'].map((word, i) => [`tokenizer.ggml.${word}_token_id`, U32, i + 1]);
  assert.deepEqual(await endsOf([], /** @type {[string, number, any][]} */ (keys)), [1, 2, 3]);
  assert.equal(await endsOf([], [['tokenizer.ggml.eot_token_id', U32, 2]]), 2);
  for (const none of [2 ** 32 - 1, 8, 1000]) {
    assert.equal(await endsOf([], [['tokenizer.ggml.eot_token_id', U32, none]]), undefined, `${none}`);
  }
});

test('what stands between files of code ends a text, by its key and else by its text', async () => {
  const key = /** @type {[string, number, any]} */ (['tokenizer.ggml.fim_rep_token_id', U32, 2]);
  assert.equal(await endsOf([], [key]), 2);
  assert.equal(await endsOf(['<|repo_name|>'], [key]), 2);
});

test('where others end a text, "<|end|>" and "</s>" do not', async () => {
  assert.deepEqual(await endsOf(['<|end|>', '<|return|>', '<|call|>']), [6, 7]);
  assert.deepEqual(await endsOf(['<|end|>', '<|calls|>', '<|flush|>']), [7, 6]);
  assert.deepEqual(await endsOf(['<|end|>', '<|return|>']), [6, 7]);
  assert.equal(await endsOf(['</s>', '<|tool_response>']), 7);
});

test('tokens that end a text are special, so that their text is not told', async () => {
  const { tokenizer } = await opened(
    ['<|im_end|>'],
    [['tokenizer.ggml.token_type', ARRAY, { of: I32, values: Array(8).fill(1) }]],
  );
  const added = /** @type {{ content: string, special: boolean }[]} */ (tokenizer?.added_tokens);
  assert.deepEqual(
    added.map(({ content, special }) => [content, special]),
    [
      ['<s>', true],
      ['<|im_end|>', true],
    ],
  );
});

test('a file that does not say how text is cut into words says what is assumed', async () => {
  const { notes } = await opened([], [['tokenizer.ggml.pre', STRING, null]]);
  assert.deepEqual(notes.length, 1);
  assert.match(
    notes[0],
    /"tokenizer\.ggml\.pre" does not say how text is cut into words; the way of "gpt-2" is assumed/,
  );
  assert.deepEqual((await opened([])).notes, []);
});
