/** What is fuzzed, by name. */
import { client } from './target_client.js';
import { config } from './target_config.js';
import { embedding } from './target_embedding.js';
import { files } from './target_files.js';
import { gguf } from './target_gguf.js';
import { json } from './target_json.js';
import { host } from './target_host.js';
import { hash, sandbox } from './target_links.js';
import { load } from './target_load.js';
import { safetensors } from './target_safetensors.js';
import { text, tokenizer } from './target_tokenizer.js';

/** @typedef {import('./inputs.js').Target} Target */

/** @type {ReadonlyMap<string, Target>} */
export const TARGETS = new Map(
  [...[json, safetensors, config, tokenizer, text, gguf, files, load, embedding], ...[hash, sandbox, host, client]].map(
    (target) => [target.name, target],
  ),
);
