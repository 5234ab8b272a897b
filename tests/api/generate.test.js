/** Generating: what comes token by token has the bits of what is computed at once, for every family that decodes; where it
 * stops; what cancels it; what it refuses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { assertSameBits, qkvError, randomIds, seeded } from './golden.js';
import { characterOf, DECODERS, decoderFiles, letterTokenizer, shownAs } from './tiny_decoder.js';
import { tinyFiles } from './tiny_model.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').NewToken} NewToken */
/** @typedef {import('qkv').Run} Run */

const PROMPT = 9;
const NEW = 32;
/** @type {import('qkv').StageName[]} */
const STAGES = ['qLinear', 'kLinear', 'q', 'k', 'v', 'scores', 'scaled', 'capped', 'biased', 'masked', 'context'];

/** @param {Run} run */
const idsOf = (run) => run.tokens.map(({ id }) => id);

/**
 * Every number of both runs that can be asked for.
 * @param {Model} model
 * @param {Run} actual
 * @param {Run} expected
 */
async function assertSameRuns({ info }, actual, expected) {
  assert.deepEqual(idsOf(actual), idsOf(expected));
  for (let layer = 0; layer < info.layers; layer++) {
    for (let head = 0; head < info.heads; head++) {
      const place = { layer, head };
      const weights = await expected.getWeights(layer, head);
      assertSameBits((await actual.getWeights(layer, head)).data, weights.data, `weights ${layer}.${head}`);
      for (const stage of STAGES) {
        const [one, other] = [await actual.getStage(stage, place), await expected.getStage(stage, place)];
        assertSameBits(one.data, other.data, `${stage} ${layer}.${head}`);
      }
    }
    for (const stage of /** @type {const} */ (['x', 'concat', 'output', 'hidden'])) {
      const [one, other] = [await actual.getStage(stage, { layer }), await expected.getStage(stage, { layer })];
      assertSameBits(one.data, other.data, `${stage} ${layer}`);
    }
  }
  for (let i = 0; i <= info.layers; i++) {
    assertSameBits((await actual.hidden(i)).data, (await expected.hidden(i)).data, `hidden ${i}`);
  }
  for (let position = 0; position < expected.tokens.length; position++) {
    const [one, other] = [await actual.logits({ position }), await expected.logits({ position })];
    assertSameBits(one, other, `logits at ${position}`);
  }
  assertSameBits((await actual.overview()).thumbnails, (await expected.overview()).thumbnails, 'thumbnails');
}

for (const name of DECODERS) {
  test(`${name}: step by step equals at once, bit for bit, in every precision`, async () => {
    for (const precision of /** @type {const} */ (['f32', 'q10', 'q8'])) {
      const model = await loadModel(decoderFiles(name), { precision });
      const ids = randomIds(seeded(1), PROMPT, model.info.vocab);
      const run = await model.generate({ ids }, { maxNewTokens: NEW, temperature: 1, seed: 5 });
      assert.deepEqual([run.tokens.length, run.promptTokens, run.stopped], [PROMPT + NEW, PROMPT, 'length']);
      const whole = await model.forward({ ids: idsOf(run) });
      await assertSameRuns(model, run, whole);
      model.dispose();
    }
  });

  test(`${name}: without a temperature each new token has the largest logit before it`, async () => {
    const model = await loadModel(decoderFiles(name));
    const ids = randomIds(seeded(2), PROMPT, model.info.vocab);
    const run = await model.generate({ ids }, { maxNewTokens: 8 });
    for (let position = PROMPT - 1; position < run.tokens.length - 1; position++) {
      const [next] = await run.nextTokens(1, { position });
      assert.equal(next.id, run.tokens[position + 1].id);
      const logits = await run.logits({ position });
      assert.equal(logits.indexOf(Math.max(...logits)), next.id);
    }
    const later = await model.generate({ ids: idsOf(run).slice(0, PROMPT + 5) }, { maxNewTokens: 3 });
    assert.deepEqual(idsOf(later), idsOf(run));
    model.dispose();
  });

  test(`${name}: a batch has the bits of its sequences alone`, async () => {
    const model = await loadModel(decoderFiles(name));
    const all = [3, 1, 17, 8].map((count, index) => ({ ids: randomIds(seeded(10 + index), count, model.info.vocab) }));
    const batch = await model.forward({ batch: all });
    for (const [sequence, single] of all.entries()) {
      const alone = await model.forward(single);
      for (let layer = 0; layer < model.info.layers; layer++) {
        for (let head = 0; head < model.info.heads; head++) {
          const [one, other] = [await batch.getWeights(layer, head, { sequence }), await alone.getWeights(layer, head)];
          assertSameBits(one.data, other.data, `weights ${layer}.${head} of ${sequence}`);
        }
      }
      for (let i = 0; i <= model.info.layers; i++) {
        assertSameBits((await batch.hidden(i, { sequence })).data, (await alone.hidden(i)).data, `hidden ${i}`);
      }
      assertSameBits(await batch.logits({ sequence }), await alone.logits(), 'logits');
      assertSameBits(await batch.logits({ sequence, position: 0 }), await alone.logits({ position: 0 }), 'logits at 0');
    }
    model.dispose();
  });
}

