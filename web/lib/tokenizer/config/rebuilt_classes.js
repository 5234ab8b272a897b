/**
 * The classes of transformers 5.24 that set a tokenizer up by themselves: what each makes of its options, in the words of
 * tokenizer.json (models/<name>/tokenization_<name>.py). From the file they take the vocabulary, the merges and, where they
 * have none of their own, the post-processor.
 */

/** @typedef {import('../read/json_checks.js').Json} Json */
/** @typedef {import('./config_options.js').Options} Options */
/** @typedef {import('./config_tokens.js').Added} Added */
/** @typedef {{ options: Options, specials: import('./config_tokens.js').Specials, idOf: (content: string) => number, json: Json, model: Json }} Given */
/**
 * @typedef {object} Rebuilt
 * @property {string} model the type of model the class is made for; with another one tokenizer.json is taken as it is
 * @property {Record<string, string>} specials its special tokens where nothing else is said
 * @property {(given: Given) => Json} build
 * @property {(name: string, token: Added) => Added} [special] what it makes of a special token given as a text
 * @property {(options: Options) => string[]} [others] special tokens without a name
 * @property {boolean} [marksAll] adds all special tokens once more, as plain ones
 */

const SPACE = '▁';
const QWEN2 = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const END = '<|endoftext|>';
const ROBERTA = { bos_token: '<s>', eos_token: '</s>', sep_token: '</s>', cls_token: '<s>', unk_token: '<unk>' };
const byteLevel = { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true };

/** @param {Given} given @param {string} name @returns {[string, number]} */
function named({ specials, idOf }, name) {
  const content = specials.get(name)?.content ?? '';
  return [content, idOf(content)];
}

/** @param {Given} given @param {Json} settings @returns {Json} */
const bpe = ({ model: { vocab, merges } }, settings = {}) => ({
  type: 'BPE',
  unk_token: null,
  fuse_unk: false,
  byte_fallback: false,
  ...settings,
  vocab,
  merges,
});

/** @param {Given} given @param {number} unknown @returns {Json} */
const unigram = ({ model: { vocab } }, unknown) => ({ type: 'Unigram', unk_id: unknown, byte_fallback: false, vocab });

/** @param {Json[]} steps @returns {Json} */
const decoders = (...steps) => ({ type: 'Sequence', decoders: steps });
const replace = (/** @type {string} */ from, /** @type {string} */ to) => ({
  type: 'Replace',
  pattern: { String: from },
  content: to,
});

/** @param {string} text "A", "B:1" and names of special tokens @param {Given} given @returns {Json[]} */
function templateParts(text, given) {
  return text.split(' ').map((part) => {
    const [name, type = '0'] = part.split(':');
    const id = name.length === 1 ? name : named(given, name)[0];
    return { [name.length === 1 ? 'Sequence' : 'SpecialToken']: { id, type_id: Number(type) } };
  });
}

/** @param {Given} given @param {string} single @param {string} pair @returns {Json} */
function template(given, single, pair) {
  const names = `${single} ${pair}`.split(' ').map((part) => part.split(':')[0]);
  const special = names.filter((name) => name.length > 1).map((name) => named(given, name));
  return {
    type: 'TemplateProcessing',
    single: templateParts(single, given),
    pair: templateParts(pair, given),
    special_tokens: Object.fromEntries(
      special.map(([content, id]) => [content, { id: content, ids: [id], tokens: [content] }]),
    ),
  };
}

/** @param {Given} given @param {boolean} trims @param {boolean} addsSpace @returns {Json} */
const robertaTemplate = (given, trims, addsSpace) => ({
  type: 'RobertaProcessing',
  sep: named(given, 'sep_token'),
  cls: named(given, 'cls_token'),
  trim_offsets: trims,
  add_prefix_space: addsSpace,
});

/** @param {Given} given @returns {Json} what all WordPiece classes have */
function wordPiece(given) {
  const { options, model } = given;
  const accents = options.config.strip_accents ?? null;
  return {
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: options.flag('tokenize_chinese_chars', true),
      strip_accents: accents === null ? null : options.flag('strip_accents', false),
      lowercase: options.flag('do_lower_case', true),
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: { type: 'WordPiece', unk_token: named(given, 'unk_token')[0], vocab: model.vocab },
  };
}

/** @param {Json} json @returns {Json[]} the charsmap of the file, if it has one */
function charsmaps({ normalizer }) {
  const given = /** @type {Json | null | undefined} */ (normalizer);
  const list = given?.type === 'Sequence' ? given.normalizers : [given];
  const found = /** @type {(Json | null | undefined)[]} */ (Array.isArray(list) ? list : []).find(
    (step) => step?.type === 'Precompiled',
  );
  return found ? [found] : [];
}

