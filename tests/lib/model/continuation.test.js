/** Text and places of generated tokens: as if the tokenizer had cut the whole text into these tokens. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createContinuation } from '../../../web/lib/model/continuation.js';
import { createTokenizer } from '../../../web/lib/tokenizer/index.js';
import { inTree, seeded } from '../../api/golden.js';
import { goldenTokenizer } from '../tokenizer/golden_tokenizer.js';

/** @param {string} name */
function tokenizerOf(name) {
  const json = JSON.parse(readFileSync(inTree(`tests/golden/tokenizers/${name}.json`), 'utf8'));
  return createTokenizer(json, { vocab: 300_000, maxTokens: 4096 });
}

/**
 * Encodes a text, takes the first tokens as the prompt and adds the others one by one.
 * @param {string} name
 * @param {string} text
 * @param {number} count tokens of the prompt
 */
function continued(name, text, count) {
  const tokenizer = tokenizerOf(name);
  const { ids, typeIds, tokens } = tokenizer.encode(text);
  const given = tokens.slice(0, count);
  const prompt = { ids: ids.slice(0, count), typeIds: typeIds.slice(0, count), tokens: given, truncated: null };
  const continuation = createContinuation({ ...prompt, text: text.slice(0, given[count - 1].end) }, tokenizer);
  const pieces = tokens.slice(count).map(({ id }, index, rest) => continuation.add(id, index === rest.length - 1));
  return { continuation, pieces, given, tokens, tokenizer };
}

const TEXT = 'The old mill, by the river: 注意 café, 12 naïve 🤖 robots!';

for (const name of ['smollm2', 'qwen2', 'llama2', 'llama3', 'mistral', 'gemma', 'o200k']) {
  test(`${name}: pieces make the rest of the text, and tokens lie where the whole text has them`, () => {
    const { length } = tokenizerOf(name).encode(TEXT).tokens;
    for (let count = 1; count < length; count++) {
      const { continuation, pieces, given, tokens } = continued(name, TEXT, count);
      const end = given[count - 1].end;
      // A prompt that ends within a character has all of it; its other bytes come again.
      if (tokens[count].start < end) continue;
      assert.equal(pieces.join(''), TEXT.slice(end));
      assert.equal(continuation.text(), TEXT.slice(end));
      assert.deepEqual(
        continuation.tokens.map(({ id, text, start, end: to, special }) => ({ id, text, start, to, special })),
        tokens.slice(count).map(({ id, text, start, end: to, special }) => ({ id, text, start, to, special })),
      );
    }
  });
}

test('bytes of a character that never comes are shown as such at the end', () => {
  const tokenizer = tokenizerOf('gpt2');
  const [first] = tokenizer.encode('🤖').ids;
  const prompt = { ...tokenizer.encode('The'), text: 'The' };
  const continuation = createContinuation(prompt, tokenizer);
  assert.equal(continuation.add(first, false), '');
  assert.match(continuation.add(first, true), /^\ufffd+$/);
  assert.equal(continuation.text(), tokenizer.decode([first, first]));
  const text = continuation.text() ?? '';
  assert.deepEqual(
    continuation.tokens.map(({ start, end }) => [start, end]),
    [
      [3, 4],
      [3, 3 + text.length],
    ],
  );
});

test('words go on where the prompt stops and end at spaces, digits and signs', () => {
  const { continuation, tokens } = continued('gpt2', 'unbelievable 12 robots! and so', 1);
  const words = continuation.tokens.map(({ text, word }) => [text, word]);
  assert.deepEqual(
    words,
    tokens.slice(1).map(({ text, word }) => [text, word]),
  );
});

test('special tokens add no text and belong to no word', () => {
  const tokenizer = tokenizerOf('smollm2');
  const special = tokenizer.encode('<|endoftext|>').ids[0];
  assert.ok(tokenizer.isSpecial(special));
  const continuation = createContinuation({ ...tokenizer.encode('Hello'), text: 'Hello' }, tokenizer);
  assert.equal(continuation.add(special, true), '');
  const [token] = continuation.tokens;
  assert.deepEqual([token.word, token.start, token.end, token.special], [null, 5, 5, true]);
  assert.equal(token.text, '<|endoftext|>');
});

test('behind a pair, places count in the second text', () => {
  const tokenizer = tokenizerOf('gpt2');
  const pair = tokenizer.encode('One', 'Two');
  const continuation = createContinuation({ ...pair, text: 'Two' }, tokenizer);
  assert.equal(continuation.add(tokenizer.encode(' the').ids[0], true)[0], ' ');
  const [token] = continuation.tokens;
  assert.deepEqual([token.start, token.segment], [3, 1]);
});

