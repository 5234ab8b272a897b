/** The thread in which inputs run: shows each before it runs it, so that the one that hangs or takes all memory is known. */
import { parentPort, workerData } from 'node:worker_threads';
import { countBuffers } from './limits.js';

/** @type {{ target: string, plan: import('./campaign.js').Plan, count: Int32Array, shown: Uint8Array }} */
const { target: name, plan, count, shown } = workerData;

countBuffers();
// Imported behind that, since the library must not see the constructors as they were.
const [{ TARGETS }, { runCampaign }] = [await import('./targets.js'), await import('./campaign.js')];

const target = TARGETS.get(name);
if (target === undefined) throw new Error(`There is no target ${name}; there are ${[...TARGETS.keys()].join(', ')}.`);
const report = await runCampaign(target, plan, (bytes) => {
  shown.set(bytes.subarray(0, shown.length));
  count[1] = Math.min(bytes.length, shown.length);
  count[0]++;
});
parentPort?.postMessage(report);
