/** Folders of sentence-transformers that are damaged, hostile, or of a kind that is not computed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { caseFiles, GOLDEN } from './embedding_folder.js';
import { qkvError } from './golden.js';

const OLD = 'sentence_transformers.models.';
const TRANSFORMER = { idx: 0, name: '0', path: '', type: `${OLD}Transformer` };
const POOLING = { idx: 1, name: '1', path: '1_Pooling', type: `${OLD}Pooling` };
const DENSE = { idx: 2, name: '2', path: '2_Dense', type: `${OLD}Dense` };
const TANH = 'torch.nn.modules.activation.Tanh';
const LAYER = { in_features: 25, out_features: 11, bias: true, activation_function: TANH };
const weights = caseFiles('dense')['2_Dense/model.safetensors'];

/** A module of modules.json with something changed. @param {object} module @param {object} change */
const changed = (module, change) => [TRANSFORMER, { ...module, ...change }];

/** What cannot be: loading fails, with file and key. @type {[string, { [file: string]: unknown }, string, string[]][]} */
const DAMAGED = [
  ['modules.json is no list', { 'modules.json': {} }, 'json', ['modules.json', 'a list']],
  ['modules.json is empty', { 'modules.json': new Uint8Array() }, 'json', ['modules.json']],
  ['no modules', { 'modules.json': [] }, 'format', ['modules.json: number of modules']],
  ['10,000 modules', { 'modules.json': new Array(10_000).fill(POOLING) }, 'format', ['got 10000', '1 to 32']],
  ['a module that is a text', { 'modules.json': [TRANSFORMER, 'x'] }, 'format', ['module 1', 'an object']],
  ['a module without a type', { 'modules.json': changed(POOLING, { type: undefined }) }, 'format', ['module 1: type']],
  ...[
    '../secret',
    '/etc',
    'a/../../b',
    'C:\\x',
    'a\\..\\b',
    'http://x/y',
    '.',
    '..',
    'a//b',
    '%2e%2e',
    'a/b/c/d/e',
    5,
    null,
  ].map((path) =>
    bad(`a path ${JSON.stringify(path)}`, { 'modules.json': changed(POOLING, { path }) }, ['module 1: path']),
  ),
  bad('a limit of 0', { 'sentence_bert_config.json': { max_seq_length: 0 } }, ['max_seq_length', 'got 0']),
  bad('a limit of -1', { 'sentence_bert_config.json': { max_seq_length: -1 } }, ['max_seq_length']),
  bad('a limit of 1.5', { 'sentence_bert_config.json': { max_seq_length: 1.5 } }, ['max_seq_length']),
  bad('a limit in words', { 'sentence_bert_config.json': { max_seq_length: '256' } }, ['max_seq_length']),
  bad('lower case by number', { 'sentence_bert_config.json': { do_lower_case: 1 } }, ['do_lower_case']),
  bad('arguments that are a list', { 'sentence_bert_config.json': { tokenizer_args: [] } }, ['tokenizer_args']),
  bad('a flag that is a number', { '1_Pooling/config.json': { pooling_mode_cls_token: 1 } }, [
    'pooling_mode_cls_token',
  ]),
  bad('a mode that is a number', { '1_Pooling/config.json': { pooling_mode: 1 } }, [
    '1_Pooling/config.json: pooling_mode',
  ]),
  bad('every flag off', { '1_Pooling/config.json': { pooling_mode_mean_tokens: false } }, ['pooling_mode_mean_tokens']),
  bad('no mode at all', { '1_Pooling/config.json': { pooling_mode: [] } }, ['pooling_mode']),
  bad('a thousand modes', { '1_Pooling/config.json': { pooling_mode: new Array(1000).fill('cls') } }, ['pooling_mode']),
  bad('include_prompt in words', { '1_Pooling/config.json': { include_prompt: 'no' } }, ['include_prompt']),
  bad('prompts that are a list', { 'config_sentence_transformers.json': { prompts: [] } }, ['prompts', 'an object']),
  bad('a prompt that is a number', { 'config_sentence_transformers.json': { prompts: { a: 5 } } }, ['prompts["a"]']),
  bad('an unknown default', { 'config_sentence_transformers.json': { default_prompt_name: 'q' } }, [
    'default_prompt_name',
  ]),
  bad('no component left', { 'config_sentence_transformers.json': { truncate_dim: 0 } }, ['truncate_dim']),
  ...[24, -25, 0, 1e9, 2.5, '25', null, undefined].map((size) =>
    bad(`in_features ${size}`, { '2_Dense/config.json': { ...LAYER, in_features: size } }, [
      '2_Dense/config.json: in_features',
    ]),
  ),
  ...[0, -1, 1e300, 2 ** 40, undefined].map((size) =>
    bad(`out_features ${size}`, { '2_Dense/config.json': { ...LAYER, out_features: size } }, ['out_features']),
  ),
  bad('an activation that is a number', { '2_Dense/config.json': { ...LAYER, activation_function: 3 } }, [
    'activation_function',
  ]),
  ['other weights', { '2_Dense/config.json': { ...LAYER, out_features: 12 } }, 'weight', ['linear.weight', '[12, 25]']],
  ['a bias too many', { '2_Dense/config.json': { ...LAYER, bias: false } }, 'weight', ['linear.bias']],
  ['weights cut short', { '2_Dense/model.safetensors': weights.slice(0, -1) }, 'format', ['2_Dense/model.safetensors']],
  ['weights that are text', { '2_Dense/model.safetensors': new TextEncoder().encode('<html>') }, 'format', ['2_Dense']],
];

