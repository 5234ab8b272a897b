import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseJson } from '../../../web/lib/formats/json.js';
import { assertAboutLinear } from '../../growth.js';
import { expectError } from '../expect_error.js';

const encoder = new TextEncoder();
/** @param {string | Uint8Array} text @param {import('../../../web/lib/formats/json.js').JsonLimits} [limits] */
const parse = (text, limits) => parseJson(typeof text === 'string' ? encoder.encode(text) : text, 'x.json', limits);
/** @param {unknown} value plain objects again, for comparing */
const plain = (value) => JSON.parse(JSON.stringify(value));

test('what JSON.parse reads is read to the same value', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
      fc.constantFrom(0, 1, 4),
      (value, indent) => {
        const text = JSON.stringify({ value }, null, indent);
        assert.deepEqual(plain(parse(text)), plain(JSON.parse(text)));
      },
    ),
    { seed: 1, numRuns: 500 },
  );
  assert.deepEqual(plain(parse('\t{"a":[1e2,-0.5,"\\u00e9\\n\\"\\/",true,null,{}]} \r\n')), {
    a: [100, -0.5, 'é\n"/', true, null, {}],
  });
});

test('what JSON.parse refuses is refused, and nothing else than a QkvError comes out', async () => {
  const wellFormed = encoder.encode('{"a":[1,-2.5e3,"x\\u00e9\\n",true,false,null,{"b":{"c":"ü"}}],"d":{}}');
  const edit = fc.tuple(
    fc.nat(wellFormed.length - 1),
    fc.constantFrom(...encoder.encode('{}[]",:0-.eEu\\ tn\u0001\xff'), 0xff),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      const bytes = wellFormed.slice();
      for (const [at, byte] of edits) bytes[at] = byte;
      /** @type {unknown} */
      let expected;
      try {
        expected = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
      } catch {
        await expectError(() => parse(bytes), 'json');
        return;
      }
      try {
        assert.deepEqual(plain(parse(bytes)), plain(expected));
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'QkvError') throw error;
        assert.match(error.message, /each key only once|an object|surrogate/);
      }
    }),
    { seed: 2, numRuns: 2000 },
  );
});

test('a broken file is refused with the place', async () => {
  /** @type {[string | Uint8Array, RegExp][]} */
  const cases = [
    ['', /x\.json is not JSON: it is an empty file/],
    [' '.repeat(1000), /x\.json is not JSON/],
    ['{', /line 1, column 2.*end of the file/],
    ['{"a": 1,\n "b": 2,}', /line 2, column 9: got "}", want a key/],
    ['{"a":1}\n// no', /line 2, column 1.*the end of the file/],
    ['{"a": NaN}', /column 7: got "NaN}", want a value/],
    ['{"a": Infinity}', /want a value/],
    ['{"a": 1e999}', /want a number/],
    ['{"a": 01}', /column 8/],
    ["{'a': 1}", /a key in double quotes/],
    ['{"a": "\n"}', /control characters/],
    ['{"a": "\\x"}', /an escape/],
    ['{"a": "\\u12"}', /hexadecimal/],
    ['{"a": "\\ud800"}', /surrogate/],
    ['{"a": 1}\0', /the end of the file/],
    ['\ufeff{"a": 1}', /it is text that begins with a byte order mark/],
    [Uint8Array.of(0x7b, 0xff, 0x7d), /not UTF-8/],
    ['[1, 2]', /want an object/],
    ['null', /want an object/],
    ['"x"', /want an object/],
    ['123', /want an object/],
    ['<!DOCTYPE html><html></html>', /it is an HTML page/],
    ['version https://git-lfs.github.com/spec/v1\noid sha256:1', /it is a Git LFS pointer/],
    ['PK\x03\x04', /it is a zip archive/],
  ];
  for (const [text, message] of cases) await expectError(() => parse(text), 'json', message);
});

test('a key that comes twice is refused, also where JSON.parse would keep the last', async () => {
  await expectError(() => parse('{"a": 1, "a": 2}'), 'json', /column 10: got "\\"a\\": 2}", want each key only once/);
  await expectError(() => parse('{"x": {"a": 1, "\\u0061": 2}}'), 'json', /each key only once/);
});

test('keys with a meaning in JavaScript are ordinary keys', () => {
  const value = parse('{"__proto__": {"polluted": 1}, "constructor": 2, "toString": 3, "": 4}');
  assert.equal(Object.getPrototypeOf(value), null);
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor', 'toString', '']);
  assert.equal(/** @type {{ polluted?: number }} */ ({}).polluted, undefined);
});

test('nesting, size and number of values are limited, so that no file hangs or overflows the stack', async () => {
  await expectError(() => parse(`{"a":${'['.repeat(100_000)}`), 'json', /64 levels/);
  await expectError(() => parse('{"a":'.repeat(100_000)), 'json', /64 levels/);
  await expectError(() => parse('{"a": 1}', { maxBytes: 7 }), 'json', /got 8, want at most 7/);
  await expectError(() => parse('{"a": [1,2,3]}', { maxValues: 4 }), 'json', /at most 4 values/);
  assert.deepEqual(plain(parse('{"a": [1,2,3]}', { maxValues: 5 })), { a: [1, 2, 3] });
  await assertAboutLinear('blanks', (count) => parse(`${' '.repeat(count)}{}`), 1_000_000);
});

test('with unsigned numbers only digits up to 2^53 - 1 pass', async () => {
  assert.equal(parse('{"a": 9007199254740991}', { numbers: 'unsigned' }).a, 9007199254740991);
  for (const number of ['9007199254740992', '18446744073709551614', '-1', '-0', '1.0', '1e3', '1.5']) {
    await expectError(() => parse(`{"a": ${number}}`, { numbers: 'unsigned' }), 'json', /a whole number/);
  }
});

test('a byte order mark is named, not shown as an invisible character', async () => {
  const json = [...new TextEncoder().encode('{"a":1}')];
  /** @type {[number[], RegExp][]} */
  const table = [
    [
      [0xef, 0xbb, 0xbf],
      /^f\.json is not JSON: it is text that begins with a byte order mark; save it as UTF-8 without one$/,
    ],
    [[0xff, 0xfe], /^f\.json is not JSON: it is UTF-16 that begins with a byte order mark/],
    [[0xfe, 0xff], /^f\.json is not JSON: it is UTF-16 that begins with a byte order mark/],
  ];
  for (const [mark, message] of table) {
    await expectError(() => parseJson(Uint8Array.from([...mark, ...json]), 'f.json'), 'json', message);
  }
});
