/** Knows every worker that the library starts: counts those that live, and finds the one that computes for a model. */
import workerThreads from 'node:worker_threads';

/** @typedef {import('node:worker_threads').Worker} Worker */

/** @type {Set<Worker>} */
const living = new Set();
/** @type {Map<unknown, Worker>} by the source of the model, which the first message brings */
const bySource = new Map();

/** Puts a class that takes notes in the place of Node's. Must be called before a model is loaded. */
export function watchWorkers() {
  const Plain = workerThreads.Worker;
  class Watched extends Plain {
    /** @param {ConstructorParameters<typeof Plain>} args */
    constructor(...args) {
      super(...args);
      living.add(this);
      this.once('exit', () => living.delete(this));
    }

    /** @param {Parameters<Worker['postMessage']>} args */
    postMessage(...args) {
      const [message] = args;
      if (message?.method === 'load') bySource.set(message.args[0].source, this);
      super.postMessage(...args);
    }
  }
  workerThreads.Worker = Watched;
}

/** @param {unknown} source what loadModel was given @returns {Worker | null} */
export function workerOf(source) {
  const worker = bySource.get(source);
  return worker !== undefined && living.has(worker) ? worker : null;
}

export const livingWorkers = () => living.size;

/** For the next program, whatever this one left. */
export async function endWorkers() {
  await Promise.all([...living].map((worker) => worker.terminate()));
  bySource.clear();
}
