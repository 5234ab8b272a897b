/** What differs between Node and a page: where files come from, and how the program that runs this is called. */

export const isPage = typeof document !== 'undefined';

/** A path or an address of something in the tree. @param {string} path from the project's folder */
export function inTree(path) {
  const { href } = new URL(`../${path}`, import.meta.url);
  return isPage ? href : process.getBuiltinModule('node:url').fileURLToPath(href);
}

/** @param {string} path a path in Node, an address in a page */
export async function bytesOf(path) {
  if (!isPage) return process.getBuiltinModule('node:fs/promises').readFile(path);
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: the server says ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** @param {string} path of a file */
export async function isThere(path) {
  if (!isPage) return process.getBuiltinModule('node:fs').existsSync(path);
  return (await fetch(path, { method: 'HEAD' })).ok;
}

/** Node 20.20.2, or Chrome 156. */
export function runtime() {
  if (!isPage) return `Node ${process.versions.node}`;
  const [, name, version] = /(Firefox|Chrome|Version)\/(\d+)/.exec(navigator.userAgent) ?? [];
  return name ? `${name.replace('Version', 'Safari')} ${version}` : 'a browser';
}

/** A page is not told. */
export function machine() {
  if (isPage) return 'this machine';
  const { arch, cpus } = process.getBuiltinModule('node:os');
  const list = cpus();
  return `${list[0]?.model.trim() ?? arch()} (${list.length} cores)`;
}
