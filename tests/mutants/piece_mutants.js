/** Faults in the models, the steps and the patterns of tokenizers. */

const TOKENIZER = { test: 'tests/lib/tokenizer/tokenizer_golden.test.js' };
const BPE = { ...TOKENIZER, file: 'web/lib/tokenizer/models/bpe.js' };
const UNIGRAM = { ...TOKENIZER, file: 'web/lib/tokenizer/models/unigram.js' };
const WORDPIECE = {
  test: 'tests/lib/tokenizer/wordpiece_golden.test.js',
  file: 'web/lib/tokenizer/models/wordpiece.js',
};
const PATTERN = { test: 'tests/lib/tokenizer/pattern.test.js', file: 'web/lib/tokenizer/pattern/pattern.js' };
const STEPS = { test: 'tests/lib/tokenizer/token_text.test.js', file: 'web/lib/tokenizer/steps/decoder_steps.js' };
const BERT = { test: 'tests/lib/tokenizer/wordpiece_golden.test.js', file: 'web/lib/tokenizer/steps/bert_text.js' };

/** @type {import('./mutants.js').Mutant[]} */
export const PIECE_MUTANTS = [
  {
    ...BPE,
    part: 'bpe',
    breaks: 'the most urgent pair is not the first',
    line: 'if (child + 1 < length && heap[child + 1] < heap[child]) child++;',
    becomes: 'if (child + 1 < length && heap[child + 1] > heap[child]) child++;',
  },
  {
    ...BPE,
    part: 'bpe',
    breaks: 'the pair on the left of a new symbol is forgotten',
    line: 'offer(previous[left]);',
    becomes: '',
  },
  {
    ...BPE,
    part: 'bpe',
    breaks: 'a joined symbol ends where its left part did',
    line: 'ends[left] = ends[right];',
    becomes: '',
  },
  {
    ...BPE,
    part: 'bpe',
    breaks: 'a pair that has changed is joined all the same',
    line: 'if (now === NONE || merges[3 * now + 2] !== merges[3 * rank + 2]) continue;',
    becomes: 'if (now === NONE) continue;',
  },
  {
    ...BPE,
    part: 'bpe',
    breaks: 'several unknown characters are never one token',
    test: 'tests/lib/tokenizer/parts.test.js',
    line: 'if (!fuseUnknown) addUnknown();',
    becomes: 'addUnknown();',
  },
  {
    ...UNIGRAM,
    part: 'unigram',
    breaks: 'the worse of two ways is kept',
    line: 'if (origins[end] !== NONE && sum <= best[end]) return;',
    becomes: 'if (origins[end] !== NONE && sum >= best[end]) return;',
  },
  {
    ...UNIGRAM,
    part: 'unigram',
    breaks: 'unknown characters in a row are a token each',
    line: 'if (lasts[end] === unknown && length > 0 && found[length - 3] === unknown) found[length - 2] = origins[end];',
    becomes: 'if (length < 0) found[length - 2] = origins[end];',
  },
  {
    ...UNIGRAM,
    part: 'unigram',
    breaks: 'an unknown character costs nothing',
    test: 'tests/lib/tokenizer/parts.test.js',
    line: 'const UNKNOWN_PENALTY = 10;',
    becomes: 'const UNKNOWN_PENALTY = -50;',
  },
  {
    ...WORDPIECE,
    part: 'wordpiece',
    breaks: 'the shortest piece is taken',
    line: 'if (id !== -1) {',
    becomes: 'if (id !== -1 && best === -1) {',
  },
  {
    ...WORDPIECE,
    part: 'wordpiece',
    breaks: 'pieces inside a word carry no prefix',
    line: 'let node = start > 0 ? inside : 0;',
    becomes: 'let node = 0;',
  },
  {
    ...WORDPIECE,
    part: 'wordpiece',
    breaks: 'a word that cannot be cut to its end keeps its beginning',
    line: 'if (start < word.length) { onPiece(unknown, 0, word.length);',
    becomes: 'if (start < word.length && found.length === 0) { onPiece(unknown, 0, word.length);',
  },
  {
    ...BERT,
    part: 'bert text',
    breaks: 'accents stay',
    line: "return whole.join('').replace(allMarks, '');",
    becomes: "return whole.join('');",
  },
  {
    ...BERT,
    part: 'bert text',
    breaks: 'Chinese characters are no words of their own',
    line: 'if (options.chinese && chinese.test(text))',
    becomes: 'if (options.chinese && text.length > 9)',
  },
  {
    ...BERT,
    part: 'bert text',
    breaks: 'a punctuation mark belongs to the word before it',
    line: 'if (kind === ALONE) onWord(at, next);',
    becomes: '',
  },
  {
    ...PATTERN,
    part: 'pattern',
    file: 'web/lib/tokenizer/pattern/pattern_program.js',
    breaks: 'a lazy repetition goes nowhere',
    line: "for (const split of splits) split[greedy ? 'y' : 'x'] = steps.length;",
    becomes: "for (const split of splits) split[greedy ? 'y' : 'y'] = steps.length;",
  },
  {
    ...PATTERN,
    part: 'pattern',
    file: 'web/lib/tokenizer/pattern/pattern_program.js',
    breaks: 'a negative look is a positive one',
    line: 'testOf(part.set), negative ? 0 : 1);',
    becomes: 'testOf(part.set), 1);',
  },
  {
    ...PATTERN,
    part: 'pattern',
    breaks: 'looking back sees what stands before the text',
    test: 'tests/lib/tokenizer/parts.test.js',
    line: 'if (at <= from) return false;',
    becomes: 'if (at <= 0) return false;',
  },
  {
    ...PATTERN,
    part: 'pattern',
    breaks: 'choices of one find are taken for tried in the next',
    test: 'tests/lib/tokenizer/parts.test.js',
    line: 'else tried.fill(0, 0, bytes);',
    becomes: '',
  },
  {
    ...STEPS,
    part: 'decoder steps',
    breaks: 'a character is shown before its bytes are complete',
    line: 'if (pending.length < wanted) return before;',
    becomes: 'if (pending.length < wanted - 1) return before;',
  },
  {
    ...STEPS,
    part: 'decoder steps',
    breaks: 'bytes that are no character vanish',
    line: 'return bytes.map(() => BAD);',
    becomes: 'return [];',
  },
  {
    ...STEPS,
    part: 'decoder steps',
    breaks: 'the second piece is the first again',
    test: 'tests/lib/tokenizer/parts.test.js',
    line: 'const mapped = map(piece, first); first = false;',
    becomes: 'const mapped = map(piece, first);',
  },
];
