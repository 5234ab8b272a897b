/** Memory in words. */

/** @typedef {import('./translate.js').Translate} Translate */
/** @typedef {import('./translate.js').Language} Language */

const MEGABYTE = 1e6;

/**
 * Whole megabytes; of less than ten, two digits.
 * @param {Language} language
 * @param {number} bytes
 */
export function megabytes(language, bytes) {
  const mb = bytes / MEGABYTE;
  return new Intl.NumberFormat(
    language,
    mb < 10 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 },
  ).format(mb);
}

/**
 * That something needs more memory than there is. What it needs may be beyond counting; then all there is to say is that it is more
 * than what is free.
 * @param {Translate} t
 * @param {Language} language
 * @param {number[]} sizes bytes of each way to hold it, as far as they can be counted
 * @param {number} free bytes
 */
export function shortage(t, language, sizes, free) {
  const needed = Math.min(...sizes.filter(Number.isFinite));
  const values = { free: megabytes(language, free) };
  if (needed === Infinity) return t('errorMemoryBeyond', values);
  return t('errorMemoryOf', { ...values, needed: megabytes(language, needed) });
}
