/** Runs a target in a thread of its own with little memory, and ends it when one input computes without end. */
import { Worker } from 'node:worker_threads';

/** @typedef {import('./campaign.js').Plan} Plan */
/** @typedef {import('./campaign.js').Report} Report */
/** @typedef {{ report: Report | null, stopped: string | null, input: Uint8Array }} Watched stopped: why, with the input at fault */

const LONGEST_INPUT = 1 << 22;
const LOOK_EVERY = 500;
/** Of computing for one input, in microseconds: far above what one may take, for that is told in a better way. */
const ENDLESS = 60e6;
const MEGABYTES = 400;

/** @param {string} target @param {Plan} plan @returns {Promise<Watched>} */
export function runWatched(target, plan) {
  const count = new Int32Array(new SharedArrayBuffer(8));
  const shown = new Uint8Array(new SharedArrayBuffer(LONGEST_INPUT));
  const worker = new Worker(new URL('fuzz_worker.js', import.meta.url), {
    workerData: { target, plan, count, shown },
    resourceLimits: { maxOldGenerationSizeMb: MEGABYTES },
  });
  return new Promise((resolve) => {
    let known = -1;
    let since = process.cpuUsage();
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(since);
      if (count[0] !== known) {
        known = count[0];
        since = process.cpuUsage();
      } else if (user + system > ENDLESS) end(null, 'computes without end');
    }, LOOK_EVERY);
    /** @param {Report | null} report @param {string | null} stopped */
    const end = (report, stopped) => {
      clearInterval(timer);
      resolve({ report, stopped, input: shown.slice(0, count[1]) });
      worker.terminate();
    };
    worker.once('message', (report) => end(report, null));
    worker.once('error', (error) => end(null, String(error instanceof Error ? (error.stack ?? error) : error)));
  });
}
