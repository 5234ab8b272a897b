/**
 * Holds code to a budget of computing time and of memory. Must be imported before the code it watches: it replaces the
 * constructors of buffers by ones that count, so that a length out of a file that is believed before it is checked shows
 * itself although the pages behind it are never touched.
 */

/** The part that does not depend on the input: the first look into tables, compiling. */
const FIXED = { microseconds: 4e6, onceBytes: 4e6, allBytes: 64e6 };
const PER_BYTE = { microseconds: 40, onceBytes: 64, allBytes: 4_000 };

let largest = 0;
let total = 0;

/** @param {unknown} first the first argument of a constructor @param {number} size bytes of an element */
function count(first, size) {
  const bytes = typeof first === 'number' ? first * size : 0;
  if (!(bytes > 0)) return;
  largest = Math.max(largest, bytes);
  total += bytes;
  if (bytes > 1e9) throw new Error(`asks for ${bytes} bytes at once`);
}

const COUNTED = /** @type {const} */ ([
  ...['ArrayBuffer', 'Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array'],
  ...['Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'],
]);

/** Counts from now on, in this thread. */
export function countBuffers() {
  for (const name of COUNTED) {
    const own = /** @type {Record<string, any>} */ (globalThis)[name];
    const size = own.BYTES_PER_ELEMENT ?? 1;
    /** @type {ProxyHandler<any>} */
    const handler = {
      construct(target, args, newTarget) {
        count(args[0], size);
        return Reflect.construct(target, args, newTarget === counting ? target : newTarget);
      },
    };
    const counting = new Proxy(own, handler);
    Object.assign(globalThis, { [name]: counting });
  }
}

/**
 * @template T
 * @param {number} inputBytes
 * @param {() => Promise<T>} action
 * @param {number} [start] microseconds that any input may take
 * @returns {Promise<{ value?: T, error?: unknown, microseconds: number, excess: string | null }>} excess: what was too much
 */
export async function measured(inputBytes, action, start = FIXED.microseconds) {
  largest = 0;
  total = 0;
  /** @type {{ value?: T, error?: unknown }} */
  const outcome = {};
  const before = process.cpuUsage();
  try {
    outcome.value = await action();
  } catch (error) {
    outcome.error = error;
  }
  const { user, system } = process.cpuUsage(before);
  const microseconds = user + system;
  return { ...outcome, microseconds, excess: excessOf(inputBytes, microseconds, start) };
}

/** @param {number} bytes @param {number} microseconds @param {number} start @returns {string | null} */
function excessOf(bytes, microseconds, start) {
  if (microseconds > start + PER_BYTE.microseconds * bytes) return 'takes too long';
  if (largest > FIXED.onceBytes + PER_BYTE.onceBytes * bytes) return `allocates ${largest} bytes at once`;
  if (total > FIXED.allBytes + PER_BYTE.allBytes * bytes) return `allocates ${total} bytes in all`;
  return null;
}
