/** Texts that tokenizers trip over. Half a surrogate pair, which JSON may not hold, is written as U+E000 or U+E001. */
import fc from 'fast-check';

const SPECIAL = [
  ...['[CLS]', '[SEP]', '[MASK]', '[UNK]', '<s>', '</s>', '<mask>', '<unk>', '<pad>', '<|endoftext|>', '<|eot_id|>'],
  ...[
    '<0x41>',
    '<0xE2>',
    '<0xFF>',
    '<0x-1>',
    '##',
    '##ing',
    '▁',
    '▁▁',
    'Ġ',
    'Ċ',
    'Ã©',
    '\ue000',
    '\ue001',
    '\ue001\ue000',
  ],
  ...[
    '\u0000',
    '\u0001',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u00ad',
    '\u200b',
    '\u200d',
    '\u2028',
    '\u202e',
    '\u3000',
    '\ufeff',
  ],
  ...[
    '\ufffd',
    '\uffff',
    '\u{10ffff}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\u{1f1e9}\u{1f1ea}',
    '👍🏽',
    '☃️',
    '1️⃣',
  ],
  ...[
    'e\u0301',
    'é',
    '\u0301',
    '\u0323\u0301',
    'ﬁ',
    'ß',
    'İ',
    'ı',
    'Σς',
    'Å',
    '가',
    '\u1100\u1161\u11a8',
    '漢字',
    '𠀀',
    'ﷺ',
  ],
  ...[
    ' ',
    '  ',
    '\t',
    '\n',
    '\r\n',
    '\n\n\n',
    "don't",
    "'ll",
    "'S",
    '3.14',
    '1234567',
    '_',
    '--',
    '…',
    '(a)',
    'a',
    'the',
  ],
];
const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SPECIAL) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
  { weight: 2, arbitrary: fc.constantFrom('hello ', 'world', 'The quick brown fox', 'ing', 'tion', ' an') },
);
const short = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
const long = fc
  .tuple(fc.array(part, { minLength: 1, maxLength: 3 }), fc.integer({ min: 2, max: 3_000 }))
  .map(([parts, count]) => parts.join('').repeat(count).slice(0, 40_000));

export const hostileText = fc.oneof({ weight: 30, arbitrary: short }, { weight: 1, arbitrary: long });

/** @param {string} text @returns {string} with the halves that JSON may not hold */
export const withHalves = (text) => text.replaceAll('\ue000', '\ud83d').replaceAll('\ue001', '\udc4d');
