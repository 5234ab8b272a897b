/** Keys of config.json that change what a model computes: every one that PyTorch reads gives PyTorch's numbers or is refused by
 * name, and every one that it does not read changes nothing, for each family (tools/make_config_keys.py). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadModel, QkvError } from 'qkv';
import { filesOf } from '../golden_case.js';
import { assertClose, assertSameBits, inTree, qkvError } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';

/** @typedef {[key: string, value: unknown]} Same */
/** @typedef {[key: string, value: unknown, rows: number[][]]} Change */
/** @type {{ ids: number[], cases: { [name: string]: { same: Same[], changes: Change[] } } }} */
const { ids, cases } = JSON.parse(readFileSync(inTree('tests/golden/config_keys.json'), 'utf8'));

/**
 * The first and the last row of the last hidden state.
 * @param {string} name
 * @param {Record<string, unknown>} changes of config.json
 */
async function rowsOf(name, changes) {
  const files = filesOf(inTree(`tests/golden/tiny/${name}`), 'config.json');
  const config = JSON.parse(new TextDecoder().decode(files['config.json']));
  const changed = { ...files, 'config.json': new TextEncoder().encode(JSON.stringify({ ...config, ...changes })) };
  const model = await loadModel(changed);
  const run = await model.forward({ ids });
  const { data, shape } = await run.hidden(model.info.layers);
  const { kinds } = model.info;
  model.dispose();
  return { first: data.slice(0, shape[1]), last: data.slice(-shape[1]), kinds };
}

/**
 * The rows, or null where the key is refused by its name.
 * @param {string} name @param {string} key @param {unknown} value
 */
async function rowsOrRefusal(name, key, value) {
  try {
    return await rowsOf(name, { [key]: value });
  } catch (error) {
    assert.ok(error instanceof QkvError, String(error));
    if (error.code === 'weight') return null;
    assert.match(error.message, new RegExp(`\\b${key}\\b`), `${key}: ${JSON.stringify(value)}`);
    return null;
  }
}

for (const [name, { same, changes }] of Object.entries(cases)) {
  test(`${name}: a key that changes PyTorch's numbers changes these alike, or is refused`, async () => {
    let computed = 0;
    for (const [key, value, [first, last]] of changes) {
      const rows = await rowsOrRefusal(name, key, value);
      if (rows === null) continue;
      const what = `${key}: ${JSON.stringify(value)}`;
      assertClose(rows.first.slice(0, first.length), Float32Array.from(first), `${what}, first row`);
      assertClose(rows.last.slice(0, last.length), Float32Array.from(last), `${what}, last row`);
      computed++;
    }
    assert.ok(computed > 4, `${computed}`);
  });

  test(`${name}: a key that changes nothing for PyTorch changes nothing, or is refused`, async () => {
    const plain = await rowsOf(name, {});
    for (const [key, value] of same) {
      const rows = await rowsOrRefusal(name, key, value);
      if (rows !== null) assertSameBits(rows.last, plain.last, `${key}: ${JSON.stringify(value)}`);
    }
  });
}

test('a decoder whose is_causal is false is an encoder: it says so, and does not generate', async () => {
  const model = await loadModel(decoderFiles('llama', { is_causal: false }));
  assert.deepEqual(model.info.kinds, ['encoder']);
  await assert.rejects(model.generate({ ids: [1, 2] }), qkvError('unsupported', /decoder/));
  const run = await model.forward({ ids: [1, 2, 3] });
  const { data } = await run.getWeights(0, 0);
  assert.ok(data[2] > 0, 'the first token sees the last');
  model.dispose();
  for (const bad of ['false', 0, [], {}]) {
    await assert.rejects(loadModel(decoderFiles('llama', { is_causal: bad })), qkvError('config', /is_causal: got/));
  }
});

test('code that comes with a model is named in a note', async () => {
  const model = await loadModel(decoderFiles('llama', { auto_map: { AutoModel: 'modeling_other.Other' } }));
  assert.match(model.info.notes.join(), /auto_map names code that comes with the model, which is not run/);
  model.dispose();
});
