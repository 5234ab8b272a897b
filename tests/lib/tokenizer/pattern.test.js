import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { createLiteral, createPattern } from '../../../web/lib/tokenizer/pattern/pattern.js';
import { newBudget } from '../../../web/lib/tokenizer/text/aligned_text.js';
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
  [...text.matchAll(new RegExp(source, 'gu'))]
    .map((match) => [match.index, match.index + match[0].length])
    // Right behind a find Oniguruma's user takes no empty one.
    .filter(([start, end], i, all) => start < end || all[i - 1]?.[1] !== start);

const PATTERNS = [
  String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
  String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{Lu}+?b`,
  '(?:a|ab)(?:c|bcd)(d*)',
  '(a+)+b|a{2,3}?|(?:ab?){2,}',
  '(?<=a)b+|(?<!b)a|[a-c]?d',
  String.raw`\d+(?=\s)|[\x41-\x43]+|é|\u0062+c`,
  '(?:a*b+)+c|[^a]b',
  String.raw`(?=[A-Z])|1\d|(?:ab){2,}`,
  String.raw`a(?=b+c|d)|(?!a|b\s)[^\n]|c? ?`,
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

test('W7: scripts, categories, letters in any case, edges, atomic groups and possessive repetition', () => {
  const found = (/** @type {string} */ source, /** @type {string} */ text) =>
    finds(source, text).map(([start, end]) => text.slice(start, end));
  assert.deepEqual(found(String.raw`\p{Latin}+`, 'aéжb漢ªa'), ['aé', 'b', 'ªa']);
  assert.deepEqual(found(String.raw`\p{Zs}|\p{Greek}`, 'a\u00a0\tα\u2028'), ['\u00a0', 'α']);
  assert.deepEqual(found(String.raw`\p{Uppercase Letter}|\p{^any}`, 'aÉb'), ['É']);
  assert.deepEqual(found('a(?i)b|c', 'aB aC C ab'), ['aB', 'aC', 'ab']);
  assert.deepEqual(found('(?i:σ)', 'Σσς'), ['Σ', 'σ', 'ς']);
  assert.deepEqual(found('(?i)[^a]', 'aAbB'), ['b', 'B']);
  assert.deepEqual(found(String.raw`^\w+|\w+$`, 'ab cd ef\ngh ij'), ['ab', 'ef', 'gh', 'ij']);
  assert.deepEqual(found(String.raw`\bfoo\b`, 'foo food_foo éfoo foo'), ['foo', 'foo']);
  assert.deepEqual(found(String.raw`\Aa|a\z`, 'aa\na'), ['a', 'a']);
  assert.deepEqual(found('a++b|a', 'aaab aa'), ['aaab', 'a', 'a']);
  assert.deepEqual(found('a++a', 'aaa'), []);
  assert.deepEqual(found('(?>a|ab)c|b', 'abc ac'), ['b', 'ac']);
  assert.deepEqual(found(String.raw`\d{1,3}(?=(?:\d{3})*\b)`, '1234567 12'), ['1', '234', '567', '12']);
});

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
  ['(a)\\1', /"\\1"/],
  ['(?#note)a', /"\(\?#"/],
  ['a{1,2}+', /a repetition of a repetition/],
  ['a{2}?', /a "\?" behind a count/],
  ['(?<=ab)c', /more than one character/],
  ['(?:a?)+b', /a repetition of what may be nothing/],
  ['(?:a|b*){2}', /a repetition of what may be nothing/],
  ['a**', /a repetition of a repetition/],
  ['a{0}b', /the count \{0\}/],
  ['a{2,1}', /the count \{2,1\}/],
  ['a{1000}', /the count \{1000\}/],
  ['a{b', /a "\{" that is no count/],
  ['(?:(?!a))+b', /a repeated look/],
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
  ['(?i:ß)', /folds to several characters/],
  ['(?i:mass)', /fold to others together/],
  ['(?i)[\\p{L}]', /folds to several characters/],
  [`[${'\\p{L}'.repeat(700)}]`, /too many sets/],
  ['(((a{50}){50}){50}){50}', /too many steps/],
  [`${'('.repeat(30)}a${')'.repeat(30)}`, /groups inside each other/],
  ['a'.repeat(5000), /5000 characters/],
];

for (const [source, message] of REFUSED) {
  test(`refused: ${source.slice(0, 40) || 'an empty pattern'}`, () => {
    assert.throws(() => createPattern(source, fail), { message });
  });
}

/** Steps that a pattern takes on a text. @param {string} source @param {string} text */
function stepsOf(source, text) {
  let steps = 0;
  const budget = {
    make() {},
    work(/** @type {number} */ count) {
      steps += count;
    },
  };
  createPattern(source, fail)(text, 0, text.length, () => {}, budget);
  return steps;
}

test('T2: patterns that make a backtracking matcher hang take steps in proportion to the text', () => {
  for (const source of ['(a+)+b', '(a+)+$', '(?:a|a)+b', '.*.*.*b', `${'a?'.repeat(25)}b`, `${'a{100}'.repeat(4)}b`]) {
    const [half, whole] = [2 ** 11, 2 ** 12].map((length) => stepsOf(source, 'a'.repeat(length)));
    assert.ok(half >= 2 ** 11, source);
    assert.ok(whole < 2.2 * half, `${source}: ${half} steps for half of the text, ${whole} for all`);
  }
});

test('T2: what is tried anew at each place is counted as well', () => {
  const [half, whole] = [2 ** 9, 2 ** 10].map((length) => stepsOf('a(?=a*b)|(?>a*)b', 'a'.repeat(length)));
  assert.ok(whole > 3 * half, `${half}, ${whole}`);
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
    const { froms, tos } = splitting(
      createLiteral('-'),
      BEHAVIOURS[name],
      invert,
    )(onePiece(source), newBudget(text.length));
    return froms.map((from, i) => text.slice(from, tos[i])).join(' ');
  };
  assert.equal(cut('Isolated'), 'the - final - - countdown -');
  assert.equal(cut('Removed'), 'the final countdown');
  assert.equal(cut('Removed', true), '- - - -');
  assert.equal(cut('Contiguous'), 'the - final -- countdown -');
  assert.equal(cut('MergedWithPrevious'), 'the- final- - countdown-');
  assert.equal(cut('MergedWithNext'), 'the -final - -countdown -');
});
