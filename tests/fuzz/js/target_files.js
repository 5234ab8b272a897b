/** Whole models as they are given: files with names, one GGUF file, or a text that says where; up to the weights' bytes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { resolveModel } from '../../../web/lib/families/index.js';
import { sniff } from '../../../web/lib/formats/sniff.js';
import { openModelFile } from '../../../web/lib/loading/model_file.js';
import { openModelFolder } from '../../../web/lib/loading/model_folder.js';
import { openSource } from '../../../web/lib/sources/source.js';
import { readStops } from '../../../web/lib/loading/generation.js';
import { collector, entry, fileOf } from '../../lib/formats/safetensors_file.js';
import { bytesOf, jsonBytes, jsonInputs, jsonValueOf } from './inputs.js';
import { config } from './target_config.js';
import { gguf } from './target_gguf.js';
import { safetensors } from './target_safetensors.js';

/** @typedef {Record<string, unknown>} Named file names and what the files hold, a character a byte */

/** @param {Uint8Array} bytes */
const characters = (bytes) => Buffer.from(bytes).toString('latin1');

const [CONFIG] = config.seeds.map(characters);
const TABLE = characters(fileOf({ 'bert.embeddings.word_embeddings.weight': entry([2, 2], 0, 16) }, 16));
const REST = characters(fileOf({ 'bert.embeddings.LayerNorm.weight': entry([2], 0, 8) }, 8));
const INDEX = JSON.stringify({
  weight_map: {
    'bert.embeddings.word_embeddings.weight': 'model-2.safetensors',
    'bert.embeddings.LayerNorm.weight': 'model-1.safetensors',
  },
});
const GENERATION = ['{"eos_token_id":[1,2]}', '{"eos_token_id":null}', '{"eos_token_id":"2"}'];
const STARTS = [
  ...[
    '<!DOCTYPE html>',
    '<HTML>',
    '<?xml',
    'version https://git-lfs.github.com/spec/v1',
    'PK\x03\x04',
    '\x80\x04',
    'GGUF',
  ],
  ...['\x89HDF', '\x1f\x8b', '\x93NUMPY', '\ufeff', '', ' \n{', '\u0130'],
];
const TEXTS = [
  ...[
    'org/name',
    './x',
    'x.gguf',
    'https://h/x/',
    'https://h/m.gguf?a=b',
    'file:///x',
    'C:\\x',
    'data:,a',
    'javascript:1',
  ],
  ...[
    'https://',
    'http://%zz/',
    'a/b/c',
    '..',
    'org/name.gguf',
    'https://h/%E0%A4%A/',
    'https://h/x/model.safetensors',
    '\u0000',
  ],
];
const part = fc.oneof(
  fc.constantFrom(...GENERATION),
  fc.constantFrom(...config.seeds, ...safetensors.seeds, bytesOf(INDEX), ...gguf.seeds).map(characters),
  fc
    .tuple(fc.constantFrom(...STARTS), fc.string({ unit: 'binary', maxLength: 9 }))
    .map(([start, rest]) => start + rest),
);
const name = fc.oneof(
  fc.constantFrom(
    'config.json',
    'model.safetensors',
    'model.safetensors.index.json',
    'generation_config.json',
    'README.md',
  ),
  fc.constantFrom(
    'model-1.safetensors',
    'model-2.safetensors',
    'a.gguf',
    'tokenizer.json',
    '__proto__',
    '../x',
    'B.GGUF',
  ),
);
const places = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.tuple(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 5 })).map((parts) => parts.join('')),
);
const isList = fc.boolean();

/** @param {unknown} held @returns {Uint8Array} */
const heldBytes = (held) =>
  new Uint8Array(Buffer.from(typeof held === 'string' ? held : JSON.stringify(held), 'latin1'));

/** @param {Named} named @param {boolean} asFiles */
async function readModel(named, asFiles) {
  const files = Object.entries(named).filter(([key]) => key !== 'place' && key !== 'list');
  const bytes = files.map(([key, held]) => [key, heldBytes(held)]);
  const given = asFiles
    ? bytes.map(([key, held]) => new File([/** @type {Uint8Array<ArrayBuffer>} */ (held)], String(key)))
    : /** @type {Record<string, Uint8Array>} */ (Object.fromEntries(bytes));
  const source = await openSource(given);
  const isOne = Boolean(source.gguf);
  const model = source.gguf
    ? await openModelFile(source, source.gguf, undefined)
    : await openModelFolder(source, undefined);
  try {
    const resolved = resolveModel(model.config, model.label);
    const written = await model.generation();
    readStops([{ config: written ?? {}, label: 'generation_config.json' }], resolved.engine.vocab);
    await model.tokenizer();
    await model.licence();
    const { accept, received } = collector();
    let atEnd = 0;
    /** @type {import('../../../web/lib/loading/model_folder.js').Receiver} */
    const receiver = {
      accept: (_, tensors) => accept(tensors.filter(({ dtype }) => dtype === 'F32')),
      endFile: () => atEnd++,
    };
    await model.readWeights({
      receiver,
      resolved,
      signal: undefined,
      onFile: (file, loaded) => assert.ok(loaded >= 0, file),
    });
    assert.ok(atEnd > 0);
    return `${isOne ? 'one file' : 'a folder'} of ${resolved.family}, ${Math.min(3, received.size)} tensors, ${atEnd} files`;
  } finally {
    await model.close();
  }
}

/** @type {import('./inputs.js').Target} */
export const files = {
  name: 'files',
  isJson: true,
  seeds: [
    jsonBytes({ 'config.json': CONFIG, 'model.safetensors': TABLE, 'README.md': '---\nlicense: mit\n---\n' }),
    jsonBytes({
      'config.json': CONFIG,
      'model.safetensors.index.json': INDEX,
      'model-1.safetensors': REST,
      'model-2.safetensors': TABLE,
    }),
    jsonBytes({ list: true, 'a.gguf': characters(gguf.seeds[0]) }),
    jsonBytes({ place: 'org/name' }),
  ],
  inputs: (pool) =>
    fc.oneof(
      { weight: 4, arbitrary: jsonInputs(pool) },
      { weight: 2, arbitrary: fc.record({ place: places }).map(jsonBytes) },
      {
        weight: 6,
        arbitrary: fc
          .tuple(fc.nat(9), fc.constantFrom(TABLE, REST), fc.array(fc.tuple(name, part), { maxLength: 3 }), isList)
          .map(([turn, weights, more, list]) => {
            const usual = turn < 7 ? { 'config.json': CONFIG, 'model.safetensors': weights } : {};
            return jsonBytes({ ...usual, ...Object.fromEntries(more), ...(list ? { list } : {}) });
          }),
      },
    ),
  async check(bytes) {
    const kind = sniff(bytes);
    const value = jsonValueOf(bytes);
    const named = /** @type {Named} */ (typeof value === 'object' && value !== null ? value : {});
    for (const held of Object.values(named)) sniff(heldBytes(held));
    if (named.place === undefined) return readModel(named, named.list !== undefined);
    const source = await openSource(/** @type {string} */ (named.place));
    assert.equal(typeof source.where('config.json'), 'string');
    assert.equal(typeof source.name, 'string');
    return `a place ${Boolean(source.gguf)}, ${kind}`;
  },
};
