/** tokenizer.json changed, and texts of all kinds through tokenizers as published: ids of the table, places in the text. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseJson } from '../../../web/lib/formats/json.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { GOLDEN_TOKENIZERS, goldenJson, goldenTokenizer } from '../../lib/tokenizer/golden_tokenizer.js';
import { hostileText, withHalves } from './hostile_text.js';
import { bytesOf, changedBytes, changedJson, jsonBytes, jsonInputs, jsonValueOf } from './inputs.js';

/** @typedef {import('../../../web/lib/tokenizer/index.js').Tokenizer} Tokenizer */
/** @typedef {Record<string, any>} Json */

const VOCAB = 4_096;
const NAMES = Object.values(GOLDEN_TOKENIZERS).flat();
/** Enough pieces to spell the texts below with. */
const KEPT = 24;
const CHARSMAP = Buffer.from(Uint8Array.of(8, 0, 0, 0, 0, 8, 0, 0, 0x61, 9, 0, 0, 0x62, 0, 0x63, 0)).toString('base64');
/** Tokens that a text may come to: few, some, any number. */
const ROOM = [4, 64, 100_000];
const TEXTS = ['the an', 'a <mask> é漢 1\n'];

/** A published tokenizer with a small part of its vocabulary. @param {string} name @returns {Json} */
function small(name) {
  const file = goldenJson(name);
  const { model } = file;
  if (Array.isArray(model.vocab)) model.vocab = model.vocab.slice(0, KEPT + 8);
  else {
    const pieces = Object.keys(model.vocab);
    const parts = (model.merges ?? []).slice(0, KEPT).flatMap((/** @type {string | string[]} */ merge) => {
      const [a, b] = typeof merge === 'string' ? merge.split(' ') : merge;
      return [a, b, a + (model.continuing_subword_prefix ? b.replace(model.continuing_subword_prefix, '') : b)];
    });
    const wanted = new Set([
      ...parts,
      ...file.added_tokens.map((/** @type {Json} */ token) => token.content),
      model.unk_token,
    ]);
    const letters = pieces.filter((piece) => /^(##)?[a-eht▁Ġ]$|^<0x[0EC]/.test(piece));
    const kept = pieces.filter((piece) => wanted.has(piece) || letters.includes(piece));
    model.vocab = Object.fromEntries(kept.map((piece) => [piece, model.vocab[piece]]));
    if (model.merges) model.merges = model.merges.slice(0, KEPT);
  }
  return JSON.parse(JSON.stringify(file), (key, value) => (key === 'precompiled_charsmap' ? CHARSMAP : value));
}

/**
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @param {string | null} pair
 * @param {number} maxTokens
 * @param {boolean} [isOrdered] tokens stand in the order of the text
 */
export function checkText(tokenizer, text, pair, maxTokens, isOrdered = true) {
  const { ids, typeIds, tokens, truncated } = tokenizer.encode(text, pair);
  assert.ok(ids.length <= maxTokens && ids.length === typeIds.length && ids.length === tokens.length, 'counts');
  const at = [0, 0];
  const words = [0, 0];
  tokens.forEach(({ id, start, end, segment, word, text: shown, special }, i) => {
    assert.ok(Number.isInteger(id) && id === ids[i] && id >= 0, `id ${id}`);
    const length = (segment === 0 ? text : (pair ?? '')).length;
    assert.ok(start >= 0 && start <= end && end <= length, `token ${i} at ${start} to ${end} of ${length}`);
    assert.equal(typeof shown, 'string');
    if (special !== tokenizer.isSpecial(id)) assert.ok(special, 'special');
    if (word !== null) {
      assert.ok(word >= words[segment], `word ${word} after ${words[segment]}`);
      words[segment] = word;
    }
    if (start === end || !isOrdered) return;
    assert.ok(start >= at[segment], `token ${i} starts at ${start}, before ${at[segment]}`);
    at[segment] = start;
  });
  if (truncated) assert.ok(truncated.from > truncated.to && truncated.to >= ids.length, JSON.stringify(truncated));
  checkDecode(tokenizer, ids);
}

/** @param {Tokenizer} tokenizer @param {ArrayLike<number>} ids of the table or not */
function checkDecode(tokenizer, ids) {
  for (const special of [true, false]) {
    const all = tokenizer.decode(Array.from(ids), { special });
    const stream = tokenizer.openText({ special });
    const parts = Array.from(ids, (id) => stream.push(id));
    const streamed = parts.join('') + stream.end();
    // Of bytes that are no text the whole shows one sign each, the stream what was complete before it came to them.
    if (!all.includes('\ufffd')) assert.equal(streamed, all, 'what comes piece by piece');
  }
}

/** @type {import('./inputs.js').Target} */
export const tokenizer = {
  name: 'tokenizer',
  isJson: true,
  seeds: NAMES.map((name) => jsonBytes({ ...small(name), texts: TEXTS })),
  inputs: (pool) =>
    fc.tuple(jsonInputs(pool), fc.array(hostileText, { maxLength: 2 }), fc.nat(9)).map(([bytes, texts, turn]) => {
      const value = turn < 3 && bytes.length < 20_000 ? jsonValueOf(bytes) : undefined;
      // Parsing and writing again takes equal keys away, so it is not done always.
      return typeof value === 'object' && value !== null ? jsonBytes({ ...value, texts }) : bytes;
    }),
  check(bytes) {
    const { texts, ...file } = parseJson(bytes, 'tokenizer.json');
    const maxTokens = 100;
    const made = createTokenizer(file, { vocab: VOCAB, maxTokens });
    const given = (Array.isArray(texts) ? texts : TEXTS)
      .slice(0, 2)
      .map((text) => withHalves(typeof text === 'string' ? text : ''));
    // Where only some bytes have a token, unknown characters come behind those that are spelled in bytes, as in the package.
    const isOrdered = /** @type {Json} */ (file.model).byte_fallback !== true;
    for (const text of given) {
      for (const pair of [null, TEXTS[0]]) checkText(made, text, pair, maxTokens, isOrdered);
      assert.ok(made.encode(text).ids.every((id) => id < VOCAB));
    }
    const kinds = [file.normalizer, file.pre_tokenizer, file.model, file.decoder].map(
      (part) => /** @type {Json} */ (part)?.type,
    );
    return kinds.filter((kind) => typeof kind === 'string').join(' ');
  },
};

/** @type {Map<string, Tokenizer>} */
const made = new Map();

/** @param {string} name @param {number} maxTokens */
function published(name, maxTokens) {
  const key = `${name} ${maxTokens}`;
  const known = made.get(key) ?? goldenTokenizer(name, maxTokens);
  made.set(key, known);
  return known;
}

/** @type {import('./inputs.js').Target} */
export const text = {
  name: 'text',
  isJson: true,
  seeds: NAMES.map((tokenizer) => jsonBytes({ tokenizer, text: 'Hello wörld 漢字', pair: null, max: 1 })),
  inputs: (pool) =>
    fc.oneof(
      { weight: 1, arbitrary: changedJson(pool) },
      { weight: 1, arbitrary: changedBytes(pool) },
      {
        weight: 8,
        arbitrary: fc
          .record({
            tokenizer: fc.constantFrom(...NAMES),
            text: hostileText,
            pair: fc.option(hostileText),
            ids: fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(1_250) }, { weight: 1, arbitrary: fc.integer() }), {
              maxLength: 12,
            }),
            max: fc.nat(2),
          })
          .map((one) => bytesOf(JSON.stringify(one))),
      },
    ),
  check(bytes) {
    const given = /** @type {Json} */ (jsonValueOf(bytes)) ?? {};
    const name = NAMES.includes(given.tokenizer) ? given.tokenizer : NAMES[0];
    const maxTokens = ROOM.at(Number.isInteger(given.max) ? given.max % ROOM.length : 0) ?? 0;
    const [first, second] = [given.text, given.pair].map((one) => (typeof one === 'string' ? withHalves(one) : null));
    const own = published(name, maxTokens);
    if (Array.isArray(given.ids)) checkDecode(own, given.ids);
    // Where the file holds no text, what holds it is given as it is.
    checkText(own, first ?? given.text, second, maxTokens);
    assert.deepEqual(own.encode(first ?? '', second).ids, own.encode(first ?? '', second).ids);
    const isCut = own.encode(first ?? '', second).truncated !== null;
    return `${name}, ${second !== null}, ${isCut}`;
  },
};
