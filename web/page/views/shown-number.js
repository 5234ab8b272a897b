/** How the numbers of a chain are written. */

/** Four decimals, or a power of ten where those would say nothing. @param {number} x */
export function shown(x) {
  if (x === -Infinity) return '−∞';
  if (x === 0) return '0';
  const size = Math.abs(x);
  const text = size < 0.0005 || size >= 1e6 ? x.toExponential(3) : x.toFixed(size >= 1000 ? 1 : size >= 10 ? 3 : 4);
  return text.replace('-', '−');
}

/** A number inside a product or sum. @param {number} x */
export const bracketed = (x) => (x < 0 ? `(${shown(x)})` : shown(x));