/** @type {Model} */
let model;
/** @type {Int32Array} */
let ids;
before(async () => {
  model = await loadModel(decoderFiles('llama'));
  ids = randomIds(seeded(3), PROMPT, model.info.vocab);
});
after(() => model.dispose());

test('tokens are told as they are chosen, in order, and the same in a worker', async () => {
  const far = await loadModel(decoderFiles('llama'), { worker: true });
  const options = { maxNewTokens: 12, temperature: 1.3, topK: 20, topP: 0.9, seed: 11 };
  /** @type {NewToken[][]} */
  const told = [[], []];
  const near = await model.generate({ ids }, { ...options, onToken: (token) => told[0].push(token) });
  const there = await far.generate({ ids }, { ...options, onToken: (token) => told[1].push(token) });
  assert.deepEqual(told[1], told[0]);
  assert.deepEqual(
    told[0].map(({ id, index }) => [id, index]),
    near.tokens.slice(PROMPT).map(({ id }, index) => [id, index]),
  );
  const { tokens, truncated, lengths, bytes, text, stopped, promptTokens } = near;
  const same = (({ tokens, truncated, lengths, bytes, text, stopped, promptTokens }) => ({
    ...{ tokens, truncated, lengths, bytes, text, stopped, promptTokens },
  }))(there);
  assert.deepEqual(same, { tokens, truncated, lengths, bytes, text, stopped, promptTokens });
  assert.deepEqual([lengths, text, stopped], [[PROMPT + 12], null, 'length']);
  assertSameBits(await there.logits(), await near.logits(), 'logits');
  assert.ok(near.time > 0 && there.time > 0);
  far.dispose();
});

test('a forward pass has no generated text', async () => {
  const run = await model.forward({ ids });
  assert.deepEqual([run.text, run.stopped, run.promptTokens], [null, null, PROMPT]);
});

test('a text goes on as text: tokens, places and what is streamed agree', async () => {
  const files = { ...decoderFiles('llama'), 'tokenizer.json': letterTokenizer() };
  const own = await loadModel(files);
  const prompt = 'Once upon a time';
  let streamed = '';
  const onToken = (/** @type {NewToken} */ { text }) => {
    streamed += text;
  };
  const run = await own.generate(prompt, { maxNewTokens: 40, temperature: 3, seed: 3, onToken });
  const fresh = run.tokens.slice(run.promptTokens);
  assert.deepEqual([run.promptTokens, fresh.length, run.text, run.truncated], [prompt.length, 40, streamed, null]);
  assert.equal(fresh.map(({ id }) => characterOf(id)).join(''), run.text);
  assert.ok(new Set(run.text).size > 5 && fresh.some(({ id }) => characterOf(id) === ''), 'of every kind');
  const whole = prompt + run.text;
  for (const { id, text, start, end } of fresh)
    assert.deepEqual([text, whole.slice(start, end)], [shownAs(id), characterOf(id)]);
  assert.deepEqual(run.tokens.slice(0, run.promptTokens), await own.tokenize(prompt));
  const pair = await own.generate(['One ', 'two'], { maxNewTokens: 3 });
  assert.deepEqual(
    pair.tokens.map(({ segment }) => segment),
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
  );
  const next = await run.nextTokens(2, { position: 0 });
  assert.deepEqual(
    next.map(({ text }) => text),
    next.map(({ id }) => shownAs(id)),
  );
  await assert.rejects(own.forward(''), qkvError('text', 'forward: a text that gives no token'));
  await assert.rejects(own.forward({ batch: ['a', ''] }), qkvError('text', 'no token'));
  await assert.rejects(own.generate(''), qkvError('text', 'generate: a text that gives no token'));
  await assert.rejects(own.embed(['a', '']), qkvError('text', 'embed: texts[1]'));
  assert.deepEqual(await own.tokenize(''), []);
  own.dispose();
});

