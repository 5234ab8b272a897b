/**
 * What heads do in the sentence on the screen, said only together with the measurement that says so.
 * Behaviours come from the engine's statistics of each head; pairs of words from the thumbnails, which hold the very
 * weights as long as the text is no longer than a thumbnail is wide.
 */

/** @typedef {{ layer: number, head: number, entropy: number, distance: number, previous: number, next: number, self: number, first: number, separator: number }} HeadStats */
/** @typedef {{ thumbnails: Float32Array, s: number, stats: HeadStats[] }} Overview */
/** @typedef {{ text: string, special: boolean }} TokenText */
/** @typedef {{ layer: number, head: number, what: 'previous' | 'next' | 'self' | 'first' | 'separator', score: number }} Behaviour */
/** @typedef {{ layer: number, head: number, what: 'link', row: number, col: number, score: number }} Link */
/** @typedef {Behaviour | Link} Finding */

/** Below this mean share a behaviour is not worth a name. */
const WORTH_NAMING = 0.25;
const LINKS = 5;
const ELSEWHERE = 3;
/** A piece with letters in it; not [UNK], which can be any word. */
const WORD = /^[^[]*\p{L}/u;

/**
 * The head that does each thing most, strongest first.
 * @param {HeadStats[]} stats
 * @returns {Behaviour[]}
 */
function behaviours(stats) {
  const names = /** @type {const} */ (['previous', 'next', 'first', 'self', 'separator']);
  return names
    .map((what) => {
      const best = stats.reduce((top, one) => (one[what] > top[what] ? one : top));
      return { layer: best.layer, head: best.head, what, score: best[what] };
    })
    .filter(({ score }) => score >= WORTH_NAMING);
}

/**
 * The strongest links between two different words that are not neighbours, one a head and one a pair.
 * @param {Overview} overview
 * @param {TokenText[]} tokens
 * @returns {Link[]}
 */
function wordLinks({ thumbnails, s, stats }, tokens) {
  if (s !== tokens.length) return [];
  const isWord = tokens.map((token) => !token.special && WORD.test(token.text));
  /** @type {Link[]} */
  const candidates = [];
  stats.forEach(({ layer, head }, number) => {
    /** @type {Link | null} */
    let best = null;
    for (let row = 0; row < s; row++) {
      for (let col = 0; col < s; col++) {
        const score = thumbnails[(number * s + row) * s + col];
        if (score <= (best?.score ?? 0) || Math.abs(row - col) < 2 || !isWord[row] || !isWord[col]) continue;
        best = { layer, head, what: 'link', row, col, score };
      }
    }
    if (best) candidates.push(best);
  });
  candidates.sort((a, b) => b.score - a.score);
  const pairs = new Set();
  return candidates.filter(({ row, col }) => !pairs.has(row * s + col) && pairs.add(row * s + col)).slice(0, LINKS);
}

/**
 * @param {{ overview: Overview, tokens: { special: boolean }[], labels: string[], shape: { causal: boolean } }} picture
 * @returns {Finding[]}
 */
export function findInHeads({ overview, tokens, labels, shape }) {
  /* On the first token of a decoder everything rests that has nothing to look for; that is a finding of its own. */
  const words = tokens.map(({ special }, i) => ({ special: special || (shape.causal && i === 0), text: labels[i] }));
  return [...behaviours(overview.stats), ...wordLinks(overview, words)];
}

/**
 * The other heads in which one token looks hardest at another.
 * @param {Overview} overview
 * @param {number} n tokens
 * @param {{ layer: number, head: number, row: number, col: number }} place
 * @returns {Link[]} empty where thumbnails do not hold the weights themselves
 */
export function sameCellElsewhere({ thumbnails, s, stats }, n, { layer, head, row, col }) {
  if (s !== n) return [];
  return stats
    .map((one, number) => ({
      ...one,
      what: /** @type {const} */ ('link'),
      row,
      col,
      score: thumbnails[(number * s + row) * s + col],
    }))
    .filter((one) => one.layer !== layer || one.head !== head)
    .sort((a, b) => b.score - a.score)
    .slice(0, ELSEWHERE);
}
