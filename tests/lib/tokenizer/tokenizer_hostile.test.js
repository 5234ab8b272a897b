import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { expectError } from '../expect_error.js';
import { GOLDEN_TOKENIZERS, goldenJson } from './golden_tokenizer.js';

/** @typedef {Record<string, any>} Json */

const VOCAB = 4096;
/** @param {string} name @param {(json: Json) => unknown} change */
function changed(name, change) {
  const json = goldenJson(name);
  change(json);
  return createTokenizer(json, { vocab: VOCAB, maxTokens: 1000 });
}
/** @param {string} path keys with dots between them @param {unknown} value undefined takes the key out */
const put = (path, value) => (/** @type {Json} */ json) => {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const parent = keys.reduce((node, key) => node[key], json);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
};
const split = (/** @type {unknown} */ pattern, behavior = 'Isolated') => ({ type: 'Split', pattern, behavior });

/** @type {[string, string, (json: Json) => unknown, RegExp][]} */
const REFUSED = [
  ['gpt2', 'merges that are no list', put('model.merges', {}), /model\.merges: got "an object", want a list/],
  ['gpt2', 'no merges', put('model.merges', undefined), /model\.merges: got "nothing"/],
  [
    'gpt2',
    'a merge of one piece',
    put('model.merges.3', ['a']),
    /model\.merges\[3\]: got "a list of 1", want two pieces/,
  ],
  ['gpt2', 'a merge of numbers', put('model.merges.3', [1, 2]), /model\.merges\[3\]/],
  [
    'gpt2',
    'a merge joined by a no-break space',
    put('model.merges.3', 'a\u00a0b'),
    /model\.merges\[3\]: got "a\u00a0b"/,
  ],
  ['gpt2', 'a merge with two spaces', put('model.merges.3', 'a b c'), /model\.merges\[3\]: got "a b c"/],
  ['gpt2', 'a merge of strangers', put('model.merges.3', ['☃', 'a']), /model\.merges\[3\]: got "☃", want pieces/],
  ['gpt2', 'a merge that becomes a stranger', put('model.merges.3', ['q', 'q']), /model\.merges\[3\]: got "qq"/],
  ['gpt2', 'dropout', put('model.dropout', 0.1), /model\.dropout: got 0\.1, want null or 0/],
  ['gpt2', 'an unknown token that is no piece', put('model.unk_token', '☃'), /model\.unk_token: got "☃"/],
  [
    'gpt2',
    'a flag in quotes',
    put('model.byte_fallback', 'true'),
    /model\.byte_fallback: got "true", want true or false/,
  ],
  ['gpt2', 'a vocabulary beyond the table', put('model.vocab.the', VOCAB), /model\.vocab\["the"\]: got 4096/],
  ['t5', 'an empty vocabulary', put('model.vocab', []), /model\.vocab: got "0 tokens", want 1 to 4096/],
  ['t5', 'a vocabulary beyond the table', put('model.vocab', Array(5000).fill(['a', 0])), /got "5000 tokens"/],
  ['t5', 'a vocabulary that is no list', put('model.vocab', {}), /model\.vocab: got "an object"/],
  ['t5', 'a piece without score', put('model.vocab.7', ['a']), /model\.vocab\[7\]\[1\]: got "nothing", want a score/],
  ['t5', 'an infinite score', put('model.vocab.7', ['a', Infinity]), /model\.vocab\[7\]\[1\]: got Infinity/],
  ['t5', 'a piece that is no text', put('model.vocab.7', [5, 0]), /model\.vocab\[7\]\[0\]: got 5, want a string/],
  [
    't5',
    'an endless piece',
    put('model.vocab.7', ['a'.repeat(5000), 0]),
    /model\.vocab\[7\]\[0\]: got "5000 characters"/,
  ],
  ['t5', 'no unknown id', put('model.unk_id', undefined), /model\.unk_id: got "nothing", want a whole number/],
  ['t5', 'an unknown id beyond the pieces', put('model.unk_id', 9999), /model\.unk_id: got 9999/],
  [
    't5',
    'a charsmap that is no base64',
    put('normalizer.precompiled_charsmap', '☃'),
    /precompiled_charsmap.*want base64/,
  ],
  ['t5', 'a charsmap of four bytes', put('normalizer.precompiled_charsmap', 'AAAAAA=='), /want a charsmap/],
  ['t5', 'a charsmap longer than it is', put('normalizer.precompiled_charsmap', '////fwAA'), /want a charsmap/],
  [
    't5',
    'two marks',
    put('pre_tokenizer.replacement', '▁▁'),
    /pre_tokenizer\.replacement: got "▁▁", want one character/,
  ],
  ['t5', 'no known scheme', put('pre_tokenizer.prepend_scheme', 'last'), /got "last", want always, first, never/],
  [
    'gpt2',
    'a pattern that hangs',
    put('pre_tokenizer', split({ Regex: '(a*)+$' })),
    /pattern\.Regex: got .*\(a\*\)\+\$/,
  ],
  ['gpt2', 'a pattern of no kind', put('pre_tokenizer', split({})), /pre_tokenizer\.pattern\.Regex: got "nothing"/],
  [
    'gpt2',
    'no known behaviour',
    put('pre_tokenizer', split({ String: 'a' }, 'Eaten')),
    /behavior: got "Eaten", want Isol/,
  ],
  [
    'gpt2',
    'a hundred steps',
    put('pre_tokenizer', { type: 'Sequence', pretokenizers: Array(100).fill({ type: 'Digits' }) }),
    /at most 64/,
  ],
  ['gpt2', 'an unknown decoder', put('decoder.type', 'CTC'), /decoder\.type: got "CTC", want one of ByteLevel/],
  [
    'gemma',
    'a decoder without pattern',
    put('decoder.decoders.0', { type: 'Replace' }),
    /decoders\[0\]\.pattern: got "nothing"/,
  ],
  [
    'gemma',
    'a strip without count',
    put('decoder.decoders.0', { type: 'Strip', content: ' ' }),
    /decoders\[0\]\.start/,
  ],
  [
    'roberta',
    'a separator beyond the table',
    put('post_processor.sep', ['</s>', 5000]),
    /post_processor\.sep\[1\]: got 5000/,
  ],
  [
    'llama3',
    'two templates',
    (json) => json.post_processor.processors.push(json.post_processor.processors[1]),
    /only one template/,
  ],
];

