/** Contenders take turns inside one process, so that a change of the machine's speed meets all of them. */

/** @typedef {{ name: string, run: () => unknown }} Contender a promise is waited for */
/** @typedef {{ minimum: number, median: number }} Spread in milliseconds, or whatever was given */

/** The first calls run code that is not optimised yet. */
export const WARM_UP = 10;

/** @param {number[]} values @returns {Spread} */
export function spreadOf(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { minimum: sorted[0], median: sorted[sorted.length >> 1] };
}

/**
 * Milliseconds of each by name.
 * @param {Contender[]} contenders
 * @param {number} rounds
 * @param {number} [warmUp]
 */
export async function race(contenders, rounds, warmUp = WARM_UP) {
  /** @type {Map<string, number[]>} */
  const times = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    for (const { name, run } of contenders) {
      const start = performance.now();
      const result = run();
      if (result instanceof Promise) await result;
      if (round >= 0) times.get(name)?.push(performance.now() - start);
    }
  }
  return new Map([...times].map(([name, list]) => [name, spreadOf(list)]));
}
