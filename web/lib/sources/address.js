/** Addresses as messages show them: without a query, a fragment, a name or a password, since each may hold a secret and
 * messages are copied into reports. */

/**
 * @param {string | URL} address
 * @returns {string}
 */
export function shownAddress(address) {
  const url = typeof address === 'string' ? parsed(address) : address;
  if (url === null) return withoutSecrets(String(address));
  // A data: URL is the file itself, and a blob: URL a number: neither tells a person anything.
  if (url.protocol === 'data:' || url.protocol === 'blob:') return `a ${url.protocol} URL`;
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** @param {string} text @returns {URL | null} */
function parsed(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** @param {string} text that is no URL @returns {string} */
const withoutSecrets = (text) => text.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
