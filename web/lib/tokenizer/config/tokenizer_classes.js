/** Which class of transformers 5.24 AutoTokenizer takes, by what the files of a folder say. */
import { stepsAt } from '../read/json_checks.js';

/** @typedef {import('../read/json_checks.js').Json} Json */

/** Takes tokenizer.json as it is. */
const AS_IT_IS = 'TokenizersBackend';

/** The class of a model_type. @type {ReadonlyMap<unknown, string>} */
const OF_MODEL = new Map(
  Object.entries({
    AlbertTokenizer: ['albert'],
    BertTokenizer: ['bert', 'distilbert', 'electra'],
    CamembertTokenizer: ['camembert'],
    GemmaTokenizer: ['gemma', 'gemma2', 'gemma3', 'gemma3_text'],
    GPT2Tokenizer: ['gpt2', 'gpt_neo', 'gptj', 'opt', 'phi'],
    GPTNeoXTokenizer: ['gpt_neox'],
    MPNetTokenizer: ['mpnet'],
    Qwen2Tokenizer: ['qwen2', 'qwen3'],
    RobertaTokenizer: ['roberta', 'bart'],
    T5Tokenizer: ['t5', 'mt5'],
    XLMRobertaTokenizer: ['xlm-roberta'],
    [AS_IT_IS]: ['mistral', 'modernbert', 'phi3', 'olmo2', 'umt5'],
  }).flatMap(([name, types]) => types.map((type) => [type, name])),
);
/** Model types whose published files are known to name a wrong class. */
const WRONGLY_NAMED = ['modernbert', 'qwen2', 'phi3'];
/** Those of the Mistral family have a library of their own, which is asked first. */
const OF_MISTRAL = ['mistral'];
/** Other names of a class. @type {ReadonlyMap<string, string>} */
const OTHER_NAMES = new Map(
  Object.entries({
    BertTokenizer: [
      'DistilBertTokenizer',
      'ElectraTokenizer',
      'MobileBertTokenizer',
      'SqueezeBertTokenizer',
      'ConvBertTokenizer',
      'LayoutLMTokenizer',
      'LxmertTokenizer',
      'DPRQuestionEncoderTokenizer',
      'DPRContextEncoderTokenizer',
      'DPRReaderTokenizer',
    ],
    RobertaTokenizer: ['BartTokenizer', 'LongformerTokenizer', 'LEDTokenizer', 'MvpTokenizer'],
  }).flatMap(([name, others]) => others.map((other) => [other, name])),
);

/** @param {string} name @returns {string} */
function plain(name) {
  const short = name.endsWith('Fast') ? name.slice(0, -'Fast'.length) : name;
  return OTHER_NAMES.get(short) ?? short;
}

/** @param {string} name @returns {string} without the ending of older versions */
const withoutFast = (name) => (name.endsWith('Fast') ? name.slice(0, -'Fast'.length) : name);

/**
 * @param {Json} json tokenizer.json
 * @param {import('./config_options.js').Options} options
 * @param {Json} model config.json
 * @returns {string}
 */
export function classFor(json, options, model) {
  const own = options.text('tokenizer_class');
  const named = own ?? (typeof model.tokenizer_class === 'string' ? model.tokenizer_class : null);
  const type = model.model_type;
  const registered = OF_MODEL.get(type);
  if (named === null) return registered ?? AS_IT_IS;
  const isWrong = WRONGLY_NAMED.some((other) => other === type);
  // Code of its own comes with the model: it is not run, and nothing else is known of it.
  if (isCoded(options.config.auto_map)) return plain(named);
  const isMistral = OF_MISTRAL.some((other) => other === type);
  if (withoutFast(named) === 'LlamaTokenizer' && !isMistral && !isWrong && isByteLevel(json)) return AS_IT_IS;
  if (registered === undefined || registered === withoutFast(named)) return plain(named);
  if (registered === AS_IT_IS) return AS_IT_IS;
  return isWrong ? registered : plain(named);
}

/** @param {unknown} map @returns {boolean} */
function isCoded(map) {
  return Array.isArray(map) || (typeof map === 'object' && map !== null && 'AutoTokenizer' in map);
}

/** @param {Json} json @returns {boolean} */
function isByteLevel(json) {
  const steps = [
    ...stepsAt(json.pre_tokenizer, 'pre_tokenizer', 'pretokenizers'),
    ...stepsAt(json.decoder, 'decoder', 'decoders'),
  ];
  return steps.some(({ step }) => step.type === 'ByteLevel');
}
