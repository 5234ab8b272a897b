/** The post-processor of tokenizer.json: what stands around a text or a pair, and what offsets leave out. */
import { idAt, listAt, objectAt, refusal, stepsAt, stringAt } from './json_checks.js';

/** @typedef {import('./json_checks.js').Json} Json */
/** A part of the template: the first or second text, or ids that are always there. */
/** @typedef {{ sequence: 0 | 1 | null, ids: number[], type: number }} TemplatePart */

/**
 * @typedef {object} Template
 * @property {TemplatePart[]} single
 * @property {TemplatePart[]} pair
 * @property {{ addPrefixSpace: boolean }[]} trims each takes the spaces of a token out of its offsets
 */

const MAX_TEMPLATE = 64;

/** @param {0 | 1} sequence @param {number} type @returns {TemplatePart} */
const textPart = (sequence, type) => ({ sequence, ids: [], type });

/** @param {unknown} value @param {number} vocab @returns {Template} */
export function readTemplate(value, vocab) {
  /** @type {{ single: TemplatePart[], pair: TemplatePart[] } | null} */
  let parts = null;
  /** @type {{ addPrefixSpace: boolean }[]} */
  const trims = [];
  for (const { key, step } of stepsAt(value, 'post_processor', 'processors')) {
    if ((step.type === 'ByteLevel' || step.type === 'RobertaProcessing') && step.trim_offsets !== false) {
      trims.push({ addPrefixSpace: step.add_prefix_space !== false });
    }
    if (step.type === 'ByteLevel') continue;
    if (parts !== null) throw refusal(`${key}.type`, step.type, 'only one template');
    parts = readParts(step, key, vocab);
  }
  return { ...(parts ?? { single: [textPart(0, 0)], pair: [textPart(0, 0), textPart(1, 1)] }), trims };
}

/** @param {Json} step @param {string} key @param {number} vocab */
function readParts(step, key, vocab) {
  if (step.type === 'BertProcessing') return bertTemplate(step, key, vocab);
  if (step.type === 'RobertaProcessing') return robertaTemplate(step, key, vocab);
  if (step.type !== 'TemplateProcessing') {
    const want = 'TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or a Sequence of them';
    throw refusal(`${key}.type`, step.type, want);
  }
  const specials = objectAt(step.special_tokens ?? {}, `${key}.special_tokens`);
  return {
    single: listParts(step.single, `${key}.single`, ['0'], specials, `${key}.special_tokens`, vocab),
    pair: listParts(step.pair, `${key}.pair`, ['0,1', '1,0'], specials, `${key}.special_tokens`, vocab),
  };
}

/** @param {Json} step @param {string} key @param {'cls' | 'sep'} name @param {number} vocab @returns {number} */
function namedId(step, key, name, vocab) {
  return idAt(listAt(step[name], `${key}.${name}`, 2)[1], `${key}.${name}[1]`, vocab);
}

/** [CLS] A [SEP] B [SEP]. @param {Json} step @param {string} key @param {number} vocab */
function bertTemplate(step, key, vocab) {
  const [cls, sep] = [namedId(step, key, 'cls', vocab), namedId(step, key, 'sep', vocab)];
  const single = [fixedPart([cls], 0), textPart(0, 0), fixedPart([sep], 0)];
  return { single, pair: [...single, textPart(1, 1), fixedPart([sep], 1)] };
}

/** <s> A </s> </s> B </s>, all of type 0. @param {Json} step @param {string} key @param {number} vocab */
function robertaTemplate(step, key, vocab) {
  const [cls, sep] = [namedId(step, key, 'cls', vocab), namedId(step, key, 'sep', vocab)];
  const single = [fixedPart([cls], 0), textPart(0, 0), fixedPart([sep], 0)];
  return { single, pair: [...single, fixedPart([sep], 0), textPart(1, 0), fixedPart([sep], 0)] };
}

/** @param {number[]} ids @param {number} type @returns {TemplatePart} */
const fixedPart = (ids, type) => ({ sequence: null, ids, type });

/**
 * @param {unknown} value
 * @param {string} key
 * @param {string[]} want the texts, in the orders they may have
 * @param {Json} specials
 * @param {string} specialsKey
 * @param {number} vocab
 * @returns {TemplatePart[]}
 */
function listParts(value, key, want, specials, specialsKey, vocab) {
  const parts = listAt(value, key, MAX_TEMPLATE).map((entry, i) =>
    readPart(entry, `${key}[${i}]`, specials, specialsKey, vocab),
  );
  const order = parts.flatMap((part) => (part.sequence === null ? [] : [part.sequence]));
  if (!want.includes(order.join())) {
    throw refusal(key, `the texts ${order.join() || 'nowhere'}`, `${want[0].replace(',', ' and ')}, once each`);
  }
  return parts;
}

/**
 * @param {unknown} entry
 * @param {string} key
 * @param {Json} specials
 * @param {string} specialsKey
 * @param {number} vocab
 * @returns {TemplatePart}
 */
function readPart(entry, key, specials, specialsKey, vocab) {
  const part = objectAt(entry, key);
  const inner = objectAt(part.Sequence ?? part.SpecialToken, key);
  const type = idAt(inner.type_id ?? 0, `${key}.type_id`, 256);
  if (part.Sequence !== undefined) {
    if (inner.id !== 'A' && inner.id !== 'B') throw refusal(`${key}.Sequence.id`, inner.id, 'A or B');
    return textPart(inner.id === 'A' ? 0 : 1, type);
  }
  const name = stringAt(inner.id, `${key}.SpecialToken.id`);
  if (!Object.hasOwn(specials, name)) throw refusal(`${key}.SpecialToken.id`, name, `a key of ${specialsKey}`);
  const place = `${specialsKey}[${JSON.stringify(name)}]`;
  const ids = listAt(objectAt(specials[name], place).ids, `${place}.ids`, MAX_TEMPLATE);
  return fixedPart(
    ids.map((id) => idAt(id, `${place}.ids`, vocab)),
    type,
  );
}
