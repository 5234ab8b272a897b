/** The JSON reader against JSON.parse: what it takes means the same there, what it refuses is refused there or is stricter. Then
 * the index of shards, which is the nearest that stands on it. */
import assert from 'node:assert/strict';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { parseJson } from '../../../web/lib/formats/json.js';
import { checkShard, readIndex } from '../../../web/lib/formats/shards.js';
import { bytesOf, jsonInputs } from './inputs.js';

/** Wants that JSON.parse has not. */
const STRICTER = /each key only once|whole surrogate pairs|levels of nesting|a number$|an object$|values$/;
const DEEPEST = 65;
const SEEDS = [
  '{"a":[1,-2.5e3,true,null,{"b":"\\u00e9\\n\\ud83d\\udc4d"}],"__proto__":{"x":"y"},"":0}',
  ' {\n"weight_map" : {"a.weight":"model.safetensors"} ,\t"n": [ ] , "o" : { } }\r\n',
  '{"metadata":{"total_size":24},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors","c":"m-1.safetensors"}}',
  '{"weight_map":{"__metadata__":"model.safetensors"}}',
  '{"1":1,"0":[0.1,1E+2,1e-7,-0],"text":"漢字 \\" \\\\ \\/ \\b\\f\\r\\t"}',
];

/** @param {Uint8Array} bytes @returns {unknown} undefined where they are no JSON in UTF-8 */
function plainValue(bytes) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Keys that stand in a text, each as often as it does. @param {Uint8Array} bytes */
const keysIn = (bytes) =>
  [...new TextDecoder().decode(bytes).matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined)
    .length;

/** @param {unknown} value @returns {{ keys: number, depth: number }} */
function extentOf(value) {
  if (typeof value !== 'object' || value === null) return { keys: 0, depth: 0 };
  const children = Object.values(value).map(extentOf);
  return {
    keys: children.reduce((sum, { keys }) => sum + keys, Array.isArray(value) ? 0 : children.length),
    depth: children.reduce((most, { depth }) => Math.max(most, depth + 1), 0),
  };
}

/** @param {Uint8Array} bytes @returns {string} */
function checkIndex(bytes) {
  const index = readIndex(bytes, 'index.json');
  assert.deepEqual(index.files, [...new Set(index.fileOf.values())].sort());
  for (const file of index.files) {
    assert.match(file, /^[\w-][\w.-]*\.safetensors$/);
    const names = [...index.fileOf].filter(([, owner]) => owner === file).map(([name]) => name);
    const tensors = names.map((name) => ({ name, dtype: 'F32', shape: [], begin: 0, end: 4 }));
    checkShard(index, file, tensors);
    assert.throws(() => checkShard(index, file, tensors.slice(1)), QkvError);
    assert.throws(() => checkShard(index, file, [...tensors, { ...tensors[0], name: `${names}x` }]), QkvError);
  }
  return `an index of ${Math.min(3, index.files.length)} files`;
}

/** @type {import('./inputs.js').Target} */
export const json = {
  name: 'json',
  isJson: true,
  seeds: SEEDS.map(bytesOf),
  inputs: jsonInputs,
  check(bytes) {
    const plain = plainValue(bytes);
    try {
      const own = parseJson(bytes, 'x.json');
      assert.notEqual(plain, undefined, 'taken, though it is no JSON');
      assert.equal(JSON.stringify(own), JSON.stringify(plain));
      const { keys, depth } = extentOf(own);
      assert.equal(keys, keysIn(bytes), 'each key once');
      assert.ok(depth <= DEEPEST, `nested ${depth} times`);
    } catch (error) {
      if (!(error instanceof QkvError)) throw error;
      if (plain !== undefined) assert.match(error.message, STRICTER, 'refused, though it is JSON');
      throw error;
    }
    if (Object.hasOwn(/** @type {object} */ (plain), 'weight_map')) return checkIndex(bytes);
    const limits = { numbers: /** @type {const} */ ('unsigned'), maxDepth: 4, maxValues: 20 };
    assert.equal(JSON.stringify(parseJson(bytes, 'x.json', limits)), JSON.stringify(plain));
    return 'taken by the narrower limits as well';
  },
};
