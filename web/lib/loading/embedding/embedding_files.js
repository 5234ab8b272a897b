/**
 * What a folder of sentence-transformers says of embeddings: modules.json and the files it leads to, read as version 6.2 of
 * that library reads them. Without modules.json the other files count for nothing there, and so here. Contents that cannot
 * be are errors; modules that qkv does not compute, and files that are not there, are refused when an embedding is asked
 * for, since attention can be looked at without them.
 */
import { QkvError } from '../../checks/errors.js';
import { isObject, parseJson, parseJsonList } from '../../formats/json.js';
import { DEFAULT_PLAN } from '../../run/embedding.js';
import { isPlainPath } from '../../sources/gather.js';
import { keysOf } from './json_keys.js';
import { readDense, readNormalize, readPooling } from './embedding_modules.js';
import { refusalOf, Unsupported } from './unsupported.js';

/** @typedef {import('../../run/embedding.js').EmbeddingPlan} EmbeddingPlan */
/** @typedef {import('../../run/embedding.js').EmbeddingStep} EmbeddingStep */
/** @typedef {import('../../run/embedding.js').Refusal} Refusal */
/** @typedef {import('./json_keys.js').Keys} Keys */
/**
 * The files of a folder, as far as they concern embeddings.
 * @typedef {object} FolderReader
 * @property {(file: string) => string} label for messages
 * @property {(file: string) => Promise<Uint8Array | null>} optional null where the file is not there
 */
/** @typedef {{ type: string, path: string, what: string }} Module what: for messages */
/** @typedef {Pick<EmbeddingPlan, 'poolings' | 'includePrompt'>} PoolingRead */
/** @typedef {PoolingRead & { steps: EmbeddingStep[], size: number }} Pipeline size: components so far */

const MODULES = 'modules.json';
const SETTINGS = 'config_sentence_transformers.json';
const TOKENIZER = 'tokenizer_config.json';
/** The first that is there counts. */
const TRANSFORMER = ['bert', 'roberta', 'distilbert', 'camembert', 'albert', 'xlm-roberta', 'xlnet'].map(
  (name) => `sentence_${name}_config.json`,
);
const MOST_MODULES = 32;
/** Modules are Python classes; those of the library have moved, but kept their names. */
const OWN_MODULE = /^sentence_transformers\.(?:\w+\.)*(\w+)$/;
const KNOWN = 'Transformer, Pooling, Dense, Normalize and Dropout of sentence-transformers';

/**
 * @param {FolderReader} files
 * @param {{ width: number }} model
 * @returns {Promise<EmbeddingPlan>}
 */
export async function readEmbeddingFiles(files, { width }) {
  const list = await files.optional(MODULES);
  if (list === null) return { ...DEFAULT_PLAN };
  const modules = readModules(parseJsonList(list, files.label(MODULES)), files.label(MODULES));
  // Side by side: from a server each costs a round trip.
  const [settings, transformer] = await Promise.all([readSettings(files), readTransformer(files, modules)]);
  /** @type {EmbeddingPlan} */
  const plan = { ...DEFAULT_PLAN, ...settings.read, ...transformer.read, from: 'modules.json', steps: [] };
  const refusal = settings.refusal ?? transformer.refusal;
  if (refusal) return { ...plan, refusal };
  try {
    return { ...plan, ...(await readPipeline(files, modules, width)) };
  } catch (error) {
    if (error instanceof Unsupported) return { ...plan, refusal: error.refusal };
    throw error;
  }
}

/** @param {import('../../formats/json.js').JsonValue[]} list @param {string} label @returns {Module[]} */
function readModules(list, label) {
  if (list.length === 0 || list.length > MOST_MODULES) {
    throw new QkvError('format', `${label}: number of modules`, { got: list.length, want: `1 to ${MOST_MODULES}` });
  }
  return list.map((entry, index) => {
    const what = `${label}: module ${index}`;
    if (!isObject(entry)) throw new QkvError('format', what, { got: entry, want: 'an object' });
    const { type, path } = entry;
    if (typeof type !== 'string') throw new QkvError('format', `${what}: type`, { got: type, want: 'a class' });
    const folder = typeof path === 'string' ? path.replace(/^\.\/|\/$/g, '') : null;
    if (folder === null || (folder !== '' && !isPlainPath(`${folder}/config.json`))) {
      const want = 'the name of a folder in the model, of letters, digits, ".", "_" and "-"';
      throw new QkvError('format', `${what}: path`, { got: path ?? 'nothing', want });
    }
    return { type, path: folder, what };
  });
}

/** The library's name for a module, null for code that comes with the model. @param {Module} module */
const classOf = ({ type }) => OWN_MODULE.exec(type)?.[1] ?? null;

/** @param {FolderReader} files @param {string} file @returns {Promise<Keys | null>} */
async function readKeys(files, file) {
  const bytes = await files.optional(file);
  return bytes && keysOf(parseJson(bytes, files.label(file)), files.label(file));
}

/**
 * Prompts, and how many components are kept.
 * @param {FolderReader} files
 * @returns {Promise<{ read: Partial<EmbeddingPlan>, refusal?: Refusal }>}
 */
async function readSettings(files) {
  const keys = await readKeys(files, SETTINGS);
  if (keys === null) return { read: {} };
  const prompts = readPrompts(keys);
  const defaultPrompt = keys.text('default_prompt_name', null);
  if (defaultPrompt !== null && ![...Object.keys(prompts), 'query', 'document'].includes(defaultPrompt)) {
    throw keys.wrong('default_prompt_name', `one of the prompts: ${Object.keys(prompts).join(', ')}`);
  }
  const read = { prompts, defaultPrompt, truncate: keys.count('truncate_dim', null) };
  const type = keys.text('model_type', null) ?? 'SentenceTransformer';
  if (type === 'SentenceTransformer') return { read };
  return { read, refusal: refusalOf({ what: `${keys.label}: model_type`, got: type, want: 'SentenceTransformer' }) };
}

