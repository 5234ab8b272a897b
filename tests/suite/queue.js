/** Runs jobs side by side, the longest first; a job waits for the one it comes after. */

/** @typedef {import('./parts.js').Job} Job */
/** @typedef {{ passed: number, failed: number, seconds: number, output: string }} Result */

/**
 * The seconds until all that waits for a job is done, were there cores enough.
 * @param {Job} job
 * @param {Job[]} jobs
 * @param {(job: Job) => number} secondsOf
 */
function lengthOf(job, jobs, secondsOf) {
  const waiting = jobs.filter(({ after }) => after === job.name).map(secondsOf);
  return secondsOf(job) + waiting.reduce((sum, seconds) => sum + seconds, 0);
}

/**
 * @param {Job[]} jobs
 * @param {object} options
 * @param {number} options.slots how many run at a time
 * @param {(job: Job) => number} options.secondsOf how long a job will take, roughly
 * @param {(job: Job) => Promise<Result>} options.run never rejects
 * @param {(job: Job) => void} options.onStart
 * @param {(job: Job, result: Result) => void} options.onEnd
 * @returns {Promise<void>}
 */
export async function runQueue(jobs, { slots, secondsOf, run, onStart, onEnd }) {
  const waiting = jobs.toSorted((a, b) => lengthOf(b, jobs, secondsOf) - lengthOf(a, jobs, secondsOf));
  /** @type {Set<Promise<void>>} */
  const running = new Set();
  /** @type {Map<string, Result>} */
  const results = new Map();

  const end = (/** @type {Job} */ job, /** @type {Result} */ result) => {
    results.set(job.name, result);
    onEnd(job, result);
  };
  const start = async (/** @type {Job} */ job) => {
    onStart(job);
    end(job, await run(job));
  };
  const names = new Set(jobs.map(({ name }) => name));
  const isReady = (/** @type {Job} */ { after }) => after === undefined || !names.has(after) || results.has(after);

  while (waiting.length > 0 || running.size > 0) {
    for (let at = waiting.findIndex(isReady); at >= 0 && running.size < slots; at = waiting.findIndex(isReady)) {
      const [job] = waiting.splice(at, 1);
      if (job.after !== undefined && (results.get(job.after)?.failed ?? 0) > 0) {
        end(job, {
          passed: 0,
          failed: 1,
          seconds: 0,
          output: `not run, because it comes after ${job.after}, which failed\n`,
        });
        continue;
      }
      const promise = start(job).finally(() => running.delete(promise));
      running.add(promise);
    }
    if (running.size > 0) await Promise.race(running);
    else if (waiting.length > 0 && !waiting.some(isReady)) throw new Error(`${waiting[0].name} waits for itself`);
  }
}
