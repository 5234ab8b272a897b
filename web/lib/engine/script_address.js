/** Addresses of the library's own worker scripts, as Trusted Types want them. */

/** @type {{ createScriptURL(url: string): string } | undefined} */
let policy;
/** @type {Set<string>} */
const own = new Set();

/**
 * Under Trusted Types only a policy may name a worker's script; this one names those of the library.
 * @param {URL} address
 */
export function trusted(address) {
  const { trustedTypes } =
    /** @type {{ trustedTypes?: { createPolicy(name: string, rules: object): NonNullable<typeof policy> } }} */ (
      /** @type {unknown} */ (globalThis)
    );
  if (!trustedTypes) return address;
  own.add(address.href);
  policy ??= trustedTypes.createPolicy('qkv-worker', {
    createScriptURL(/** @type {string} */ url) {
      if (own.has(url)) return url;
      throw new TypeError('The policy qkv-worker allows the worker scripts of qkv only.');
    },
  });
  return policy.createScriptURL(address.href);
}
