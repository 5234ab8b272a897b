/** What faulty_module.js registers. */
import { placesOf, withFault } from './pin.js';

const ROOT = new URL('../..', import.meta.url);

/** @type {import('./mutants.js').Mutant | null} */
let mutant = null;

/** @param {import('./mutants.js').Mutant | null} data */
export function initialize(data) {
  mutant = data;
}

/** @type {import('node:module').ResolveHook} */
export function resolve(specifier, context, next) {
  if (specifier === 'qkv') return { url: new URL('web/lib/index.js', ROOT).href, shortCircuit: true };
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!mutant || url !== new URL(mutant.file, ROOT).href) return loaded;
  const source = Buffer.from(/** @type {any} */ (loaded.source)).toString();
  // A thread may have the hooks of its parent besides its own, and then the fault is there already.
  return { ...loaded, source: placesOf(source, mutant.line).length === 1 ? withFault(source, mutant) : source };
}
