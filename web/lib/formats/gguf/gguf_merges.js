/**
 * SentencePiece's BPE has no list of merges: of all neighbours the pair is joined whose product scores highest. The list that says
 * the same to a merge-based BPE holds every way to make a token of two others, the best products first; ties as transformers
 * breaks them (convert_slow_tokenizer.py), longer left sides first.
 */

/** @typedef {{ left: string, right: string, leftId: number, rightId: number, score: number, size: number, rest: number }} Merge */

/** SentencePiece makes pieces of 16 characters unless told otherwise; longer ones than this are no product of merges. */
const LONGEST = 256;
/** Published vocabularies have two merges for each token; some made to have many would take memory without end. */
const MOST_PER_TOKEN = 8;
const MOST = 2_000_000;

/**
 * @param {string[]} tokens
 * @param {ArrayLike<number>} scores
 * @param {(id: number) => boolean} isMade whether a token may come of a merge
 * @returns {string[] | null} "left right"; null when there are more than a vocabulary can mean
 */
export function mergesOf(tokens, scores, isMade) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  tokens.forEach((token, id) => {
    // A merge is written with a space in between, so no part may hold one.
    if (isMade(id) && token !== '' && !token.includes(' ')) ids.set(token, id);
  });
  /** @type {Merge[]} */
  const merges = [];
  const most = Math.min(MOST, MOST_PER_TOKEN * tokens.length);
  for (const [token, id] of ids) {
    if (merges.length > most) return null;
    if (token.length > LONGEST) continue;
    const ways = waysToMake(token, scores[id], ids);
    ways.sort((a, b) => a.leftId - b.leftId || a.rightId - b.rightId);
    for (const way of ways) merges.push(way);
  }
  merges.sort((a, b) => b.score - a.score || b.size - a.size || b.rest - a.rest);
  return merges.map(({ left, right }) => `${left} ${right}`);
}

/**
 * Cuts between characters; the lengths count characters, not UTF-16 units.
 * @param {string} token
 * @param {number} score
 * @param {Map<string, number>} ids
 * @returns {Merge[]}
 */
function waysToMake(token, score, ids) {
  /** @type {Merge[]} */
  const ways = [];
  const characters = Array.from(token);
  let at = 0;
  for (let size = 1; size < characters.length; size++) {
    at += characters[size - 1].length;
    const left = token.slice(0, at);
    const leftId = ids.get(left);
    if (leftId === undefined) continue;
    const right = token.slice(at);
    const rightId = ids.get(right);
    if (rightId !== undefined) ways.push({ left, right, leftId, rightId, score, size, rest: characters.length - size });
  }
  return ways;
}
