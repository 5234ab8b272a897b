/** What tests put in the place of thread.js: a thread of the engine that traps in its first part of the work, since its stack
 * begins at address 0, and either says so or is silent for ever. */
import { parentPort, workerData } from 'node:worker_threads';

parentPort?.once('message', ({ module, memory, slot }) => {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const {
    __stack_pointer: pointer,
    qkv_work: work,
    qkv_trapped: trapped,
  } = /** @type {Record<string, any>} */ (exports);
  pointer.value = 0;
  parentPort?.postMessage({ entering: slot });
  try {
    work(slot);
  } catch {
    if (workerData.isSilent) return;
    trapped();
  }
});
