/**
 * Which pairs of tokens a layer leaves out. A decoder's token sees nothing that comes later; with a sliding window it sees
 * only so many tokens back. Both are read off the engine's own masked scores, in which a pair left out is -Infinity.
 */

/** @typedef {{ causal: boolean, reach: number }} LayerMask reach: how many tokens away may be seen */
/** @typedef {'later' | 'window'} MaskReason */

/**
 * @param {LayerMask} mask
 * @param {number} row
 * @param {number} col
 * @returns {MaskReason | null} null: the pair takes part
 */
export function maskReason({ causal, reach }, row, col) {
  if (causal && col > row) return 'later';
  return Math.abs(row - col) > reach ? 'window' : null;
}

/** @param {LayerMask} mask  @param {number} n tokens */
export const hidesNothing = ({ causal, reach }, n) => n < 2 || (!causal && reach >= n - 1);

/**
 * The masks of all layers: the last token's row says how far back it sees. Heads of a layer share their mask.
 * @param {import('qkv').Run} run
 * @param {{ layers: number, causal: boolean }} shape
 * @param {number} n tokens
 * @returns {Promise<LayerMask[]>}
 */
export function layerMasks(run, { layers, causal }, n) {
  return Promise.all(
    Array.from({ length: layers }, async (_, layer) => {
      const { data } = await run.getWeights(layer, 0, { stage: 'masked', rows: [n - 1, n] });
      return { causal, reach: n - 1 - data.findIndex((score) => score !== -Infinity) };
    }),
  );
}

/**
 * Whether all pairs of a thumbnail's cell are left out; its cells are the largest of the weights under them.
 * @param {LayerMask} mask
 * @param {number} n tokens
 * @param {number} s cells a side
 */
export function blockHidden(mask, n, s) {
  const first = (/** @type {number} */ cell) => Math.floor((cell * n) / s);
  const last = (/** @type {number} */ cell) => first(cell + 1) - 1;
  return (/** @type {number} */ row, /** @type {number} */ col) => {
    if (row === col) return false;
    const nearest = row < col ? first(col) - last(row) : first(row) - last(col);
    return (mask.causal && row < col) || nearest > mask.reach;
  };
}