/** @param {Keys} keys @returns {{ [name: string]: string }} */
function readPrompts(keys) {
  const prompts = keys.object('prompts');
  const entries = Object.entries(prompts ?? {}).map(([name, text]) => {
    if (typeof text === 'string' || text === null) return /** @type {const} */ ([name, text ?? '']);
    const what = `${keys.label}: prompts[${JSON.stringify(name)}]`;
    throw new QkvError('format', what, { got: text, want: 'a text' });
  });
  return Object.fromEntries(entries);
}

/**
 * How long a text may be and whether it is lowered. What the first module says counts before the tokenizer's own limit.
 * @param {FolderReader} files
 * @param {Module[]} modules
 * @returns {Promise<{ read: Partial<EmbeddingPlan>, refusal?: Refusal }>}
 */
async function readTransformer(files, [first]) {
  const refusal = wrongFirst(first);
  if (refusal) return { read: {}, refusal };
  let keys = null;
  for (const file of TRANSFORMER) {
    keys = await readKeys(files, file);
    if (keys !== null && !keys.isEmpty) break;
  }
  const lowerCase = keys?.flag('do_lower_case', false) ?? false;
  const read = { lowerCase, maxTokens: ownLimit(keys) ?? (await tokenizerLimit(files)) };
  return { read, refusal: keys ? otherUse(keys) : undefined };
}

/** The model may be used for something else than its last hidden states of plain texts. @param {Keys} keys */
function otherUse(keys) {
  const modality = keys.object('modality_config');
  const text = modality === null ? { method: 'forward' } : modality.text;
  const { method = null, method_output_name: name = 'last_hidden_state' } = Object(text);
  const found = [
    ['transformer_task', keys.text('transformer_task', null) ?? 'feature-extraction', 'feature-extraction'],
    ['module_output_name', keys.text('module_output_name', null) ?? 'token_embeddings', 'token_embeddings'],
    ['modality_config', modality && 'message' in modality ? 'message' : 'text', 'text'],
    ['modality_config.text.method', method, 'forward'],
    ['modality_config.text.method_output_name', name, 'last_hidden_state'],
  ].find(([, got, want]) => got !== want);
  if (found === undefined) return undefined;
  const [key, got, want] = found;
  return refusalOf({ what: `${keys.label}: ${key}`, got, want });
}

/** @param {Module} first @returns {Refusal | null} */
function wrongFirst(first) {
  if (classOf(first) !== 'Transformer') return refusalOf({ what: first.what, got: first.type, want: KNOWN });
  if (first.path === '') return null;
  const want = 'the folder itself, whose config.json was read';
  return { what: `${first.what}: path`, got: first.path, want, fix: `Load the folder ${first.path} instead.` };
}

/** The more particular counts. @param {Keys | null} keys @returns {number | null} */
function ownLimit(keys) {
  if (keys === null) return null;
  const call = keys.inner('processing_kwargs')?.inner('text')?.limit('max_length');
  const tokenizer = (keys.inner('processor_kwargs') ?? keys.inner('tokenizer_args'))?.limit('model_max_length');
  return call ?? tokenizer ?? keys.count('max_seq_length', null);
}

/** @param {FolderReader} files @returns {Promise<number | null>} */
async function tokenizerLimit(files) {
  return (await readKeys(files, TOKENIZER))?.limit('model_max_length') ?? null;
}

/**
 * The modules behind the model, in their order.
 * @param {FolderReader} files
 * @param {Module[]} modules
 * @param {number} width
 * @returns {Promise<PoolingRead & { steps: EmbeddingStep[] }>}
 */
async function readPipeline(files, [, ...modules], width) {
  /** @type {Pipeline | null} */
  let made = null;
  for (const module of modules) {
    const name = classOf(module);
    const keys = name === 'Pooling' || name === 'Dense' ? await needed(files, module) : null;
    if (name === 'Pooling' && keys && made === null) {
      const pooling = readPooling(keys);
      made = { ...pooling, steps: [], size: width * pooling.poolings.length };
    } else if (name === 'Dense' && keys && made !== null) {
      const dense = readDense(keys, module.path, made.size);
      made.steps.push(dense);
      made.size = dense.outputs;
    } else if (name === 'Normalize' && made !== null) {
      // Before it took options, in version 5, it had no file.
      const isOld = module.type === 'sentence_transformers.models.Normalize';
      made.steps.push(readNormalize(isOld ? null : await readKeys(files, `${module.path}/config.json`)));
    } else if (name !== 'Dropout') {
      throw new Unsupported({ what: module.what, got: module.type, want: KNOWN });
    }
  }
  if (made === null) throw new Unsupported({ what: files.label(MODULES), got: 'no pooling', want: 'a Pooling module' });
  return { poolings: made.poolings, includePrompt: made.includePrompt, steps: made.steps };
}

/** @param {FolderReader} files @param {Module} module @returns {Promise<Keys>} */
async function needed(files, { path, what }) {
  const file = path === '' ? 'config.json' : `${path}/config.json`;
  const keys = await readKeys(files, file);
  if (keys !== null) return keys;
  const fix = `Give the whole folder of the model with the folders in it, or name a pooling in the options.`;
  throw new Unsupported({ what: `${files.label(file)} is not there, which ${what} needs`, fix });
}
