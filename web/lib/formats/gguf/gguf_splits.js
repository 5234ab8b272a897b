/**
 * How byte-level BPE cuts text into words, by the name that GGUF files give it (tokenizer.ggml.pre): the published patterns
 * of the models' tokenizer.json. Names that llama.cpp treats alike are listed together.
 */

/** @typedef {{ type: string, [key: string]: unknown }} Part a part of tokenizer.json */
/**
 * @typedef {object} Split
 * @property {Part} preTokenizer
 * @property {Part | null} normalizer
 * @property {boolean} ignoreMerges a word that is a token as a whole stays one
 * @property {boolean} addBos whether texts begin with the BOS token where the file does not say
 */

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const REST = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const WORD = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+';
const LLAMA3 = `${CONTRACTIONS}|${WORD}|\\p{N}{1,3}|${REST}`;
const QWEN2 = `${CONTRACTIONS}|${WORD}|\\p{N}|${REST}`;
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]';
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]';
const CASED = [`${UPPER}*${LOWER}+`, `${UPPER}+${LOWER}*`].map((word) => `[^\\r\\n\\p{L}\\p{N}]?${word}`);
const TEKKEN = `${CASED.join('|')}|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** GPT-2's own pattern is built in: ByteLevel with use_regex. @param {boolean} usesRegex @returns {Part} */
function byteLevel(usesRegex) {
  return { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: usesRegex };
}

/** @param {Part} first @param {Part} second @returns {Part} */
const sequence = (first, second) => ({ type: 'Sequence', pretokenizers: [first, second] });

/** @param {string} pattern @returns {Part} */
function isolated(pattern) {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  return sequence(split, byteLevel(false));
}

/** @type {Split} */
const GPT2 = { preTokenizer: byteLevel(true), normalizer: null, ignoreMerges: false, addBos: false };
/** @type {Split} */
const DIGITS = { ...GPT2, preTokenizer: sequence({ type: 'Digits', individual_digits: true }, byteLevel(true)) };
/** @type {Split} */
const LLAMA_BPE = { ...GPT2, preTokenizer: isolated(LLAMA3), ignoreMerges: true, addBos: true };

/** @type {[string[], Split][]} */
const KNOWN = [
  [['gpt-2', 'gpt2', 'phi-2', 'jais', 'mpt', 'exaone4', 'trillion'], GPT2],
  // The vocabulary of GPT-NeoX and Pythia.
  [['olmo'], { ...GPT2, normalizer: { type: 'NFC' } }],
  [['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b'], DIGITS],
  [['llama-bpe', 'llama3', 'llama-v3', 'falcon3'], LLAMA_BPE],
  [['smaug-bpe', 'dbrx'], { ...GPT2, preTokenizer: isolated(LLAMA3) }],
  [['qwen2', 'deepseek-r1-qwen', 'megrez'], { ...GPT2, preTokenizer: isolated(QWEN2), normalizer: { type: 'NFC' } }],
  [['tekken'], { ...LLAMA_BPE, preTokenizer: isolated(TEKKEN) }],
];
const SPLITS = new Map(KNOWN.flatMap(([names, split]) => names.map((name) => [name, split])));
/** Tokens from which on a Llama has the vocabulary of Llama 3. */
const LLAMA3_VOCAB = 128_000;

/** The names that have a split, for messages. @returns {string} */
export const splitNames = () => [...SPLITS.keys()].join(', ');

/** Whether the file says which split is its own. @param {unknown} name @returns {name is string} */
export const isSplitNamed = (name) => name !== undefined && name !== 'default';

/**
 * @param {string | undefined} name files from before the name was written have none, or "default"
 * @param {unknown} architecture
 * @param {number} vocab number of tokens
 * @returns {Split | undefined}
 */
export const splitOf = (name, architecture, vocab) =>
  SPLITS.get(isSplitNamed(name) ? name : likelySplit(architecture, vocab));

/**
 * The name of the split where the file does not say it.
 * @param {unknown} architecture
 * @param {number} vocab number of tokens
 */
export function likelySplit(architecture, vocab) {
  if (architecture === 'qwen2' || architecture === 'qwen3') return 'qwen2';
  if (architecture === 'gptneox') return 'olmo';
  return architecture === 'llama' && vocab >= LLAMA3_VOCAB ? 'llama-bpe' : 'gpt-2';
}
