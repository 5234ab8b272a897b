/** A directory handle as a page gets it, over files in memory. */

/** @param {Record<string, string | Uint8Array<ArrayBuffer>>} files names with a slash lie in folders of the folder */
export function directoryHandle(files) {
  const handle = {
    kind: 'directory',
    name: 'chosen',
    /** @param {string} name */
    async getFileHandle(name) {
      if (!(name in files)) throw new DOMException('not here', 'NotFoundError');
      return { getFile: async () => new File([files[name]], name) };
    },
    /** @param {string} name */
    async getDirectoryHandle(name) {
      const inside = Object.entries(files).filter(([path]) => path.startsWith(`${name}/`));
      if (inside.length === 0) throw new DOMException('not here', 'NotFoundError');
      return directoryHandle(Object.fromEntries(inside.map(([path, file]) => [path.slice(name.length + 1), file])));
    },
    async *values() {
      yield { kind: 'directory', name: 'inner.gguf' };
      for (const name of Object.keys(files)) if (!name.includes('/')) yield { kind: 'file', name };
    },
  };
  return /** @type {FileSystemDirectoryHandle} */ (/** @type {unknown} */ (handle));
}