for (const [name, what, change, message] of REFUSED) {
  test(`refused: a tokenizer.json like ${name} with ${what}`, async () => {
    const error = await expectError(() => changed(name, change), 'tokenizer', message);
    assert.ok(error.message.startsWith('tokenizer.json: '));
  });
}

test('a file that makes a text endlessly longer is stopped, in whichever part it does so', async () => {
  const longer = { type: 'Replace', pattern: { String: 'a' }, content: 'a'.repeat(1000) };
  const bomb = put('normalizer', { type: 'Sequence', normalizers: Array(8).fill(longer) });
  await expectError(() => changed('gpt2', bomb).encode('a'.repeat(1000)), 'text', /as tokenizer\.json rewrites it/);
  // One letter is refused after some thousand units, not after millions.
  await expectError(() => changed('gpt2', bomb).encode('a'), 'text', /at most 4352 characters/);
  const twice = put('normalizer', { type: 'Sequence', normalizers: [longer, longer] });
  const many = changed('llama3', twice);
  await expectError(() => many.encode('a<|eot_id|>'.repeat(1000)), 'text', /rewrites it|asks for/);
  const bytes = put('pre_tokenizer', { type: 'Sequence', pretokenizers: Array(60).fill({ type: 'ByteLevel' }) });
  await expectError(() => changed('gpt2', bytes).encode('é'.repeat(1000)), 'text', /rewrites it|asks for/);
  const added = (/** @type {Json} */ json) => {
    put('normalizer', longer)(json);
    json.added_tokens.push({ id: 4000, content: 'aa', normalized: true });
  };
  await expectError(() => changed('gpt2', added), 'tokenizer', /the added token aa, normalised: got "2000 characters"/);
});

test('a file with any one value changed is read or refused, and then gives ids of the table', () => {
  const files = Object.values(GOLDEN_TOKENIZERS).flatMap((names) => names.slice(0, 2));
  const odd = fc.constantFrom(null, -1, 0, 1.5, 2 ** 31, 'x', '', '▁', true, [], {}, ['a'], [['a', 0]], {
    type: 'Sequence',
  });
  const jsons = new Map(files.map((name) => [name, JSON.stringify(goldenJson(name))]));
  const property = fc.property(
    fc.constantFrom(...files),
    fc.array(fc.nat(30), { maxLength: 5 }),
    odd,
    (name, path, value) => {
      const json = JSON.parse(jsons.get(name) ?? '');
      let node = json;
      for (const [depth, step] of path.entries()) {
        const keys = Object.keys(node);
        const key = keys[step % keys.length];
        if (
          depth === path.length - 1 ||
          typeof node[key] !== 'object' ||
          node[key] === null ||
          Object.keys(node[key]).length === 0
        ) {
          node[key] = value;
          break;
        }
        node = node[key];
      }
      try {
        const tokenizer = createTokenizer(json, { vocab: VOCAB, maxTokens: 100 });
        const { ids } = tokenizer.encode('a <mask> é漢 1\n');
        assert.ok(ids.every((id) => id >= 0 && id < VOCAB));
        tokenizer.decode(ids);
      } catch (error) {
        const { name: kind, message } = /** @type {Error} */ (error);
        assert.equal(kind, 'QkvError', message);
      }
    },
  );
  fc.assert(property, { seed: 3, numRuns: 300 });
});
