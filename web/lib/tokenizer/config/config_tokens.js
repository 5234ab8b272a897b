/**
 * The added tokens and special tokens of a tokenizer, in the order in which transformers 5.24 adds them: those of the files by
 * their ids, then the named ones that are not among them, then the others of the model. Ids are the package's business.
 */
import { isObject, listAt, objectAt } from '../read/json_checks.js';

/** @typedef {import('../read/json_checks.js').Json} Json */
/** @typedef {import('./config_options.js').Options} Options */
/** @typedef {import('./tokenizer_config.js').ConfigFiles} ConfigFiles */
/** @typedef {{ content: string, lstrip: boolean, rstrip: boolean, single_word: boolean, normalized: boolean, special: boolean }} Added */
/** @typedef {ReadonlyMap<string, Added>} Specials by name, "cls_token" for instance */

const NAMED = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'];
const MAX_TOKENS = 20_000;
const PLAIN = { lstrip: false, rstrip: false, single_word: false };

/** @param {string} content @returns {Added} a special token of which nothing else is said */
export const specialToken = (content) => ({ ...PLAIN, content, normalized: false, special: true });

/** @param {unknown} value @param {Options} options @param {string} key @returns {Added} a token as an object */
function addedAt(value, options, key) {
  if (!isObject(value) || typeof value.content !== 'string')
    throw options.refuse(key, value, 'a token with its content');
  const flag = (/** @type {string} */ name, /** @type {boolean} */ missing) => {
    const given = value[name] ?? missing;
    if (typeof given !== 'boolean') throw options.refuse(`${key}.${name}`, given, 'true or false');
    return given;
  };
  const special = flag('special', false);
  return {
    content: value.content,
    lstrip: flag('lstrip', false),
    rstrip: flag('rstrip', false),
    single_word: flag('single_word', false),
    normalized: flag('normalized', !special),
    special,
  };
}

/** @param {unknown} value @param {Options} options @param {string} key @returns {Added} a token as a text or an object */
function tokenAt(value, options, key) {
  if (typeof value === 'string') return specialToken(value);
  if (isObject(value)) return addedAt(value, options, key);
  throw options.refuse(key, value, 'a token');
}

/**
 * @param {Json} json
 * @param {ConfigFiles} files
 * @param {Options} options
 * @param {import('./rebuilt_classes.js').Rebuilt | null} rebuilt
 * @returns {{ tokens: Json[], specials: Specials, idOf: (content: string) => number }}
 */
export function addedTokens(json, files, options, rebuilt) {
  const settings = { ...files.config };
  const inFile = listAt(json.added_tokens ?? [], 'added_tokens', MAX_TOKENS).map((token) =>
    objectAt(token, 'added_tokens'),
  );
  const byId = tokensById(inFile, files, options, settings);
  const known = new Map([...byId.values()].map((token) => [token.content, token]));

  const specials = namedTokens(settings, options, known, rebuilt);
  const others = otherTokens(settings, options, rebuilt);
  const first = rebuilt === null ? inFile : [];
  /** @type {Map<string, Json>} */
  const tokens = new Map();
  const add = (/** @type {Json} */ token) => tokens.set(String(token.content), { ...token, id: 0 });
  for (const token of first) add(token);
  const names = new Set([...specials.values()].map(({ content }) => content));
  const sorted = [...byId].sort(([a], [b]) => a - b).map(([, token]) => token);
  for (const token of sorted) add({ ...token, special: token.special || names.has(token.content) });
  for (const token of [...specials.values(), ...others]) {
    if (!tokens.has(token.content)) add({ ...token, special: token.special || names.has(token.content) });
  }
  if (rebuilt?.marksAll)
    for (const content of [...names, ...others.map((other) => other.content)]) add(specialToken(content));
  return { tokens: [...tokens.values()], specials, idOf: numbering(json, tokens.keys()) };
}

/**
 * @param {Json[]} inFile @param {ConfigFiles} files @param {Options} options @param {Json} settings
 * @returns {Map<number, Added>}
 */
