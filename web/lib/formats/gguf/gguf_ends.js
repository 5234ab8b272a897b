/** The tokens that end a text, as llama.cpp knows them: those that the metadata names, and those whose text says it, since
 * many files name one of several. Source: the list special_eog_ids of its llama-vocab.cpp. */

/** @typedef {import('./gguf_header.js').Metadata} Metadata */

const TOKENIZER = 'tokenizer.ggml.';
/** What some files write for "no such token". */
const NONE = 2 ** 32 - 1;
/** Keys of the metadata, without "_token_id". */
const KEYS = ['eos', 'eot', 'eom'];
/** The end of a text where the metadata names none, by kind of tokenizer. */
const MISSING_EOS = new Map([
  ['llama', 2],
  ['t5', 1],
]);
const TEXTS = [
  ...['<|eot_id|>', '<|im_end|>', '<|end|>', '<|return|>', '<|call|>', '<|flush|>', '<|calls|>', '<end_of_turn>'],
  ...['<|endoftext|>', '</s>', '<|eom_id|>', '<EOT>', '_<EOT>', '[EOT]', '[EOS]', '<|end_of_text|>'],
  ...['<end_of_utterance>', '<eos>', '<turn|>', '<|tool_response>'],
];
/** Filling in the middle of code: what stands between files ends a text too. By key, and where it is absent by text. */
const BETWEEN_FILES = new Map([
  ['fim_pad', ['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]']],
  ['fim_rep', ['<|fim_repo|>', '<|repo_name|>', '<fim-repo>', '<REPO>', '<reponame>']],
  ['fim_sep', ['<|file_sep|>']],
]);
/** Texts that end none of their vocabulary where others of it do. @type {[text: string, others: string[]][]} */
const EXCEPT = [
  ['<|end|>', ['<|return|>', '<|call|>']],
  ['<|end|>', ['<|return|>', '<|calls|>']],
  ['<|end|>', ['<|call|>', '<|flush|>']],
  ['<|end|>', ['<|calls|>', '<|flush|>']],
  ['</s>', ['<|tool_response>']],
];

/**
 * @param {Metadata} metadata
 * @returns {number[]} the one that the metadata calls the end first
 */
export function ggufEnds(metadata) {
  const found = metadata.get(`${TOKENIZER}tokens`);
  const tokens = Array.isArray(found) ? /** @type {string[]} */ (found) : [];
  // A file without a vocabulary may name ids all the same.
  const most = tokens.length || Number.MAX_SAFE_INTEGER;
  /** @param {string} key @returns {number[]} -1 and 2^32 - 1, which converters write for none, are left out */
  const named = (key) => {
    const id = metadata.get(`${TOKENIZER}${key}_token_id`);
    return typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < most && id !== NONE ? [id] : [];
  };
  /** @type {Map<string, number>} */
  const ids = new Map();
  const wanted = new Set([...TEXTS, ...[...BETWEEN_FILES.values()].flat()]);
  for (const [id, text] of tokens.entries()) if (wanted.has(text)) ids.set(text, id);
  const idOf = (/** @type {string} */ text) => ids.get(text) ?? [];
  const exceptions = EXCEPT.filter(([, others]) => others.every((text) => ids.has(text))).map(([text]) => text);
  const except = new Set(exceptions.flatMap(idOf));
  const model = metadata.get(`${TOKENIZER}model`);
  const missing = metadata.has(`${TOKENIZER}eos_token_id`) ? [] : [MISSING_EOS.get(String(model)) ?? []].flat();
  const ends = [...KEYS.flatMap(named), ...missing.filter((id) => id < tokens.length), ...TEXTS.flatMap(idOf)];
  const between = [...BETWEEN_FILES].flatMap(([key, texts]) => {
    const own = named(key);
    return own.length > 0 ? own : texts.flatMap(idOf).slice(0, 1);
  });
  return [...new Set([...ends, ...between])].filter((id) => !except.has(id));
}