test('one seed gives one text, another seed another one, no seed is seed 0', async () => {
  const take = async (/** @type {import('qkv').GenerateOptions} */ options) =>
    idsOf(await model.generate({ ids }, { maxNewTokens: 24, temperature: 1.5, ...options }));
  assert.deepEqual(await take({ seed: 1 }), await take({ seed: 1 }));
  assert.notDeepEqual(await take({ seed: 1 }), await take({ seed: 2 }));
  assert.deepEqual(await take({}), await take({ seed: 0 }));
  const greedy = await take({ temperature: 0 });
  assert.deepEqual(await take({ topK: 1 }), greedy);
  assert.deepEqual(await take({ topP: 1e-9, seed: 4 }), greedy);
  assert.notDeepEqual(await take({ seed: 1 }), greedy);
});

test('it stops behind a token that ends a text, which is fed too', async () => {
  const free = await model.generate({ ids }, { maxNewTokens: 8 });
  const third = free.tokens[PROMPT + 2].id;
  const first = free.tokens.slice(PROMPT).findIndex(({ id }) => id === third);
  const unused = Array.from({ length: model.info.vocab }, (_, id) => id).find((id) => !idsOf(free).includes(id));
  for (const eos of [third, [unused, third]]) {
    const ending = await loadModel(decoderFiles('llama', { eos_token_id: eos }));
    const run = await ending.generate({ ids }, { maxNewTokens: 8 });
    assert.deepEqual([run.stopped, idsOf(run)], ['eos', idsOf(free).slice(0, PROMPT + first + 1)]);
    assertSameBits(await run.logits(), await free.logits({ position: PROMPT + first }), 'logits behind the end');
    ending.dispose();
  }
  const other = { ...decoderFiles('llama', { eos_token_id: unused }) };
  other['generation_config.json'] = new TextEncoder().encode(JSON.stringify({ eos_token_id: [third] }));
  const ending = await loadModel(other);
  assert.equal((await ending.generate({ ids }, { maxNewTokens: 8 })).stopped, 'eos');
  ending.dispose();
});

test('at the longest sequence of the model it stops and says so', async () => {
  const gpt2 = await loadModel(decoderFiles('gpt2'));
  const context = gpt2.info.maxTokens;
  const full = randomIds(seeded(6), context, gpt2.info.vocab);
  /** @type {NewToken[]} */
  const told = [];
  const onToken = (/** @type {NewToken} */ token) => told.push(token);
  const nearly = await gpt2.generate({ ids: full.slice(0, -3) }, { maxNewTokens: 10, onToken });
  assert.deepEqual([nearly.tokens.length, nearly.stopped, told.length], [context, 'context', 3]);
  const whole = await gpt2.generate({ ids: full }, { maxNewTokens: 10, onToken });
  assert.deepEqual([whole.tokens.length, whole.stopped, told.length], [context, 'context', 3]);
  assertSameBits(await whole.logits(), await (await gpt2.forward({ ids: full })).logits(), 'logits');
  const long = gpt2.generate({ ids: new Int32Array(context + 1) });
  await assert.rejects(long, qkvError('range', 'generate: number of ids', `1 to ${context}`));
  gpt2.dispose();
});

