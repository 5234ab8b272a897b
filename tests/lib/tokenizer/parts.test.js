/** The models, patterns and steps by themselves, where no file that is published shows what they do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBpe } from '../../../web/lib/tokenizer/models/bpe.js';
import { createUnigram } from '../../../web/lib/tokenizer/models/unigram.js';
import { createPattern } from '../../../web/lib/tokenizer/pattern/pattern.js';
import { newBudget } from '../../../web/lib/tokenizer/text/aligned_text.js';
import { metaspaceStep } from '../../../web/lib/tokenizer/steps/decoder_steps.js';

/** @param {import('../../../web/lib/tokenizer/models/wordpiece.js').CutWord} model @param {string} word */
function piecesOf(model, word) {
  /** @type {number[][]} */
  const pieces = [];
  model(word, (...piece) => pieces.push(piece), newBudget(word.length));
  return pieces;
}

test('unknown characters in a row are one token where the model says so, and else a token each', () => {
  const model = {
    ids: new Map([
      ['<unk>', 0],
      ['a', 1],
    ]),
    merges: new Int32Array(0),
    ...{ unknown: 0, byteFallback: false, ignoreMerges: false, prefix: '', suffix: '' },
  };
  const fused = [
    [0, 0, 3],
    [1, 3, 4],
    [0, 4, 5],
  ];
  assert.deepEqual(piecesOf(createBpe({ ...model, fuseUnknown: true }), 'x💧ay'), fused);
  assert.deepEqual(piecesOf(createBpe({ ...model, fuseUnknown: false }), 'x💧ay'), [
    [0, 0, 1],
    [0, 1, 3],
    ...fused.slice(1),
  ]);
});

test('a character that no piece spells costs more than the rarest piece', () => {
  /** @type {[string, number][]} */
  const pieces = [
    ['<unk>', 0],
    ['a', -1],
    ['ab', -12],
  ];
  assert.deepEqual(piecesOf(createUnigram({ pieces, unknown: 0, byteFallback: false }), 'ab'), [[2, 0, 2]]);
});

/** @param {ReturnType<typeof createPattern>} find @param {string} text @param {number} from */
function findsOf(find, text, from) {
  /** @type {number[][]} */
  const finds = [];
  find(text, from, text.length, (start, end) => finds.push([start, end]));
  return finds;
}

const fail = (/** @type {string} */ problem) => new Error(problem);

test('looking back ends where the searched part begins', () => {
  const find = createPattern('(?<=a)b', fail);
  assert.deepEqual(findsOf(find, 'abab', 0), [
    [1, 2],
    [3, 4],
  ]);
  assert.deepEqual(findsOf(find, 'abab', 1), [[3, 4]]);
});

test('a pattern finds the same when it is used again', () => {
  const find = createPattern('a+b?|b', fail);
  const finds = [
    [0, 3],
    [3, 4],
  ];
  assert.deepEqual(findsOf(find, 'aabb', 0), finds);
  assert.deepEqual(findsOf(find, 'aabb', 0), finds);
});

test('the mark of the first piece alone is left out of a stream', () => {
  const stream = metaspaceStep('▁', true).open(false, false);
  assert.deepEqual([stream.push(['▁a']), stream.push(['▁b', '▁c']), stream.end()], [['a'], [' b', ' c'], []]);
});
