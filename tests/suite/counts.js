/** How many checks a program's output tells of. */

const PATTERNS = {
  // The end of node:test's spec reporter; a test that was cancelled did not pass.
  passed: [/^\S+ pass (\d+)$/gm, /: (\d+) passed, \d+ failed$/gm, /: (\d+) checks$/gm],
  failed: [/^\S+ fail (\d+)$/gm, /^\S+ cancelled (\d+)$/gm, /: \d+ passed, (\d+) failed$/gm],
};

/**
 * @param {string} output
 * @returns {{ passed: number, failed: number }}
 */
export function countsOf(output) {
  const sum = (/** @type {RegExp[]} */ patterns) =>
    patterns.flatMap((pattern) => [...output.matchAll(pattern)]).reduce((total, match) => total + Number(match[1]), 0);
  return { passed: sum(PATTERNS.passed), failed: sum(PATTERNS.failed) };
}

/**
 * A job's verdict: what failed counts, and a job that failed without saying what, or that checked nothing, counts as one.
 * @param {{ status: number | null, output: string, isBuild?: boolean }} job
 */
export function verdictOf({ status, output, isBuild = false }) {
  const { passed, failed } = isBuild ? { passed: 0, failed: 0 } : countsOf(output);
  if (status !== 0) return { passed, failed: Math.max(failed, 1) };
  return { passed, failed: failed === 0 && passed === 0 && !isBuild ? 1 : failed };
}
