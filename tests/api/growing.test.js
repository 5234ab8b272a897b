/** Generating in a memory that grows with the text: the same bits, no more than is needed, nothing left behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, loadModel } from 'qkv';
import { assertSameBits, qkvError } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';

/** @typedef {import('qkv').NewToken} NewToken */
/** @typedef {import('qkv').Run} Run */

/** @param {Run} run */
const idsOf = (run) => run.tokens.map(({ id }) => id);

const PROMPT = 9;
const ids = Int32Array.from({ length: PROMPT }, (_, index) => 5 * index + 1);

/** Long enough for room to be made anew twice. */
const LONG = { eos_token_id: null, max_position_embeddings: 100_000 };

for (const name of ['llama', 'mistral', 'qwen3', 'gemma3', 'gpt_neox']) {
  test(`${name}: a text that outgrows its first room has the bits of what is computed at once`, async () => {
    const own = await loadModel(decoderFiles(name, LONG));
    const options = { temperature: 1, seed: 5 };
    const run = await own.generate({ ids: [1, 2, 3] }, { ...options, maxNewTokens: 520 });
    assert.deepEqual([run.tokens.length, run.promptTokens, run.stopped], [523, 3, 'length']);
    const whole = await own.forward({ ids: idsOf(run) });
    for (let layer = 0; layer < own.info.layers; layer++) {
      for (let head = 0; head < own.info.heads; head++) {
        const [one, other] = [await run.getWeights(layer, head), await whole.getWeights(layer, head)];
        assertSameBits(one.data, other.data, `weights ${layer}.${head}`);
      }
    }
    const last = own.info.layers;
    assertSameBits((await run.hidden(last)).data, (await whole.hidden(last)).data, 'hidden');
    for (const position of [0, 257, 258, 259, 260, 514, 515, 516, 522]) {
      assertSameBits(await run.logits({ position }), await whole.logits({ position }), `logits at ${position}`);
    }
    const short = await own.generate({ ids: [1, 2, 3] }, { ...options, maxNewTokens: 256 });
    assert.deepEqual(idsOf(short), idsOf(run).slice(0, 259));
    own.dispose();
  });
}

test('memory is taken for what is written, not for maxNewTokens', async () => {
  const engine = await init({ memoryLimit: 4_000_000 });
  const free = await loadModel(decoderFiles('llama', LONG), { engine });
  const written = await free.generate({ ids }, { maxNewTokens: 37 });
  const last = written.tokens[PROMPT + 36].id;
  const count = idsOf(written).indexOf(last, PROMPT) + 1;
  const ending = await loadModel(decoderFiles('llama', { ...LONG, eos_token_id: last }), { engine });
  const { used } = engine.memory();
  const run = await ending.generate({ ids }, { maxNewTokens: 90_000 });
  assert.deepEqual([run.tokens.length, run.stopped], [count, 'eos']);
  const usual = await ending.generate({ ids }, { maxNewTokens: 256 });
  assert.equal(run.bytes, usual.bytes);
  const long = await free.generate({ ids }, { maxNewTokens: 700 });
  assert.ok(long.bytes < usual.bytes * 3.5, `${long.bytes} bytes, ${usual.bytes} for 256 tokens`);
  for (const one of [run, usual, long]) one.dispose();
  assert.equal(engine.memory().used, used);
});

test('what ends it where room is made anew leaves nothing behind', async () => {
  const engine = await init({ memoryLimit: 4_000_000 });
  const own = await loadModel(decoderFiles('llama', LONG), { engine });
  const { used } = engine.memory();
  for (const end of [256, 257, 258, 513]) {
    const controller = new AbortController();
    const onToken = (/** @type {NewToken} */ { index }) => {
      if (index + 1 === end) controller.abort();
    };
    const aborted = own.generate({ ids }, { maxNewTokens: 1000, onToken, signal: controller.signal });
    await assert.rejects(aborted, qkvError('aborted'));
    const failing = (/** @type {NewToken} */ { index }) => {
      if (index + 1 === end) throw new TypeError('my own fault');
    };
    const failed = own.generate({ ids }, { maxNewTokens: 1000, onToken: failing });
    await assert.rejects(failed, new TypeError('my own fault'));
    assert.equal(engine.memory().used, used);
  }
  let count = 0;
  const tooMuch = own.generate({ ids }, { maxNewTokens: 90_000, onToken: () => void count++ });
  await assert.rejects(tooMuch, qkvError('memory', 'generate', 'MB are available', 'Lower maxNewTokens'));
  assert.ok(count > 256, `${count} tokens came before`);
  assert.equal(engine.memory().used, used);
  own.dispose();
});
