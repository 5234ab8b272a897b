/** The page's sentence for a server that fell silent is about the server, and that for a silent worker about the worker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QkvError } from 'qkv';
import '../fresh_dist.js';
import { troubleOf } from '../../web/page/troubles.js';

test('a file that did not come in time is a trouble of the network, a worker that hangs is none', () => {
  const late = troubleOf(new QkvError('timeout', 'https://host/m/model.safetensors: no answer'));
  assert.deepEqual([late.key, late.values.file], ['errorNetwork', 'model.safetensors']);
  assert.equal(troubleOf(new QkvError('timeout', 'The worker did not answer and was stopped')).key, 'errorCrash');
});
