import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { createLiteral, createPattern } from '../../../web/lib/tokenizer/pattern/pattern.js';
import { BEHAVIOURS, onePiece, splitting } from '../../../web/lib/tokenizer/text/pieces.js';

const fail = (/** @type {string} */ problem) => new Error(problem);
/** @param {string} source @param {string} text */
function finds(source, text) {
  /** @type {[number, number][]} */
  const found = [];
  createPattern(source, fail)(text, 0, text.length, (start, end) => found.push([start, end]));
  return found;
}
/** The same by the engine's own matcher, whose order of choices is the same. @param {string} source @param {string} text */
const byRegExp = (source, text) =>
  [...text.matchAll(new RegExp(source, 'gu'))].map((match) => [match.index, match.index + match[0].length]);

const PATTERNS = [
  String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{Lu}+?b`,
  '(?:a|ab)(?:c|bcd)(d*)',
  '(a+)+b|a{2,3}?|(?:ab?){2,}',
  '(?<=a)b+|(?<!b)a|[a-c]?d',
  String.raw`\d+(?=\s)|[\x41-\x43]+|é|\u0062+c`,
  '(?:a*b*)+c|[^a]b',
];
const letters = fc.constantFrom(..."aabbccdd  \n\r\t'.1 29ABÉé漢ء👍\u0301sSlvre");

for (const source of PATTERNS) {
  test(`matches where RegExp does: ${source}`, () => {
    const property = fc.property(fc.array(letters, { maxLength: 24 }), (chars) => {
      const text = chars.join('');
      assert.deepEqual(finds(source, text), byRegExp(source, text));
    });
    fc.assert(property, { seed: 4, numRuns: 1500 });
  });
}

test('what RegExp has not: sets inside of sets, their intersection, letters in any case', () => {
  assert.deepEqual(finds('[^(\\s|[.,!])]+', 'ab.c (d'), [
    [0, 2],
    [3, 4],
    [6, 7],
  ]);
  assert.deepEqual(finds('[a-z&&[^aeiou]]+', 'abcde'), [[1, 4]]);
  assert.deepEqual(finds("(?i:'s|k)", "'S 's 'ſ \u212a"), [
    [0, 2],
    [3, 5],
    [6, 8],
    [9, 10],
  ]);
});

/** @type {[string, RegExp][]} */
const REFUSED = [
  ['(a+)+$', /"\$"/],
  ['^a', /"\^"/],
  ['\\bfoo', /"\\b"/],
  ['(a)\\1', /"\\1"/],
  ['(?<name>a)', /"\(\?<"/],
  ['(?>a+)b', /"\(\?>"/],
  ['a++', /a repetition of a repetition/],
  ['a**', /a repetition of a repetition/],
  ['a{0}b', /the count \{0\}/],
  ['a{2,1}', /the count \{2,1\}/],
  ['a{1000}', /the count \{1000\}/],
  ['a{b', /a "\{" that is no count/],
  ['(?=ab)c', /more than one character/],
  ['(?:(?!a))+b', /a repeated look/],
  ['', /an empty alternative/],
  ['a|', /an empty alternative/],
  ['(?:)a', /an empty alternative/],
  ['(a', /a "\(" without "\)"/],
  ['a)', /a "\)" without "\("/],
  ['[a', /a "\[" without "\]"/],
  ['[]', /an empty "\[\]"/],
  ['[[:alpha:]]', /"\[:"/],
  ['[b-a]', /a "-" between two sets/],
  ['[\\s-z]', /a "-" between two sets/],
  ['\\p{Nonsense}', /the property \{Nonsense\}/],
  ['\\p', /the property/],
  ['\\u12', /without a code point/],
  ['\\x{110000}', /without a code point/],
  ['\\', /a "\\" at the end/],
  ['(?i:é)', /more than ASCII/],
  ['(a|b)*', /can match nothing at all/],
  ['(?!a)', /can match nothing at all/],
  ['(((a{50}){50}){50}){50}', /too many steps/],
  [`${'('.repeat(30)}a${')'.repeat(30)}`, /groups inside each other/],
  ['a'.repeat(5000), /5000 characters/],
];

for (const [source, message] of REFUSED) {
  test(`refused: ${source.slice(0, 40) || 'an empty pattern'}`, () => {
    assert.throws(() => createPattern(source, fail), { message });
  });
}

test('patterns that make a backtracking matcher hang are done in linear time', () => {
  const text = 'a'.repeat(2 ** 18);
  for (const source of ['(a+)+b', '(?:a|a)+b', '(?:a*)*b', '.*.*.*b', `${'a?'.repeat(25)}b`]) {
    const start = performance.now();
    assert.deepEqual(finds(source, text), []);
    assert.ok(performance.now() - start < 10_000, source);
  }
});

test('a pattern is whatever it is, read or refused, within a moment', () => {
  const parts = fc.array(fc.constantFrom(...'ab|()[]{}*+?.\\^$-,0139&:!=<iPpLsu '), { maxLength: 30 });
  const property = fc.property(parts, (chars) => {
    try {
      finds(chars.join(''), 'ab10 ab-');
    } catch (error) {
      assert.ok(error instanceof Error && error.constructor === Error, String(error));
    }
  });
  fc.assert(property, { seed: 5, numRuns: 3000 });
});

test('what is found is set apart, taken out or joined to a neighbour', () => {
  /** @param {string} name @param {boolean} [invert] */
  const cut = (name, invert) => {
    const text = 'the-final--countdown-';
    const source = { text, starts: [], ends: [] };
    const { froms, tos } = splitting(createLiteral('-'), BEHAVIOURS[name], invert)(onePiece(source));
    return froms.map((from, i) => text.slice(from, tos[i])).join(' ');
  };
  assert.equal(cut('Isolated'), 'the - final - - countdown -');
  assert.equal(cut('Removed'), 'the final countdown');
  assert.equal(cut('Removed', true), '- - - -');
  assert.equal(cut('Contiguous'), 'the - final -- countdown -');
  assert.equal(cut('MergedWithPrevious'), 'the- final- - countdown-');
  assert.equal(cut('MergedWithNext'), 'the -final - -countdown -');
});
