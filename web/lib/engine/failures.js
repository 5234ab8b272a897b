/** What the engine says went wrong, as errors: its statuses, and memory that is short. */

import { QkvError } from '../checks/errors.js';
import { LARGEST_MEMORY } from './instance.js';

/** @typedef {import('../checks/errors.js').ErrorCode} ErrorCode */
/** @typedef {ReturnType<typeof createFailures>} Failures */

/**
 * @param {object} parts
 * @param {(name: string, ...args: number[]) => number} parts.call
 * @param {import('./heap.js').Heap} parts.heap
 * @param {Map<number, string>} parts.statuses
 * @param {number} parts.limit ceiling for linear memory in bytes, 0 = none
 * @param {(subject: string, hasTrapped: boolean) => QkvError} parts.loseThread
 */
export function createFailures({ call, heap, statuses, limit, loseThread }) {
  const ceiling = limit > 0 ? Math.min(limit, LARGEST_MEMORY) : LARGEST_MEMORY;
  const available = () => Math.max(0, ceiling - (call('qkv_heap_used') >>> 0));

  /**
   * @param {string} subject
   * @param {number} needed bytes
   * @param {number} largest bytes of the largest free block that is reserved already
   */
  function shortage(subject, needed, largest) {
    const left = available();
    if (needed > left) return memoryError(subject, needed, left);
    // The count would allow it: either no gap is large enough, or the machine gave less than the ceiling.
    if (heap.size() + needed > ceiling)
      return memoryError(subject, needed, left, 'though in pieces that are too small');
    return memoryError(subject, needed, largest, 'since the machine gives no more');
  }

  /**
   * Throws what the engine says went wrong.
   * @param {string} subject the call or thing, for the sentence
   * @returns {never}
   */
  function fail(subject) {
    const at = call('qkv_last_error');
    const code = /** @type {ErrorCode | 'thread' | 'handle'} */ (
      statuses.get(heap.readInt32(at, 1)[0])?.toLowerCase() ?? 'state'
    );
    const what = heap.readText(heap.readInt32(at + 4, 1)[0]);
    const got = heap.readFloat64(at + 8);
    const want = heap.readFloat64(at + 16);
    if (code === 'memory') throw shortage(subject, want, got);
    if (code === 'thread') throw loseThread(subject, got !== 0);
    if (code === 'handle') throw new QkvError('disposed', `${subject}: ${what}`, { got });
    throw new QkvError(code, `${subject}: ${what}`, { got, want });
  }

  return {
    /** Bytes a model or run may still take. */
    available,

    /**
     * @param {string} subject
     * @param {number} status
     */
    check(subject, status) {
      if (status !== 0) fail(subject);
    },

    /**
     * @param {string} subject
     * @param {number} result a pointer or a size, 0 = failed
     */
    nonZero: (subject, result) => (result === 0 ? fail(subject) : result),
  };
}

/**
 * @param {string} subject
 * @param {number} needed bytes; what 32 bits cannot count comes from the engine as their largest number
 * @param {number} available bytes
 * @param {string} [why] in spite of these numbers, or how they come about
 */
export function memoryError(subject, needed, available, why = '') {
  const isCounted = Number.isFinite(needed) && needed !== LARGEST_MEMORY - 1;
  const need = isCounted ? megabytes(needed) : 'more than 4 GiB';
  return new QkvError('memory', `${subject}: bytes of memory`, {
    got: available,
    want: isCounted ? needed : `more than ${LARGEST_MEMORY - 1}`,
    fix: `It needs ${need} and ${megabytes(available)} are available${why && `, ${why}`}.`,
  });
}

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
