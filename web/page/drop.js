/** A model folder dropped on the page, as the plain files in it; nothing is read before the loader asks. */

/** @param {FileSystemDirectoryEntry} folder  @returns {Promise<FileSystemEntry[]>} */
async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return all;
    all.push(...some);
  }
}

/** @param {FileSystemEntry} entry  @returns {Promise<File>} */
const fileOf = (entry) =>
  new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));

/**
 * The files of what was dropped, folders opened one level deep.
 * @param {DataTransfer} dropped
 * @returns {Promise<{ files: File[], name: string }>}
 */
export async function droppedFiles(dropped) {
  /* All entries have to be asked for before the first await: afterwards the browser forgets them. */
  const entries = [...dropped.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files = [];
  for (const entry of entries) {
    const inside = entry.isDirectory ? await entriesOf(/** @type {FileSystemDirectoryEntry} */ (entry)) : [entry];
    for (const one of inside) if (one.isFile) files.push(await fileOf(one));
  }
  return { files, name: entries[0]?.name ?? '' };
}
