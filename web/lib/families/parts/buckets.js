/** Relative positions in buckets: near distances have one each, farther ones share them by the logarithm, as in T5 and
 * MPNet. Source: arXiv 1910.10683; rounded to float32 step by step, as transformers computes it. */

const { fround, log } = Math;

/**
 * For attention in both directions; half of the buckets are for keys behind the query.
 * @param {number} buckets
 * @param {number} reach from this distance on all keys share the last bucket
 * @returns {Int32Array} [2 reach + 1] the bucket of the key at distance -reach .. reach
 */
export function bucketsByDistance(buckets, reach) {
  const half = Math.floor(buckets / 2);
  const exact = Math.floor(half / 2);
  const bucketOf = (/** @type {number} */ distance) => {
    const far = Math.abs(distance);
    const side = distance > 0 ? half : 0;
    if (far < exact) return side + far;
    const share = fround(fround(log(fround(far / exact))) / fround(log(reach / exact)));
    return side + Math.min(exact + Math.trunc(fround(share * (half - exact))), half - 1);
  };
  return Int32Array.from({ length: 2 * reach + 1 }, (_, at) => bucketOf(at - reach));
}
