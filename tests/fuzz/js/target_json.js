/** The JSON reader against JSON.parse: what it takes means the same there, what it refuses is refused there or is stricter. */
import assert from 'node:assert/strict';
import { QkvError } from '../../../web/lib/errors.js';
import { parseJson } from '../../../web/lib/formats/json.js';
import { bytesOf, jsonInputs } from './inputs.js';

/** Wants that JSON.parse has not. */
const STRICTER = /each key only once|whole surrogate pairs|levels of nesting|a number$|an object$|values$/;
const SEEDS = [
  '{"a":[1,-2.5e3,true,null,{"b":"\\u00e9\\n\\ud83d\\udc4d"}],"__proto__":{"x":"y"},"":0}',
  ' {\n"weight_map" : {"a.weight":"model.safetensors"} ,\t"n": [ ] , "o" : { } }\r\n',
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
    } catch (error) {
      if (!(error instanceof QkvError)) throw error;
      if (plain !== undefined) assert.match(error.message, STRICTER, 'refused, though it is JSON');
      throw error;
    }
    const limits = { numbers: /** @type {const} */ ('unsigned'), maxDepth: 4, maxValues: 20 };
    assert.equal(JSON.stringify(parseJson(bytes, 'x.json', limits)), JSON.stringify(plain));
    return 'taken by the narrower limits as well';
  },
};