function tokensById(inFile, { specialTokens, addedTokens: older }, options, settings) {
  /** @type {Map<number, Added>} */
  const byId = new Map();
  const decoder = settings.added_tokens_decoder;
  if (decoder !== undefined && decoder !== null) {
    if (!isObject(decoder)) throw options.refuse('added_tokens_decoder', decoder, 'tokens by their ids');
    for (const [id, token] of Object.entries(decoder)) {
      const key = `added_tokens_decoder["${id}"]`;
      if (!/^\d{1,9}$/.test(id)) throw options.refuse(key, id, 'an id');
      byId.set(Number(id), addedAt(token, options, key));
    }
    return byId;
  }
  for (const [key, value] of Object.entries(specialTokens ?? {})) {
    settings[key] = isObject(value) && key !== 'extra_special_tokens' ? { ...value, special: true } : value;
  }
  const names = new Set(NAMED.map((name) => settings[name]).map((value) => (isObject(value) ? value.content : value)));
  for (const [content, id] of Object.entries(older ?? {})) {
    const special = names.has(content);
    if (typeof id === 'number') byId.set(id, { ...PLAIN, content, normalized: !special, special });
  }
  for (const [i, token] of inFile.entries()) byId.set(Number(token.id), addedAt(token, options, `added_tokens[${i}]`));
  return byId;
}

/**
 * @param {Json} settings @param {Options} options @param {ReadonlyMap<string, Added>} known
 * @param {import('./rebuilt_classes.js').Rebuilt | null} rebuilt
 * @returns {Map<string, Added>}
 */
function namedTokens(settings, options, known, rebuilt) {
  /** @type {Map<string, Added>} */
  const specials = new Map();
  for (const name of NAMED) {
    const value = name in settings ? settings[name] : null;
    const missing = name in settings ? undefined : rebuilt?.specials[name];
    if (value !== null && value !== undefined) {
      const token = tokenAt(value, options, name);
      specials.set(
        name,
        known.get(token.content) ?? (typeof value === 'string' ? rebuilt?.special?.(name, token) : null) ?? token,
      );
    } else if (missing !== undefined) {
      specials.set(name, rebuilt?.special?.(name, specialToken(missing)) ?? specialToken(missing));
    }
  }
  const extra = settings.extra_special_tokens;
  const ofModel = Object.entries(settings).filter(([key, value]) => {
    return key.endsWith('_token') && !NAMED.includes(key) && typeof value === 'string';
  });
  for (const [key, value] of [...ofModel, ...(isObject(extra) ? Object.entries(extra) : [])]) {
    specials.set(key, tokenAt(value, options, key));
  }
  return specials;
}

/**
 * @param {Json} settings @param {Options} options
 * @param {import('./rebuilt_classes.js').Rebuilt | null} rebuilt
 * @returns {Added[]}
 */
function otherTokens(settings, options, rebuilt) {
  const given = settings.extra_special_tokens ?? null;
  const isGiven = Array.isArray(given) ? given.length > 0 : given !== null;
  const key =
    isGiven || !('additional_special_tokens' in settings) ? 'extra_special_tokens' : 'additional_special_tokens';
  const list = settings[key] ?? null;
  if (isObject(list)) return [];
  if (list === null) return (rebuilt?.others?.(options) ?? []).map(specialToken);
  if (!Array.isArray(list) || list.length > MAX_TOKENS) throw options.refuse(key, list, 'a list of tokens');
  return list.map((token, i) => tokenAt(token, options, `${key}[${i}]`));
}

/** Ids as tokenizer_json.js gives them. @param {Json} json @param {Iterable<string>} contents @returns {(content: string) => number} */
function numbering(json, contents) {
  const { vocab } = objectAt(json.model, 'model');
  const entries = Array.isArray(vocab)
    ? vocab.map((entry, id) => /** @type {const} */ ([Array.isArray(entry) ? entry[0] : entry, id]))
    : Object.entries(objectAt(vocab, 'model.vocab'));
  /** @type {Map<unknown, unknown>} */
  const ids = new Map(entries);
  let next = ids.size;
  for (const content of contents) {
    const id = ids.get(content) ?? next;
    ids.set(content, id);
    if (typeof id === 'number') next = Math.max(next, id + 1);
  }
  return (content) => Number(ids.get(content) ?? 0);
}
