/** Starts thread.js in a browser or in Node, behind one interface. */

import { trusted } from './script_address.js';

/** @typedef {import('./join_pool.js').Entering} Entering */
/** @typedef {import('./join_pool.js').Joining} Joining */
/** @typedef {{ onMessage: (message: Entering) => void, onEnd: () => void }} Handlers */
/** @typedef {{ send: (message: Joining) => void, end: () => Promise<unknown>, release: () => void }} Thread end: settles when it is gone */

/**
 * @param {string} address
 * @param {Handlers} handlers
 * @returns {Thread}
 */
export function spawnThread(address, { onMessage, onEnd }) {
  if (typeof globalThis.process?.getBuiltinModule === 'function') {
    const { Worker: NodeWorker } = process.getBuiltinModule('node:worker_threads');
    // Options of the process are not for the thread: `node --input-type=module -e` would end it at once.
    const thread = new NodeWorker(new URL(address), { name: 'qkv-thread', execArgv: [] });
    thread.on('message', onMessage);
    thread.on('error', onEnd);
    thread.on('exit', onEnd);
    return {
      send: (message) => thread.postMessage(message),
      end() {
        // Until it is gone, or the process might end while somebody waits for that.
        thread.ref();
        return thread.terminate();
      },
      release: () => thread.unref(),
    };
  }
  const thread = new Worker(trusted(new URL(address)), { type: 'module', name: 'qkv-thread' });
  thread.onmessage = ({ data }) => onMessage(data);
  thread.onerror = (event) => {
    event.preventDefault();
    onEnd();
  };
  return {
    send: (message) => thread.postMessage(message),
    end: async () => thread.terminate(),
    release: () => {},
  };
}