test('without a tokenizer there is no text, and bare ids begin at 0', () => {
  const place = /** @type {const} */ ({ segment: 0, sequence: 0, side: 'source', special: false });
  const token = { id: 5, text: '#5', word: 0, start: 0, end: 0, ...place };
  const prompt = { ids: Int32Array.of(5), typeIds: Int32Array.of(0), tokens: [token], truncated: null, text: '' };
  const continuation = createContinuation(prompt, null);
  assert.equal(continuation.add(7, true), '');
  assert.equal(continuation.text(), null);
  assert.deepEqual(continuation.tokens, [{ id: 7, text: '#7', word: null, start: 0, end: 0, ...place }]);
});

for (const name of ['llama2', 'gemma', 'unigram_bytes', 'gpt2', 'mpnet']) {
  test(`${name}: behind any ids, any ids say together what decoding says, and stand in order`, () => {
    const tokenizer = goldenTokenizer(name);
    const random = seeded(9);
    const pick = (/** @type {number} */ count) => Math.floor(random() * count);
    const some = () => (random() < 0.6 ? pick(300) : pick(4096));
    const { ids, typeIds, tokens } = tokenizer.encode('The');
    for (let round = 0; round < 1000; round++) {
      const prompt = { ids, typeIds, tokens, truncated: null, text: 'The' };
      const continuation = createContinuation(prompt, tokenizer);
      const added = Array.from({ length: 1 + pick(9) }, some);
      const told = added.map((id, index) => continuation.add(id, index === added.length - 1)).join('');
      const whole = tokenizer.decode([...ids, ...added]);
      assert.equal(told, whole.slice(tokenizer.decode(ids).length), `${added}`);
      assert.equal(continuation.text(), told);
      let at = 3;
      for (const { start, end } of continuation.tokens) {
        assert.ok(start >= at && end >= start && end <= 3 + told.length, `${added}: ${start} to ${end} behind ${at}`);
        at = start;
      }
    }
  });
}

test('a prompt that ends in byte pieces keeps its text for itself', () => {
  const tokenizer = goldenTokenizer('llama2');
  const { ids, typeIds, tokens } = tokenizer.encode('👍');
  const continuation = createContinuation({ ids, typeIds, tokens, truncated: null, text: '👍' }, tokenizer);
  assert.equal(continuation.add(tokenizer.idOf('b') ?? -1, true), 'b');
  assert.deepEqual([continuation.tokens[0].start, continuation.tokens[0].end], [2, 3]);
});

test('a character of byte pieces is known before it is told, and told where nothing follows', () => {
  const tokenizer = goldenTokenizer('llama2');
  const prompt = { ...tokenizer.encode('The'), text: 'The' };
  const byte = (/** @type {string} */ piece) => tokenizer.idOf(piece) ?? -1;
  const continuation = createContinuation(prompt, tokenizer);
  assert.equal(continuation.add(byte('<0x0A>'), false), '');
  assert.equal(continuation.ahead(), '\n');
  assert.equal(continuation.end(), '\n');
  assert.equal(continuation.ahead(), '');
  continuation.cut(0);
  assert.deepEqual([continuation.tokens[0].start, continuation.tokens[0].end], [3, 3]);
  const spoiled = createContinuation(prompt, tokenizer);
  for (const piece of ['<0xFF>', '<0x0A>']) spoiled.add(byte(piece), false);
  assert.equal(spoiled.ahead(), '');
});

test('a token costs the same behind a long text as behind a short one', () => {
  const tokenizer = tokenizerOf('gpt2');
  const { ids, typeIds, tokens } = tokenizer.encode('The');
  const following = tokenizer.encode(' old mill by the river'.repeat(100)).ids;
  /** Milliseconds, the least of several rounds. @param {number} length */
  const timeBehind = (length) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      const continuation = createContinuation(
        { ids, typeIds, tokens, truncated: null, text: 'a'.repeat(length) },
        tokenizer,
      );
      const start = performance.now();
      for (const id of following) continuation.add(id, false);
      least = Math.min(least, performance.now() - start);
    }
    return least;
  };
  const [short, long] = [timeBehind(10), timeBehind(2_000_000)];
  assert.ok(long < 10 * short, `${long / short} times as long`);
});
