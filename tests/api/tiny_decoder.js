/** Tiny random decoders as named bytes. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { inTree } from './golden.js';

/** Every family that decodes; mistral, the gemmas and the second qwen2 see a window of a few tokens in some layers. */
export const DECODERS = [
  ...['gpt2', 'gpt_neox', 'gpt_neox_serial', 'llama', 'llama3_rope', 'mistral', 'phi', 'starcoder2'],
  ...['qwen2_f16_shards', 'qwen2_window', 'qwen3', 'gemma', 'gemma2', 'gemma3'],
];

/**
 * @param {string} name
 * @param {Record<string, unknown>} [changes] of config.json; by default no token ends a text
 * @returns {{ [name: string]: Uint8Array }}
 */
export function decoderFiles(name, changes = { eos_token_id: null }) {
  const folder = inTree(`tests/golden/tiny/${name}`);
  assert.ok(existsSync(folder), `${folder} is missing`);
  const weights = readdirSync(folder).filter((file) => /^model.*\.(safetensors|json)$/.test(file));
  const config = JSON.parse(readFileSync(`${folder}/config.json`, 'utf8'));
  return {
    'config.json': new TextEncoder().encode(JSON.stringify({ ...config, ...changes })),
    ...Object.fromEntries(weights.map((file) => [file, readFileSync(`${folder}/${file}`)])),
  };
}

/** A vocabulary that every tiny decoder has room for: a character an id, then one that ends a text. Some ids are left over. */
const CHARACTERS = ' abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?';
const END = '<end>';

/** What an id adds to a text. @param {number} id */
export const characterOf = (id) => CHARACTERS[id] ?? '';

/** What stands for an id in run.tokens. @param {number} id */
export const shownAs = (id) => CHARACTERS[id] ?? (id === CHARACTERS.length ? END : `#${id}`);

/** @returns {Uint8Array} a tokenizer.json */
export function letterTokenizer() {
  const vocab = Object.fromEntries(Array.from(CHARACTERS, (character, id) => [id === 0 ? 'Ġ' : character, id]));
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true };
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const json = {
    added_tokens: [{ id: CHARACTERS.length, content: END, special: true, ...plain }],
    normalizer: null,
    pre_tokenizer: bytes,
    post_processor: null,
    decoder: bytes,
    model: { type: 'BPE', vocab, merges: [] },
  };
  return new TextEncoder().encode(JSON.stringify(json));
}