/** @param {Given} given @returns {Json} what all Unigram classes have */
function sentencePiece({ options, json }) {
  const scheme = options.flag('add_prefix_space', true) ? 'always' : 'never';
  const metaspace = { type: 'Metaspace', replacement: SPACE, prepend_scheme: scheme, split: true };
  return {
    normalizer: charsmaps(json)[0] ?? null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    decoder: metaspace,
  };
}

/** @param {Given} given @param {Json | null} normalizer @returns {Json} */
const gpt2Like = (given, normalizer) => ({
  normalizer,
  pre_tokenizer: { ...byteLevel, add_prefix_space: given.options.flag('add_prefix_space', false) },
  decoder: byteLevel,
  model: bpe(given),
});

/** @param {Given} given @param {boolean} legacy @returns {Json} */
function llamaLike(given, legacy) {
  const addsSpace = given.options.flag('add_prefix_space', true);
  const scheme = addsSpace ? (legacy ? 'always' : 'first') : 'never';
  const strip = addsSpace ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : [];
  return {
    normalizer: null,
    pre_tokenizer: { type: 'Metaspace', replacement: SPACE, prepend_scheme: scheme, split: false },
    decoder: decoders(replace(SPACE, ' '), { type: 'ByteFallback' }, { type: 'Fuse' }, ...strip),
    model: bpe(given, { fuse_unk: true, byte_fallback: true }),
  };
}

