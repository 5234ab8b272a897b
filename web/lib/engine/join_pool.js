/** The other end of pool.js: makes an instance over the shared memory and enters it, to stay inside until the pool is
 * closed. Nothing arrives as a message after that; regions of work are found in the memory. */

/**
 * @typedef {object} Joining
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} slot
 * @property {number} stack where the thread's own stack begins; it grows downwards
 */
/** @typedef {{ entering: number }} Entering the slot of a thread that is about to be inside */

/** Waits for the one message that this thread gets, of a browser or of Node. */
export function joinPool() {
  const port = globalThis.process?.getBuiltinModule?.('node:worker_threads')?.parentPort;
  if (port) {
    port.once('message', (joining) => enter(joining, (message) => port.postMessage(message)));
    return;
  }
  const scope = /** @type {Worker} */ (/** @type {unknown} */ (globalThis));
  scope.onmessage = ({ data }) => enter(data, (message) => scope.postMessage(message));
}

/**
 * @param {Joining} joining
 * @param {(message: Entering) => void} send
 */
function enter({ module, memory, slot, stack }, send) {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const {
    __stack_pointer: pointer,
    qkv_work: work,
    qkv_trapped: trapped,
  } = /** @type {Record<string, any>} */ (exports);
  pointer.value = stack;
  send({ entering: slot });
  try {
    work(slot);
  } catch (cause) {
    // Its share of the work will never be finished: the threads that wait for it are told at once.
    trapped();
    throw cause;
  }
}
