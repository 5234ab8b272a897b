/** @typedef {import('../../../web/lib/sources/source.js').Source} Source */

/** Whether a source finds a file, which is let go of. @param {Source} source @param {string} file */
export async function isThere(source, file) {
  const stream = await source.find(file);
  await stream?.chunks[Symbol.asyncIterator]().return?.();
  return stream !== null;
}
