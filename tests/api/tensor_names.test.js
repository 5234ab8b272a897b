/** Names that programs put in front of all tensors, and what is said where no name fits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModel } from 'qkv';
import { fileOf } from '../lib/formats/safetensors_file.js';
import { assertSameBits, qkvError } from './golden.js';
import { decoderFiles } from './tiny_decoder.js';

const WEIGHTS = 'model.safetensors';

/**
 * The tiny model with other names in the header of its file.
 * @param {string} name
 * @param {(tensor: string) => string | null} rename null: left out
 */
function renamed(name, rename) {
  const files = decoderFiles(name);
  const bytes = files[WEIGHTS];
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  delete header.__metadata__;
  const entries = Object.entries(header).map(([tensor, entry]) => [rename(tensor), entry]);
  return { ...files, [WEIGHTS]: fileOf(Object.fromEntries(entries), bytes.subarray(8 + length)) };
}

/** @param {{ [name: string]: Uint8Array }} files */
async function logitsOf(files) {
  const model = await loadModel(files);
  const logits = await (await model.forward({ ids: [1, 2, 3] })).logits();
  assert.deepEqual(model.info.ignored, []);
  model.dispose();
  return logits;
}

test('what programs put in front of the names, or into them, is taken off', async () => {
  /** @type {((name: string) => string)[]} */
  const wraps = [
    (name) => `_orig_mod.${name}`,
    (name) => `module.${name}`,
    (name) => `base_model.model.${name}`,
    (name) => `language_model.${name}`,
    (name) => name.replace(/^model\./, 'model.language_model.'),
    (name) => `module._orig_mod.${name}`,
    (name) => `_orig_mod.module.base_model.model.${name}`,
    (name) => name.replace(/^(model\.layers\.\d+)\./, '$1._orig_mod.'),
    (name) => `_fsdp_wrapped_module.${name.replace(/^(model\.layers\.\d+)\./, '$1._checkpoint_wrapped_module.')}`,
  ];
  const expected = await logitsOf(decoderFiles('llama'));
  for (const wrap of wraps) assertSameBits(await logitsOf(renamed('llama', wrap)), expected, wrap('model.norm.weight'));
});

test('where no name fits, the message says what was wanted and what is there', async () => {
  const wanted = /no tensor holds tokens: got \["other\..*, want "embed_tokens\.weight", with or without "model\."\./;
  await assert.rejects(loadModel(renamed('llama', (name) => `other.${name}`)), qkvError('weight', wanted));
  const norm = (/** @type {string} */ name) => name.replace('layers.1.input_layernorm', 'layers.1.input_norm');
  const layer =
    /attn_norm\.weight of layer 1: got \["model\.layers\.\{i\}\.input_norm\.weight"\], want "layers\.1\.input_layernorm\.weight"/;
  await assert.rejects(loadModel(renamed('llama', norm)), qkvError('weight', layer));
});

test('a decoder whose files hold no head says so, and still shows its attention', async () => {
  const files = renamed('llama', (name) => (name === 'lm_head.weight' ? 'spare.weight' : name));
  const model = await loadModel(files);
  assert.deepEqual(model.info.headRows, 0);
  const message = /no language-model head\. It is a decoder, but its files hold no head \(lm_head\.weight\)/;
  await assert.rejects(model.generate({ ids: [1] }), qkvError('unsupported', message));
  const run = await model.forward({ ids: [1, 2] });
  assert.equal((await run.getWeights(0, 0)).rows, 2);
  model.dispose();
});