test('maxTokens of loadModel bounds prompt and new tokens together', async () => {
  const own = await loadModel(decoderFiles('llama'), { maxTokens: 5 });
  for (const options of [{}, { maxNewTokens: 4 }]) {
    const run = await own.generate({ ids: [1, 2] }, options);
    assert.deepEqual([run.tokens.length, run.stopped], [5, 'context']);
  }
  const short = await own.generate({ ids: [1, 2] }, { maxNewTokens: 3 });
  assert.deepEqual([short.tokens.length, short.stopped], [5, 'length']);
  const full = await own.generate({ ids: [1, 2, 3, 4, 5] });
  assert.deepEqual([full.tokens.length, full.stopped], [5, 'context']);
  await assert.rejects(
    own.generate({ ids: [1, 2, 3, 4, 5, 6] }),
    qkvError('range', 'generate: number of ids', '1 to 5'),
  );
  own.dispose();
  const tiny = await loadModel(decoderFiles('llama', { max_position_embeddings: 9 }));
  assert.equal((await tiny.generate({ ids: [1, 2] })).tokens.length, 9);
  tiny.dispose();
});

test('a signal, a throwing onToken and dispose end it in the middle, and its memory comes back', async () => {
  for (const worker of [false, true]) {
    const engine = await init();
    const own = await loadModel(decoderFiles('llama'), { engine, worker });
    const { used } = engine.memory();
    for (const end of [1, 5]) {
      const controller = new AbortController();
      let count = 0;
      const onToken = () => {
        if (++count === end) controller.abort();
      };
      const options = { maxNewTokens: 200, onToken, signal: controller.signal };
      await assert.rejects(own.generate({ ids }, options), qkvError('aborted'));
      assert.equal(count, end);
    }
    await assert.rejects(own.generate({ ids }, { signal: AbortSignal.abort() }), qkvError('aborted'));
    const failing = () => {
      throw new TypeError('my own fault');
    };
    await assert.rejects(own.generate({ ids }, { onToken: failing }), new TypeError('my own fault'));
    assert.equal(engine.memory().used, used);
    assert.equal((await own.generate({ ids }, { maxNewTokens: 2 })).tokens.length, PROMPT + 2);
    const disposed = own.generate({ ids }, { maxNewTokens: 200, onToken: () => own.dispose() });
    await assert.rejects(disposed, qkvError('disposed'));
    if (!worker) assert.ok(engine.memory().used < used);
  }
});

test('another text is answered while one is generated, in a worker and without one', async () => {
  for (const worker of [false, true]) {
    const own = await loadModel(decoderFiles('llama'), { worker });
    const controller = new AbortController();
    let count = 0;
    const options = { maxNewTokens: 240, signal: controller.signal, onToken: () => void count++ };
    const long = assert.rejects(own.generate({ ids }, options), qkvError('aborted'));
    await own.forward({ ids: [1, 2] });
    assert.ok(count < 240, `${count} tokens`);
    controller.abort();
    await long;
    own.dispose();
  }
});

test('memory stays flat over 200 texts, given back or forgotten half way', async () => {
  const engine = await init();
  const own = await loadModel(decoderFiles('llama'), { engine });
  const random = seeded(9);
  (await own.generate({ ids: new Int32Array(60).fill(1) }, { maxNewTokens: 60 })).dispose();
  const { reserved, used } = engine.memory();
  for (let i = 0; i < 200; i++) {
    const prompt = randomIds(random, 1 + Math.floor(random() * 59), own.info.vocab);
    const run = await own.generate({ ids: prompt }, { maxNewTokens: 1 + Math.floor(random() * 59), temperature: 1 });
    run.dispose();
    await assert.rejects(run.logits(), qkvError('disposed'));
  }
  assert.deepEqual(engine.memory(), { reserved, used });
  own.dispose();
});

