/** Linear maps in wasm memory: weights are uploaded once and packed there for the engine's kernels. */

import { memoryError } from '../engine/failures.js';

/** @typedef {import('../engine/core.js').Core} Core */

/**
 * y = x W^T + b.
 * @param {Core} core
 * @param {string} call
 * @param {import('./parameters.js').Linear} linear
 */
export function createLinear(core, call, { outputs, inputs, weight, bias }) {
  const bytes = (weight.length + outputs) * 4;
  if (2 * bytes > core.available()) throw memoryError(call, 2 * bytes, core.available());
  const map = core.withMemory(call, bytes, (at) => {
    const biasAt = at + weight.length * 4;
    core.heap.writeFloat32(at, weight);
    if (bias) core.heap.writeFloat32(biasAt, bias);
    return core.nonZero(call, core.call('qkv_map_new', outputs, inputs, at, bias ? biasAt : 0));
  });
  return {
    /**
     * @param {number} x address of [rows, inputs]
     * @param {number} rows
     * @param {number} y address of [rows, outputs]
     */
    apply: (x, rows, y) => core.check(call, core.call('qkv_map_apply', map, x, rows, y)),
    free() {
      if (core.isAlive()) core.call('qkv_map_free', map);
    },
  };
}