/** @param {string} what @param {{ [file: string]: unknown }} files @param {string[]} words @returns {[string, { [file: string]: unknown }, string, string[]]} */
function bad(what, files, words) {
  return [what, files, 'format', words];
}

for (const [what, files, code, words] of DAMAGED) {
  test(`damaged: ${what}`, async () => {
    await assert.rejects(loadModel(caseFiles('dense', files)), qkvError(code, ...words));
  });
}

/** What is not computed, or not there: the model loads, and says so when it is to embed. @type {[string, { [file: string]: unknown }, string[]][]} */
const REFUSED = [
  [
    'code of its own',
    { 'modules.json': changed(POOLING, { type: 'custom_st.Pooling' }) },
    ['module 1', 'custom_st.Pooling'],
  ],
  ['a module it does not know', { 'modules.json': changed(POOLING, { type: `${OLD}LSTM` }) }, ['module 1', 'LSTM']],
  ['a first module of another kind', { 'modules.json': [{ ...TRANSFORMER, type: `${OLD}CLIPModel` }] }, ['CLIPModel']],
  ['a model in a folder', { 'modules.json': [{ ...TRANSFORMER, path: '0_Transformer' }, POOLING] }, ['0_Transformer']],
  ['no pooling', { 'modules.json': [TRANSFORMER] }, ['modules.json', 'no pooling']],
  ['two poolings', { 'modules.json': [TRANSFORMER, POOLING, POOLING] }, ['module 2']],
  ['a layer on tokens', { 'modules.json': [TRANSFORMER, DENSE, POOLING] }, ['module 1']],
  ['a pooling without its file', { '1_Pooling/config.json': undefined }, ['1_Pooling/config.json is not there']],
  ['an unknown pooling', { '1_Pooling/config.json': { pooling_mode: 'median' } }, ['pooling_mode', 'median']],
  ['a flag of another pooling', { '1_Pooling/config.json': { pooling_mode_foo: true } }, ['pooling_mode_foo']],
  ['a layer without its file', { '2_Dense/config.json': undefined }, ['2_Dense/config.json is not there']],
  [
    'weights for Python alone',
    { '2_Dense/model.safetensors': undefined, '2_Dense/pytorch_model.bin': weights },
    ['pytorch_model.bin'],
  ],
  ['an activation of its own', { '2_Dense/config.json': { ...LAYER, activation_function: 'my.Act' } }, ['my.Act']],
  [
    'an unknown activation',
    { '2_Dense/config.json': { ...LAYER, activation_function: 'torch.nn.Softmax' } },
    ['Softmax'],
  ],
  [
    'a layer of token embeddings',
    { '2_Dense/config.json': { ...LAYER, module_input_name: 'token_embeddings' } },
    ['module_input_name'],
  ],
  [
    'a cross-encoder',
    { 'config_sentence_transformers.json': { model_type: 'CrossEncoder' } },
    ['model_type', 'CrossEncoder'],
  ],
  [
    'another task',
    { 'sentence_bert_config.json': { transformer_task: 'fill-mask' } },
    ['transformer_task', 'fill-mask'],
  ],
  [
    'chat templates',
    { 'sentence_bert_config.json': { modality_config: { text: { method: 'forward' }, message: {} } } },
    ['modality_config'],
  ],
];

for (const [what, files, words] of REFUSED) {
  test(`not computed: ${what}`, async () => {
    const model = await loadModel(caseFiles('dense', files));
    const { embedding, width } = model.info;
    assert.deepEqual([embedding.from, embedding.pooling], ['modules.json', null]);
    const run = await model.forward(GOLDEN.texts[0]);
    for (const asked of [() => model.embed([]), () => model.embed(['a']), () => run.embedding()]) {
      await assert.rejects(asked(), qkvError('unsupported', ...words));
    }
    assert.ok(
      words.every((word) => embedding.unsupported?.includes(word)),
      embedding.unsupported,
    );
    const [vector] = await model.embed(['a cat'], { pooling: 'mean' });
    assert.equal(vector.length, width);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
    model.dispose();
  });
}

test('names of prompts are data: those of Object are names like others', async () => {
  const settings = new TextEncoder().encode('{"prompts": {"__proto__": "on ", "constructor": "it "}}');
  const model = await loadModel(caseFiles('mean', { 'config_sentence_transformers.json': settings }));
  const [[proto], [written], [text]] = await Promise.all([
    model.embed(['cat'], { prompt: '__proto__' }),
    model.embed(['on cat'], {}),
    model.embed(['cat'], { prompt: 'toString' }),
  ]);
  assert.deepEqual(proto, written);
  assert.notDeepEqual(text, proto);
  model.dispose();
});
