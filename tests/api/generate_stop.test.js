/** Where generating ends: texts of `stop`, ids that the files name, and ids that may not be chosen. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadModel } from 'qkv';
import { CASES, toGguf } from '../lib/formats/gguf_convert.js';
import { ARRAY, I32, STRING, U32 } from '../lib/formats/gguf_file.js';
import { qkvError, randomIds, seeded } from './golden.js';
import { characterOf, decoderFiles, letterTokenizer } from './tiny_decoder.js';

/** @typedef {import('qkv').GenerateOptions} GenerateOptions */
/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').NewToken} NewToken */

const PROMPT = 'Once upon a time';
const SAMPLED = { temperature: 2, seed: 4, maxNewTokens: 24 };
const DRAWN = { temperature: 3, seed: 2, maxNewTokens: 6 };
const json = (/** @type {unknown} */ value) => new TextEncoder().encode(JSON.stringify(value));

/** In this thread, and in a worker. @type {Model[]} */
let models;
/** What is written without a text to stop at. */
let free = '';
before(async () => {
  const files = { ...decoderFiles('llama'), 'tokenizer.json': letterTokenizer() };
  models = [await loadModel(files), await loadModel(files, { worker: true })];
  free = (await models[0].generate(PROMPT, SAMPLED)).text ?? '';
  assert.ok(free.length > 12, free);
});
after(() => {
  for (const model of models) model.dispose();
});

/** @param {Model} model @param {GenerateOptions} options */
async function written(model, options) {
  /** @type {NewToken[]} */
  const told = [];
  const run = await model.generate(PROMPT, { ...SAMPLED, ...options, onToken: (token) => told.push(token) });
  return { run, told, streamed: told.map(({ text }) => text).join('') };
}

test('it ends before a text of stop, which no token has told, in this thread and in a worker', async () => {
  for (const model of models) {
    for (const [from, to] of [
      [5, 8],
      [0, 3],
      [4, 5],
      [9, 12],
    ]) {
      const stop = free.slice(from, to);
      const at = free.indexOf(stop);
      const { run, told, streamed } = await written(model, { stop: ['never there', stop] });
      assert.deepEqual([run.text, run.stopped, streamed], [free.slice(0, at), 'stop', free.slice(0, at)]);
      assert.equal(told.length, run.tokens.length - run.promptTokens);
      // The tokens of the text are in the run, behind the end of its text.
      assert.equal(told.map(({ id }) => characterOf(id)).join(''), free.slice(0, at + stop.length));
      const end = PROMPT.length + at;
      for (const { start, end: to } of run.tokens) assert.ok(start <= to && to <= end, `${start} to ${to} of ${end}`);
      let sofar = '';
      for (const { text } of told) {
        sofar += text;
        assert.ok(free.slice(0, at).startsWith(sofar));
      }
      run.dispose();
    }
  }
});

test('what was held back is told when generating ends otherwise', async () => {
  for (const model of models) {
    // The last characters begin a text that is never complete.
    const { run, told, streamed } = await written(model, { stop: [`${free.slice(-3)}~~`] });
    assert.deepEqual([run.text, run.stopped, streamed], [free, 'length', free]);
    assert.ok((told.at(-1)?.text ?? '').endsWith(free.slice(-3)));
    run.dispose();
  }
});

test('bad texts to stop at are refused, in both places', async () => {
  for (const model of models) {
    for (const stop of ['text', [''], [5], [null], {}, null, [() => 'a'], new Array(65).fill('a')]) {
      const options = /** @type {any} */ ({ stop });
      await assert.rejects(model.generate(PROMPT, options), qkvError('argument', /generate: stop/));
    }
  }
  const bare = await loadModel(decoderFiles('llama'));
  await assert.rejects(bare.generate({ ids: [1] }, { stop: ['a'] }), qkvError('tokenizer', /no texts to stop at/));
  bare.dispose();
});

