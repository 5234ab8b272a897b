/** Errors that nobody catches, while something is done: they fail it. */
import assert from 'node:assert/strict';

/**
 * @template T
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withoutStrays(action) {
  /** @type {unknown[]} */
  const strays = [];
  const take = (/** @type {unknown} */ error) => void strays.push(error);
  process.on('uncaughtException', take).on('unhandledRejection', take);
  try {
    return await action();
  } finally {
    // They are told a turn later.
    for (let i = 0; i < 2; i++) await turn();
    process.off('uncaughtException', take).off('unhandledRejection', take);
    assert.deepEqual(strays.map(traceOf), [], 'errors that nobody catches');
  }
}

/** @param {unknown} error */
const traceOf = (error) => String(error instanceof Error ? error.stack : error);

/** @returns {Promise<void>} */
export const turn = () => new Promise((done) => setImmediate(done));
