/** What generation_config.json says: what is followed, what is refused, and what a note is made of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generationNotes, readStops, readSuppressed } from '../../../web/lib/loading/generation.js';
import { expectError } from '../expect_error.js';

/** @param {Record<string, unknown>} config */
const labelled = (config) => ({ config, label: 'm/generation_config.json' });
const own = { config: { eos_token_id: 1 }, label: 'm/config.json' };

test('ids that end a text: one, several or none, of the more particular file first', () => {
  assert.deepEqual(readStops([labelled({ eos_token_id: [2, 7, 2, 90] }), own], 50), [2, 7]);
  assert.deepEqual(readStops([labelled({ eos_token_id: null }), own], 50), []);
  assert.deepEqual(readStops([labelled({}), own], 50), [1]);
  assert.deepEqual(readStops([own], 50), [1]);
});

test('ids that are suppressed: always, and as the first new token', () => {
  const file = labelled({ suppress_tokens: [3, 4, 4, 99, -1], begin_suppress_tokens: [5] });
  assert.deepEqual(readSuppressed(file, 50), { always: [3, 4], first: [5] });
  assert.deepEqual(readSuppressed(labelled({ suppress_tokens: null }), 50), { always: [], first: [] });
  assert.deepEqual(readSuppressed(null, 50), { always: [], first: [] });
});

test('ids that are none are refused by the name of the key', async () => {
  for (const key of ['suppress_tokens', 'begin_suppress_tokens']) {
    for (const bad of ['3', [1.5], [null], {}, [[3]], true]) {
      await expectError(
        () => readSuppressed(labelled({ [key]: bad }), 50),
        'config',
        new RegExp(`generation_config.json: ${key}: got`),
      );
    }
  }
});

test('what changes the choice of tokens and is not followed is noted, what changes nothing is not', () => {
  const keys = [
    'repetition_penalty',
    'no_repeat_ngram_size',
    'bad_words_ids',
    'forced_eos_token_id',
    'min_new_tokens',
    'num_beams',
  ];
  const config = {
    repetition_penalty: 1.1,
    no_repeat_ngram_size: 3,
    bad_words_ids: [[1]],
    forced_eos_token_id: 2,
    min_new_tokens: 4,
    num_beams: 2,
  };
  const notes = generationNotes(labelled(config));
  assert.deepEqual(
    notes,
    keys
      .map((key) => `m/generation_config.json: generate does not follow ${key}`)
      .sort((a, b) => notes.indexOf(a) - notes.indexOf(b)),
  );
  const neutral = {
    repetition_penalty: 1,
    no_repeat_ngram_size: 0,
    bad_words_ids: null,
    num_beams: 1,
    do_sample: true,
    temperature: 0.6,
    top_p: 0.9,
    max_length: 4096,
    eos_token_id: 2,
  };
  assert.deepEqual(generationNotes(labelled(neutral)), []);
  assert.deepEqual(generationNotes(null), []);
});
