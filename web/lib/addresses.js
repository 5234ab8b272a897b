/** Where the files beside the library are. Each address stays one literal expression, since that is how bundlers find such
 * files; and they stand here, at the root, because what npm gets is one folder. */

/** The script of a worker that holds a model. */
export const workerAddress = () => new URL('./worker.js', import.meta.url);

/** The script of a thread of the engine. */
export const threadAddress = () => new URL('./thread.js', import.meta.url);

/**
 * @param {'simd' | 'relaxed'} variant
 * @param {boolean} isShared whether threads are to share its memory
 */
export function wasmAddress(variant, isShared) {
  if (isShared) {
    return variant === 'relaxed'
      ? new URL('./qkv-relaxed-threads.wasm', import.meta.url)
      : new URL('./qkv-threads.wasm', import.meta.url);
  }
  return variant === 'relaxed'
    ? new URL('./qkv-relaxed.wasm', import.meta.url)
    : new URL('./qkv.wasm', import.meta.url);
}
