/** Addresses and links changed part by part: taken away, doubled, swapped, put in from others, or replaced by what trips readers. */
import fc from 'fast-check';
import { anyOf, bytesOf, changedBytes } from './inputs.js';

/** @typedef {import('./inputs.js').Pool} Pool */
/** @typedef {{ kind: number, at: number, other: number, value: string, count: number }} Change */

const HOSTILE = [
  ...[
    '',
    '0',
    '-0',
    '-1',
    '1',
    '7',
    '8',
    '9',
    '11',
    '12',
    '13',
    '63',
    '64',
    '65',
    '99',
    '4095',
    '9999',
    '10000',
    '1e6',
    '1e-9',
  ],
  ...['-9999999', '9999999.123456789012', '0.5', '.5', '1.', '1e99', 'NaN', 'Infinity', '0x10', '+1', ' 1', '١'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'text',
    'layer',
    'sandbox',
    'model',
    'heads',
    'words',
    'wordsx',
    'wq',
    'mask',
  ],
  ...[
    '%',
    '%2',
    '%zz',
    '%00',
    '%0A',
    '%D8%00',
    '%ED%A0%80',
    '%F0%9F%91%8D',
    '%E2%80%AE',
    '%25',
    '%26',
    '%3D',
    '%2A',
    '%5F',
  ],
  ...[
    '&',
    '=',
    '*',
    '.',
    '_',
    '#',
    '+',
    ';',
    '?',
    '/',
    '\\',
    '"',
    '<script>',
    'é',
    '漢',
    '👍🏽',
    '\ud83d',
    '\u202e',
    '\u0000',
  ],
];

/** @type {fc.Arbitrary<Change>} */
const change = fc.record({
  kind: fc.nat(5),
  at: fc.nat(10_000),
  other: fc.nat(10_000),
  value: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...HOSTILE) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
    { weight: 1, arbitrary: fc.integer().map(String) },
    { weight: 1, arbitrary: fc.double().map(String) },
  ),
  count: fc.oneof({ weight: 8, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(2_000) }),
});

/** The signs between parts are parts, too. @param {string} text */
const partsOf = (text) => text.split(/([&=*._#]|%[0-9A-Fa-f]{2})/).filter((part) => part !== '');

/** @param {string[]} parts @param {Change} how @param {string[]} others */
function changeParts(parts, { kind, at: far, other, value, count }, others) {
  const at = far % (parts.length + 1);
  if (kind === 0) parts.splice(at, 1 + count);
  else if (kind === 1) parts.splice(at, 0, ...parts.slice(at, at + 1 + (count % 9)));
  else if (kind === 2) parts.splice(at, 0, ...others.slice(other % (others.length + 1)).slice(0, 1 + count));
  else if (kind === 3) parts.splice(at, 1, value);
  else if (kind === 4) parts.splice(at, 0, ...new Array(1 + count).fill(value));
  else parts.splice(at, 1, `${parts[at] ?? ''}${value}`);
}
const decoder = new TextDecoder();
/** Longer texts are cut: what reads them looks at their length first. */
const LONGEST = 100_000;

/** @param {Pool} pool @returns {fc.Arbitrary<Uint8Array>} */
export const changedText = (pool) =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(anyOf(pool), anyOf(pool), fc.array(change, { minLength: 1, maxLength: 6 }))
        .map(([bytes, other, changes]) => {
          const parts = partsOf(decoder.decode(bytes));
          for (const how of changes) changeParts(parts, how, partsOf(decoder.decode(other)));
          return bytesOf(parts.join('').slice(0, LONGEST));
        }),
    },
    { weight: 2, arbitrary: changedBytes(pool) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).map(bytesOf) },
  );
