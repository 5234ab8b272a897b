import assert from 'node:assert/strict';
import { QkvError } from '../../web/lib/checks/errors.js';

/**
 * The one way in which tests say "this is refused": a QkvError with that code, whose message names what the reader needs.
 * @param {() => unknown} action may return a promise
 * @param {string} code
 * @param {RegExp} [message]
 * @returns {Promise<QkvError>}
 */
export async function expectError(action, code, message = /./) {
  try {
    await action();
  } catch (error) {
    assert.ok(error instanceof QkvError, `expected a QkvError, got ${error instanceof Error ? error.stack : error}`);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return error;
  }
  assert.fail(`expected the error ${code}, but it was accepted`);
}