test('ids that generation_config.json suppresses are never chosen, or not first', async () => {
  const base = decoderFiles('llama');
  const plain = await loadModel(base);
  const ids = randomIds(seeded(3), 9, plain.info.vocab);
  const take = async (/** @type {Record<string, unknown>} */ generation) => {
    const model = await loadModel({ ...base, 'generation_config.json': json(generation) });
    const run = await model.generate({ ids }, { maxNewTokens: 6 });
    const { notes } = model.info;
    model.dispose();
    return { chosen: run.tokens.slice(9).map(({ id }) => id), notes };
  };
  const [first, second] = (await take({})).chosen;
  const likely = (await (await plain.forward({ ids })).nextTokens(3)).map(({ id }) => id);
  assert.equal(first, likely[0]);
  assert.equal((await take({ begin_suppress_tokens: [first] })).chosen[0], likely[1]);
  const without = await take({ suppress_tokens: likely.slice(0, 2), repetition_penalty: 1.3 });
  assert.equal(without.chosen[0], likely[2]);
  assert.ok(without.chosen.every((id) => !likely.slice(0, 2).includes(id)));
  assert.deepEqual(without.notes.length, 1);
  assert.match(without.notes[0], /generate does not follow repetition_penalty/);
  assert.deepEqual((await take({ begin_suppress_tokens: [second] })).chosen[0], first);
  plain.dispose();
});

/** The tiny Llama as GGUF. @param {(texts: string[]) => [string, number, any][]} keysOf changes the vocabulary */
async function fromGguf(keysOf) {
  const about = CASES.llama;
  const vocab = Number(about.config.vocab_size);
  const texts = Array.from({ length: vocab }, (_, id) => characterOf(id).replace(' ', 'Ġ') || `<${id}>`);
  const random = seeded(5);
  const keys = keysOf(texts);
  const types = texts.map((text) => (text.length > 1 ? 3 : 1));
  const shapes = new Map(about.tensors.map(([name, , shape]) => [name, shape]));
  const tensorOf = (/** @type {string} */ name) => {
    const shape = shapes.get(name) ?? [];
    const size = shape.reduce((product, one) => product * one, 1);
    return { shape, data: Float32Array.from({ length: size }, () => random() - 0.5) };
  };
  const bytes = toGguf(about, tensorOf, {
    vocabulary: [
      ['tokenizer.ggml.model', STRING, 'gpt2'],
      ['tokenizer.ggml.pre', STRING, 'gpt-2'],
      ['tokenizer.ggml.tokens', ARRAY, { of: STRING, values: texts }],
      ['tokenizer.ggml.token_type', ARRAY, { of: I32, values: types }],
      ['tokenizer.ggml.merges', ARRAY, { of: STRING, values: [] }],
      ...keys,
    ],
  });
  return loadModel({ 'm.gguf': bytes });
}

test('a GGUF file ends a text at each token that it names, or that llama.cpp knows by its text', async () => {
  const ids = [1, 2, 3, 4];
  const model = await fromGguf(() => []);
  const run = await model.generate({ ids }, DRAWN);
  const chosen = run.tokens.slice(4).map(({ id }) => id);
  const at = chosen.findIndex((id, index) => index > 0 && chosen.indexOf(id) === index);
  assert.ok(at > 0 && run.stopped === 'length', `${chosen}`);
  model.dispose();
  /** @type {((texts: string[]) => [string, number, any][])[]} */
  const ways = [
    () => [['tokenizer.ggml.eot_token_id', U32, chosen[at]]],
    () => [['tokenizer.ggml.eom_token_id', U32, chosen[at]]],
    (texts) => {
      texts[chosen[at]] = '<|im_end|>';
      return [['tokenizer.ggml.eos_token_id', U32, 0]];
    },
    (texts) => {
      texts[chosen[at]] = '<end_of_turn>';
      return [];
    },
  ];
  for (const way of ways) {
    const ending = await fromGguf(way);
    const run = await ending.generate({ ids }, DRAWN);
    assert.deepEqual([run.stopped, run.tokens.slice(4).map(({ id }) => id)], ['eos', chosen.slice(0, at + 1)]);
    ending.dispose();
  }
});
