/** How something grows with n, from measured points. */

/**
 * The slope of the straight line of least squares through the logarithms.
 * @param {number[]} x
 * @param {number[]} y
 */
export function exponent(x, y) {
  const [u, v] = [x.map(Math.log), y.map(Math.log)];
  const mean = (/** @type {number[]} */ list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [um, vm] = [mean(u), mean(v)];
  const top = u.reduce((sum, value, i) => sum + (value - um) * (v[i] - vm), 0);
  return top / u.reduce((sum, value) => sum + (value - um) ** 2, 0);
}

/**
 * y = a n + b n^2 with neither below zero, by least squares of the relative error: short runs count as much as long ones.
 * @param {number[]} n
 * @param {number[]} y
 */
export function twoParts(n, y) {
  const [u, v] = [n.map((value, i) => value / y[i]), n.map((value, i) => value ** 2 / y[i])];
  const sum = (/** @type {number[]} */ list, /** @type {number[]} */ other) =>
    list.reduce((total, value, i) => total + value * other[i], 0);
  const ones = n.map(() => 1);
  const [uu, uv, vv, u1, v1] = [sum(u, u), sum(u, v), sum(v, v), sum(u, ones), sum(v, ones)];
  const determinant = uu * vv - uv * uv;
  const [linear, square] = [(u1 * vv - v1 * uv) / determinant, (v1 * uu - u1 * uv) / determinant];
  if (!(square > 0)) return { linear: u1 / uu, square: 0 };
  return linear > 0 ? { linear, square } : { linear: 0, square: v1 / vv };
}
