import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';

const FOLDER = new URL('../../golden/tokenizers/', import.meta.url);

/** Tokenizers set up as published families have theirs, by kind of model; made by tools/make_tokenizers.py. */
export const GOLDEN_TOKENIZERS = {
  BPE: ['gpt2', 'roberta', 'modernbert', 'llama3', 'qwen2', 'smollm2', 'o200k', 'deepseek', 'falcon', 'bloom'],
  'BPE with affixes': ['clip', 'prefixed'],
  'BPE with bytes': ['llama2', 'mistral', 'gemma'],
  Unigram: ['xlm_roberta', 't5', 'albert', 'unigram_bytes'],
  WordPiece: ['mpnet', 'cased'],
  'patterns and parts that few files have': ['cl100k', 'scripts', 'openai_gpt', 'word_level'],
};

/** @param {string} name @returns {Record<string, any>} */
export function goldenJson(name) {
  const text = readFileSync(new URL(`${name}.json`, FOLDER), 'utf8');
  const charsmap = gunzipSync(readFileSync(new URL('nmt_nfkc.gz', FOLDER))).toString('base64');
  return JSON.parse(text.replaceAll('"nmt_nfkc"', JSON.stringify(charsmap)));
}

/** @param {string} name @param {number} [maxTokens] */
export const goldenTokenizer = (name, maxTokens = 1e9) => createTokenizer(goldenJson(name), { vocab: 4096, maxTokens });

/** @type {{ texts: string[], pairs: [number, number][] }} */
export const { texts: GOLDEN_TEXTS, pairs: GOLDEN_PAIRS } = JSON.parse(
  readFileSync(new URL('texts.json', FOLDER), 'utf8'),
);

/**
 * @typedef {[ids: number[], types: number[], words: (number | null)[], offsets: number[], decoded: string]} GoldenCase
 */

/** @param {string} name @returns {{ text: string, pair: string | null, golden: GoldenCase }[]} */
export function goldenCases(name) {
  /** @type {GoldenCase[]} */
  const cases = JSON.parse(gunzipSync(readFileSync(new URL(`${name}.golden.gz`, FOLDER))).toString());
  return cases.map((golden, i) => {
    const [first, second] = i < GOLDEN_TEXTS.length ? [i, null] : GOLDEN_PAIRS[i - GOLDEN_TEXTS.length];
    return { text: GOLDEN_TEXTS[first], pair: second === null ? null : GOLDEN_TEXTS[second], golden };
  });
}
