/** Heads: logits and the tokens they propose, for decoders, masked language models and discriminators. (That the numbers
 * are PyTorch's is checked with the families.) */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { qkvError, randomIds, seeded } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';
import { tinyFiles } from './tiny_model.js';

test('nextTokens is the softmax of the logits, the likeliest first', async () => {
  const model = await loadModel(decoderFiles('gpt2'));
  const run = await model.forward({ ids: randomIds(seeded(1), 11, model.info.vocab) });
  for (const position of [undefined, 0, 10]) {
    const logits = await run.logits({ position });
    assert.equal(logits.length, model.info.vocab);
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
    const next = await run.nextTokens(model.info.vocab, { position });
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
    assert.deepEqual(
      next.map(({ id }) => id),
      order,
    );
    for (const { id, text, probability } of next) {
      assert.ok(Math.abs(probability - Math.exp(logits[id]) / total) < 1e-12);
      assert.equal(text, `#${id}`);
    }
    assert.deepEqual(await run.nextTokens(undefined, { position }), next.slice(0, 10));
  }
  assert.deepEqual(await run.logits(), await run.logits({ position: 10 }));
  model.dispose();
});

test('the place is a token of a sequence', async () => {
  const model = await loadModel(decoderFiles('gpt2'));
  const run = await model.forward({ batch: [{ ids: [1, 2, 3] }, { ids: [4] }] });
  await assert.rejects(run.logits({ position: 3 }), qkvError('range', 'logits: position', '0 to 2'));
  await assert.rejects(run.logits({ sequence: 1, position: 1 }), qkvError('range', 'logits: position', '0 to 0'));
  await assert.rejects(run.logits({ sequence: 2 }), qkvError('range', 'logits: sequence', '0 to 1'));
  await assert.rejects(run.nextTokens(5, { position: -1 }), qkvError('range', 'nextTokens: position'));
  const wrong = (/** @type {unknown} */ value) => /** @type {never} */ (value);
  for (const position of [1.5, '1', null, Number.NaN]) {
    await assert.rejects(run.logits(wrong({ position })), qkvError('argument', 'logits: position'));
  }
  const { vocab } = model.info;
  for (const k of [0, -1, vocab + 1, 1e9])
    await assert.rejects(run.nextTokens(k), qkvError('range', 'nextTokens: k', `1 to ${vocab}`));
  for (const k of ['5', Number.NaN, null]) await assert.rejects(run.nextTokens(wrong(k)), qkvError('argument', 'k'));
  await assert.rejects(run.logits(wrong({ kind: 'decoder' })), qkvError('argument', 'kind'));
  model.dispose();
});

test('a masked language model proposes tokens at a place', async () => {
  const model = await loadModel(decoderFiles('roberta'));
  const run = await model.forward({ ids: randomIds(seeded(2), 9, model.info.vocab) });
  const next = await run.nextTokens(3, { position: 4 });
  const logits = await run.logits({ position: 4 });
  assert.deepEqual([next.length, next[0].id], [3, logits.indexOf(Math.max(...logits))]);
  await assert.rejects(model.generate({ ids: [1] }), qkvError('unsupported', 'generating needs a decoder'));
  model.dispose();
});

test('a discriminator gives one logit a token and proposes none', async () => {
  const model = await loadModel(decoderFiles('electra'));
  const run = await model.forward({ ids: randomIds(seeded(3), 6, model.info.vocab) });
  const logits = await Promise.all([0, 1, 5].map((position) => run.logits({ position })));
  assert.deepEqual(
    logits.map(({ length }) => length),
    [1, 1, 1],
  );
  assert.equal(new Set(logits.map(([logit]) => logit)).size, 3);
  await assert.rejects(run.nextTokens(1), qkvError('unsupported', 'discriminator', 'run.logits()'));
  await assert.rejects(model.generate({ ids: [1] }), qkvError('unsupported'));
  model.dispose();
});

test('a model without a head says so', async () => {
  const model = await loadModel(tinyFiles());
  const run = await model.forward({ ids: [1, 2] });
  await assert.rejects(run.logits(), qkvError('unsupported', 'no language-model head', 'run.embedding()'));
  await assert.rejects(run.nextTokens(), qkvError('unsupported', 'no language-model head'));
  model.dispose();
});
