/** How work grows with its size, where it cannot be counted: by the processor time that two sizes take in one run. */
import assert from 'node:assert/strict';

/** Between linear and quadratic, for sizes 16 to 1: 16 and 256. */
const RATIO = 16;
const MOST = 100;

/** @param {() => unknown} action @returns {Promise<number>} microseconds of this process's processor time */
async function costOf(action) {
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/**
 * Sixteen times as much takes less than a hundred times as long, the best of several rounds counting: what grows with the
 * square takes 256 times as long. Processor time hardly minds what else the machine does.
 * @param {string} what
 * @param {(size: number) => unknown} work that takes some milliseconds for the size; may return a promise
 * @param {number} size the smaller one
 */
export async function assertAboutLinear(what, work, size) {
  let [small, large] = [Infinity, Infinity];
  for (let round = 0; round < 3; round++) {
    small = Math.min(small, await costOf(() => work(size)));
    large = Math.min(large, await costOf(() => work(RATIO * size)));
    if (large <= MOST * small) return;
  }
  assert.fail(`${what}: ${size} take ${small} microseconds, ${RATIO * size} take ${large}`);
}
