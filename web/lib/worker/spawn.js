/** Starts worker.js in a browser or in Node, behind one interface. */

import { workerAddress } from '../addresses.js';
import { QkvError } from '../checks/errors.js';
import { trusted } from '../engine/script_address.js';
import { shownAddress } from '../sources/address.js';

/** @typedef {import('./protocol.js').ToClient} ToClient */
/** @typedef {{ onMessage: (message: ToClient) => void, onFailure: (what: string, cause?: unknown) => void }} Handlers */
/**
 * Something to talk to; `hold` keeps a Node process alive while answers are due, `release` lets it end.
 * @typedef {object} Spawned
 * @property {Worker | import('node:worker_threads').Worker} port
 * @property {() => void} end
 * @property {() => void} hold
 * @property {() => void} release
 */

/**
 * @param {Handlers} handlers
 * @returns {Spawned}
 */
export function spawnWorker(handlers) {
  const address = workerAddress();
  try {
    return typeof Worker === 'function' ? inBrowser(address, handlers) : inNode(address, handlers);
  } catch (cause) {
    const fix = 'Use loadModel(source, { worker: false }) to compute in this thread.';
    throw new QkvError('worker', `The worker ${shownAddress(address)} cannot be started`, { fix, cause });
  }
}

/**
 * @param {URL} address
 * @param {Handlers} handlers
 * @returns {Spawned}
 */
function inBrowser(address, { onMessage, onFailure }) {
  const worker = new Worker(trusted(address), { type: 'module', name: 'qkv' });
  worker.onmessage = ({ data }) => onMessage(data);
  worker.onerror = (event) => {
    event.preventDefault();
    onFailure(event.message || `${shownAddress(address)} did not load`, event.error);
  };
  worker.onmessageerror = () => onFailure('a message could not be read');
  return { port: worker, end: () => worker.terminate(), hold: () => {}, release: () => {} };
}

/**
 * @param {URL} address
 * @param {Handlers} handlers
 * @returns {Spawned}
 */
function inNode(address, { onMessage, onFailure }) {
  const { Worker: NodeWorker } = process.getBuiltinModule('node:worker_threads');
  // Options of the process are not for the worker: `node --input-type=module -e` would end it at once.
  const worker = new NodeWorker(address, { name: 'qkv', execArgv: [] });
  worker.on('message', onMessage);
  worker.on('error', (error) => onFailure(error.message, error));
  worker.on('messageerror', (error) => onFailure('a message could not be read', error));
  worker.on('exit', (code) => onFailure(`it ended with code ${code}`));
  return {
    port: worker,
    end: () => void worker.terminate(),
    hold: () => worker.ref(),
    release: () => worker.unref(),
  };
}