/** @type {ReadonlyMap<string, Rebuilt>} */
export const REBUILT = new Map(
  /** @type {[string, Rebuilt][]} */ ([
    [
      'BertTokenizer',
      {
        model: 'WordPiece',
        specials: {
          unk_token: '[UNK]',
          sep_token: '[SEP]',
          pad_token: '[PAD]',
          cls_token: '[CLS]',
          mask_token: '[MASK]',
        },
        build: (given) => ({
          ...wordPiece(given),
          post_processor: template(given, 'cls_token A sep_token', 'cls_token A sep_token B:1 sep_token:1'),
        }),
      },
    ],
    [
      'MPNetTokenizer',
      {
        model: 'WordPiece',
        specials: { ...ROBERTA, unk_token: '[UNK]', pad_token: '<pad>', mask_token: '<mask>' },
        special: (name, token) => ({ ...token, normalized: true, lstrip: token.lstrip || name === 'mask_token' }),
        build: (given) => ({ ...wordPiece(given), post_processor: robertaTemplate(given, true, false) }),
      },
    ],
    [
      'GPT2Tokenizer',
      {
        model: 'BPE',
        specials: { unk_token: END, bos_token: END, eos_token: END },
        build: (given) => gpt2Like(given, null),
      },
    ],
    [
      'CodeGenTokenizer',
      {
        model: 'BPE',
        specials: { unk_token: END, bos_token: END, eos_token: END },
        build: (given) => ({
          ...gpt2Like(given, null),
          post_processor: given.json.post_processor ?? { ...byteLevel, trim_offsets: false },
        }),
      },
    ],
    [
      'GPTNeoXTokenizer',
      {
        model: 'BPE',
        specials: { unk_token: END, bos_token: END, eos_token: END, pad_token: '<|padding|>' },
        build: (given) => ({ ...gpt2Like(given, { type: 'NFC' }), post_processor: null }),
      },
    ],
    [
      'Qwen2Tokenizer',
      {
        model: 'BPE',
        specials: { unk_token: END, eos_token: END, pad_token: END },
        marksAll: true,
        build: (given) => ({
          ...gpt2Like(given, { type: 'NFC' }),
          pre_tokenizer: {
            type: 'Sequence',
            pretokenizers: [
              { type: 'Split', pattern: { Regex: QWEN2 }, behavior: 'Isolated', invert: false },
              { ...byteLevel, add_prefix_space: given.options.flag('add_prefix_space', false), use_regex: false },
            ],
          },
        }),
      },
    ],
    [
      'RobertaTokenizer',
      {
        model: 'BPE',
        specials: { ...ROBERTA, pad_token: '<pad>', mask_token: '<mask>' },
        build: (given) => {
          const addsSpace = given.options.flag('add_prefix_space', false);
          const trims = given.options.flag('trim_offsets', true);
          return { ...gpt2Like(given, null), post_processor: robertaTemplate(given, trims, addsSpace) };
        },
      },
    ],
    [
      'LlamaTokenizer',
      {
        model: 'BPE',
        specials: { unk_token: '<unk>', bos_token: '<s>', eos_token: '</s>' },
        build: (given) => llamaLike(given, given.options.flag('legacy', false)),
      },
    ],
    [
      'GemmaTokenizer',
      {
        model: 'BPE',
        specials: {
          unk_token: '<unk>',
          bos_token: '<bos>',
          eos_token: '<eos>',
          pad_token: '<pad>',
          mask_token: '<mask>',
        },
        build: (given) => ({
          normalizer: replace(' ', SPACE),
          pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
          decoder: decoders(replace(SPACE, ' '), { type: 'ByteFallback' }, { type: 'Fuse' }),
          model: bpe(given, { unk_token: named(given, 'unk_token')[0], fuse_unk: true, byte_fallback: true }),
        }),
      },
    ],
    [
      'AlbertTokenizer',
      {
        model: 'Unigram',
        specials: {
          ...{ bos_token: '[CLS]', eos_token: '[SEP]', unk_token: '<unk>', sep_token: '[SEP]', pad_token: '<pad>' },
          ...{ cls_token: '[CLS]', mask_token: '[MASK]' },
        },
        build: (given) => {
          const { options, json } = given;
          const accents = options.flag('keep_accents', false) ? [] : [{ type: 'NFKD' }, { type: 'StripAccents' }];
          const lower = options.flag('do_lower_case', true) ? [{ type: 'Lowercase' }] : [];
          return {
            ...sentencePiece(given),
            normalizer: {
              type: 'Sequence',
              normalizers: [replace('``', '"'), replace("''", '"'), ...accents, ...lower, ...charsmaps(json)],
            },
            post_processor:
              json.post_processor ?? template(given, 'cls_token A sep_token', 'cls_token A sep_token B:1 sep_token:1'),
            model: unigram(given, 1),
          };
        },
      },
    ],
    ...['XLMRobertaTokenizer', 'CamembertTokenizer'].map((name) => {
      const isCamembert = name === 'CamembertTokenizer';
      /** @type {Rebuilt} */
      const rebuilt = {
        model: 'Unigram',
        specials: { ...ROBERTA, pad_token: '<pad>', mask_token: '<mask>' },
        special: (special, token) => ({ ...token, lstrip: token.lstrip || (isCamembert && special === 'mask_token') }),
        others: () => (isCamembert ? ['<s>NOTUSED', '</s>NOTUSED', '<unk>NOTUSED'] : []),
        build: (given) => ({
          ...sentencePiece(given),
          post_processor: template(given, 'bos_token A eos_token', 'bos_token A eos_token eos_token B eos_token'),
          model: unigram(given, isCamembert ? placeOf(given, named(given, 'unk_token')[0]) : 3),
        }),
      };
      return /** @type {[string, Rebuilt]} */ ([name, rebuilt]);
    }),
    [
      'T5Tokenizer',
      {
        model: 'Unigram',
        specials: { eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' },
        others: (options) =>
          Array.from({ length: options.count('extra_ids', 100, 10_000) }, (_, i) => `<extra_id_${i}>`),
        build: (given) => ({
          ...sentencePiece({ ...given, options: { ...given.options, flag: () => true } }),
          post_processor: template(given, 'A eos_token', 'A eos_token B eos_token'),
          model: unigram(given, 2),
        }),
      },
    ],
    [
      'HerbertTokenizer',
      {
        model: 'BPE',
        specials: { cls_token: '<s>', unk_token: '<unk>', pad_token: '<pad>', mask_token: '<mask>', sep_token: '</s>' },
        build: (given) => ({
          normalizer: {
            type: 'BertNormalizer',
            clean_text: true,
            handle_chinese_chars: true,
            strip_accents: false,
            lowercase: false,
          },
          pre_tokenizer: { type: 'BertPreTokenizer' },
          decoder: { type: 'BPEDecoder', suffix: '</w>' },
          post_processor: {
            type: 'BertProcessing',
            sep: [named(given, 'sep_token')[0], 2],
            cls: [named(given, 'cls_token')[0], 0],
          },
          model: bpe(given, { unk_token: named(given, 'unk_token')[0], end_of_word_suffix: '</w>' }),
        }),
      },
    ],
  ]),
);

/** @param {Given} given @param {string} piece @returns {number} 0 where there is none */
function placeOf({ model: { vocab } }, piece) {
  return Math.max(
    0,
    /** @type {unknown[][]} */ (vocab).findIndex((entry) => entry[0] === piece),
  );
}