test('what cannot be generated is refused with one sentence', async () => {
  /** @type {[string, string, unknown[]][]} */
  const table = [
    ['maxNewTokens', 'argument', [Number.NaN, 1.5, '8', null, {}, Number.POSITIVE_INFINITY]],
    ['maxNewTokens', 'range', [0, -1, model.info.maxTokens + 1, 1e9]],
    ['temperature', 'argument', [Number.NaN, '1', null, {}]],
    ['temperature', 'range', [-1, 1e9]],
    ['topK', 'argument', [Number.NaN, 0.5, '5', null]],
    ['topK', 'range', [0, -1, 1e9]],
    ['topP', 'argument', [Number.NaN, '0.5', null]],
    ['topP', 'range', [0, -1, 1.5, 1e9]],
    ['seed', 'argument', [Number.NaN, 0.5, '7', null]],
    ['seed', 'range', [-1, 2 ** 32]],
    ['onToken', 'argument', [5, 'x', {}, null]],
    ['signal', 'argument', [5, 'x', {}]],
  ];
  const far = await loadModel(decoderFiles('llama'), { worker: true });
  for (const own of [model, far]) {
    for (const [option, code, values] of table) {
      for (const value of values) {
        const options = /** @type {object} */ ({ [option]: value });
        await assert.rejects(own.generate({ ids }, options), qkvError(code, `generate: ${option}`));
      }
    }
    const wrong = (/** @type {unknown} */ value) => /** @type {never} */ (value);
    await assert.rejects(own.generate({ ids }, wrong({ maxTokens: 5 })), qkvError('argument', 'maxTokens'));
    await assert.rejects(own.generate({ ids }, wrong([])), qkvError('argument', 'generate: options'));
    await assert.rejects(own.generate(wrong({ batch: [{ ids }] })), qkvError('unsupported', 'batch', 'once for each'));
    await assert.rejects(own.generate(wrong({ source: 'x' })), qkvError('unsupported', 'generate', '"source"'));
    for (const input of [undefined, null, 5, [], ['a'], [1, 2], {}]) {
      await assert.rejects(own.generate(wrong(input)), qkvError('argument', 'generate: ', 'a string'));
    }
    await assert.rejects(own.generate({ ids: [] }), qkvError('range', 'generate: number of ids'));
    await assert.rejects(own.generate({ ids: [model.info.vocab] }), qkvError('range', 'generate: ids[0]'));
    await assert.rejects(own.generate('text'), qkvError('tokenizer'));
  }
  far.dispose();
  const encoder = await loadModel(tinyFiles());
  await assert.rejects(encoder.generate({ ids: [1] }), qkvError('unsupported', 'no language-model head'));
  encoder.dispose();
});

test('a promise that onToken returns is awaited, and its rejection is that of generate', async () => {
  for (const worker of [false, true]) {
    const engine = await init();
    const own = await loadModel(decoderFiles('llama'), { engine, worker });
    const { used } = engine.memory();
    /** @type {number[]} */
    const seen = [];
    const slow = async (/** @type {NewToken} */ { index }) => {
      await new Promise((go) => setTimeout(go, 6 - index));
      seen.push(index);
    };
    (await own.generate({ ids }, { maxNewTokens: 5, onToken: slow })).dispose();
    assert.deepEqual(seen, [0, 1, 2, 3, 4]);
    for (const last of [2, 4]) {
      const failing = async (/** @type {NewToken} */ { index }) => {
        await null;
        if (index === last) throw new TypeError('my own fault');
      };
      const failed = own.generate({ ids }, { maxNewTokens: 5, onToken: failing });
      await assert.rejects(failed, new TypeError('my own fault'));
    }
    assert.equal((await own.generate({ ids }, { maxNewTokens: 2 })).tokens.length, PROMPT + 2);
    if (!worker) assert.ok(engine.memory().used > used);
    own.dispose();
  }
});

test('a prompt that is too long is refused, since it would be cut where the new tokens come', async () => {
  const files = { ...decoderFiles('llama'), 'tokenizer.json': letterTokenizer() };
  for (const worker of [false, true]) {
    const own = await loadModel(files, { maxTokens: 20, worker });
    const long = own.generate('a'.repeat(30));
    await assert.rejects(
      long,
      qkvError('text', 'generate: tokens of the prompt: got 30, want at most 20. Shorten the text'),
    );
    assert.equal((await own.generate('a'.repeat(17))).tokens.length, 20);
    assert.deepEqual((await own.forward('a'.repeat(30))).truncated, { from: 30, to: 20 });
    own.dispose();
  }
});

test('a text longer than memory allows is refused with numbers, and the model stays', async () => {
  const engine = await init({ memoryLimit: 1_500_000 });
  const own = await loadModel(decoderFiles('llama', { eos_token_id: null, max_position_embeddings: 100_000 }), {
    engine,
  });
  await assert.rejects(
    own.generate({ ids }, { maxNewTokens: 90_000 }),
    qkvError('memory', 'generate', 'MB are available'),
  );
  assert.equal((await own.generate({ ids }, { maxNewTokens: 3 })).tokens.length, PROMPT + 3);
  own.dispose();
});
