/** Which files beside tokenizer.json are read, and what they change. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { openModelFolder } from '../../../web/lib/loading/model_folder.js';
import { openSource } from '../../../web/lib/sources/source.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { expectError } from '../expect_error.js';
import { goldenJson } from '../tokenizer/golden_tokenizer.js';

/** @param {Record<string, unknown>} files beside config.json and tokenizer.json */
async function tokenizerWith(files) {
  const all = { 'config.json': { model_type: 'bert' }, 'tokenizer.json': goldenJson('cased'), ...files };
  const encoder = new TextEncoder();
  const bytes = Object.fromEntries(
    Object.entries(all).map(([name, content]) => [
      name,
      encoder.encode(typeof content === 'string' ? content : JSON.stringify(content)),
    ]),
  );
  const folder = await openModelFolder(await openSource(bytes, {}), undefined);
  const { encode, textOf } = createTokenizer(await folder.tokenizer(), { vocab: 4096, maxTokens: 512 });
  return (/** @type {string} */ text) => [...encode(text).ids].map(textOf).join(' ');
}

test('W4: tokenizer_config.json is followed, and without it tokenizer.json says all', async () => {
  const kept = await tokenizerWith({});
  const lower = await tokenizerWith({ 'tokenizer_config.json': {} });
  const said = await tokenizerWith({ 'tokenizer_config.json': { do_lower_case: false } });
  assert.equal(kept('The'), '[CLS] The [SEP]');
  assert.equal(lower('The'), '[CLS] the [SEP]');
  assert.equal(said('The'), '[CLS] The [SEP]');
});

test('W4: special_tokens_map.json and added_tokens.json count where the config has no added_tokens_decoder', async () => {
  const older = { 'special_tokens_map.json': { cls_token: '[MASK]' }, 'added_tokens.json': { zebra: 1000 } };
  const read = await tokenizerWith({ 'tokenizer_config.json': {}, ...older });
  assert.equal(read('zebra'), '[MASK] zebra [SEP]');
  const decoder = { 4: { content: '[MASK]', special: true } };
  const unread = await tokenizerWith({ 'tokenizer_config.json': { added_tokens_decoder: decoder }, ...older });
  assert.notEqual(unread('zebra'), '[MASK] zebra [SEP]');
});

test('W4: a tokenizer_config.json that is no JSON, or says what cannot be, is named', async () => {
  await expectError(() => tokenizerWith({ 'tokenizer_config.json': '{' }), 'json', /tokenizer_config\.json/);
  const wrong = { 'tokenizer_config.json': { do_lower_case: 'no' } };
  await expectError(() => tokenizerWith(wrong), 'tokenizer', /tokenizer_config\.json: do_lower_case: got "no"/);
});
