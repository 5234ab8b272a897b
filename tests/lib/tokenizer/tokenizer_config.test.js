/** Folders where tokenizer_config.json changes what tokenizer.json says, against AutoTokenizer (tools/make_auto_tokenizer_golden.py). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { followTokenizerConfig, readsOlderFiles } from '../../../web/lib/tokenizer/config/tokenizer_config.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { expectError } from '../expect_error.js';
import { goldenJson } from './golden_tokenizer.js';

/** @typedef {Record<string, any>} Json */
/** @typedef {[ids: number[], types: number[]]} Encoded */

const GOLDEN = new URL('../../golden/tokenizers/auto/cases.golden.gz', import.meta.url);
/** @type {{ texts: string[], cases: [string, string, string, Record<string, Json>, [Encoded, Encoded, string][]][] }} */
const { texts, cases } = JSON.parse(gunzipSync(readFileSync(GOLDEN)).toString());

/** As a folder is read. @param {string} name @param {Json} model config.json @param {Record<string, Json>} files */
function tokenizerOf(name, model, files) {
  const config = files['tokenizer_config.json'];
  const older = (/** @type {string} */ file) => (readsOlderFiles(config) ? (files[file] ?? null) : null);
  const json = followTokenizerConfig(goldenJson(name), {
    config,
    specialTokens: older('special_tokens_map.json'),
    addedTokens: older('added_tokens.json'),
    model,
    folder: 'folder',
  });
  return createTokenizer(json, { vocab: 4096, maxTokens: 1e9 });
}

test('W4: there is a case for each class that is set up anew, and for each option', () => {
  assert.ok(cases.length >= 45);
  assert.ok(texts.length >= 24);
});

for (const [what, name, type, files, results] of cases) {
  test(`W4: ${what}: ids, types and text are those of AutoTokenizer`, () => {
    const tokenizer = tokenizerOf(name, { model_type: type, ...files['config.json'] }, files);
    for (const [i, text] of texts.entries()) {
      const [single, pair, decoded] = results[i];
      for (const [[ids, types], second] of /** @type {[Encoded, string | null][]} */ ([
        [single, null],
        [pair, texts.at(i - 1)],
      ])) {
        const encoding = tokenizer.encode(text, second);
        assert.deepEqual([...encoding.ids], ids, JSON.stringify([text, second]));
        assert.deepEqual([...encoding.typeIds], types, JSON.stringify([text, second]));
      }
      assert.equal(tokenizer.decode(single[0]), decoded);
    }
  });
}

/** @type {[Json, RegExp][]} */
const REFUSED = [
  [{ do_lower_case: 'yes' }, /folder\/tokenizer_config\.json: do_lower_case: got "yes", want true or false/],
  [{ strip_accents: 1 }, /tokenizer_config\.json: strip_accents: got 1/],
  [{ cls_token: 5 }, /tokenizer_config\.json: cls_token: got 5, want a token/],
  [{ cls_token: { lstrip: true } }, /cls_token: got "an object", want a token with its content/],
  [{ cls_token: { content: 'x', lstrip: 'no' } }, /cls_token\.lstrip: got "no"/],
  [{ tokenizer_class: ['BertTokenizer'] }, /tokenizer_class: got "a list of 1", want a string/],
  [{ added_tokens_decoder: ['x'] }, /added_tokens_decoder: got "a list of 1", want tokens by their ids/],
  [{ added_tokens_decoder: { x: { content: 'x' } } }, /added_tokens_decoder\["x"\]: got "x", want an id/],
  [{ added_tokens_decoder: { 5: 'x' } }, /added_tokens_decoder\["5"\]: got "x"/],
  [{ additional_special_tokens: 'x' }, /additional_special_tokens: got "x", want a list of tokens/],
  [{ extra_special_tokens: [7] }, /extra_special_tokens\[0\]: got 7/],
  [{ split_special_tokens: 'no' }, /split_special_tokens: got "no"/],
];

for (const [config, message] of REFUSED) {
  test(`W4: refused, by file and key: ${JSON.stringify(config)}`, async () => {
    const read = () => tokenizerOf('cased', { model_type: 'bert' }, { 'tokenizer_config.json': config });
    await expectError(read, 'tokenizer', message);
  });
}

test('W4: options that the class does not have are not read, whatever they are', () => {
  const config = { do_lower_case: false, padding_side: 7, chat_template: [1], legacy: 'x', add_bos_token: 'x' };
  const { encode } = tokenizerOf('cased', { model_type: 'bert' }, { 'tokenizer_config.json': config });
  assert.deepEqual(encode('Hello').ids, tokenizerOf('cased', {}, { 'tokenizer_config.json': {} }).encode('Hello').ids);
});
