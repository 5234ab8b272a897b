/** What the page and the library say of memory that is short, where a size is beyond counting. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryError } from '../../web/lib/engine/failures.js';
import { shortage } from '../../web/page/words/memory.js';
import { translateTo } from '../../web/page/words/translate.js';

const FREE = 4_294_967_295;

test('a size that can be counted is said, the least of several', () => {
  const said = shortage(translateTo('en'), 'en', [9e9, 6.5e9, Infinity], FREE);
  assert.equal(said, 'There is not enough memory: 6,500 MB are needed, 4,295 MB are free.');
});

test('a size that cannot be counted is not said to be infinite', () => {
  for (const language of /** @type {const} */ (['en', 'zh'])) {
    for (const sizes of [[], [Infinity], [Number.NaN]]) {
      const said = shortage(translateTo(language), language, sizes, FREE);
      assert.match(said, /4,295 MB/);
      assert.doesNotMatch(said, /∞|Infinity|NaN|\{/);
    }
  }
  for (const needed of [Infinity, Number.NaN, 2 ** 32 - 1]) {
    const { message, want } = memoryError('model', needed, FREE);
    assert.match(message, /It needs more than 4 GiB and 4295\.0 MB are available\./);
    assert.doesNotMatch(`${message} ${want}`, /∞|Infinity|NaN/);
  }
});
