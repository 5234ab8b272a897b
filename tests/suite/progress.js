/** Says how far the run is: on a terminal in one line that is written over, in a log in a line now and then. */

/** @typedef {import('./parts.js').Job} Job */

const EVERY = 10_000;

/**
 * @param {Job[]} jobs
 * @param {{ isTTY?: boolean, columns?: number, write: (text: string) => unknown }} stream
 */
export function startProgress(jobs, stream) {
  const start = performance.now();
  /** @type {Map<string, { done: number, of: number }>} */
  const parts = new Map();
  for (const { part } of jobs) {
    const known = parts.get(part) ?? { done: 0, of: 0 };
    parts.set(part, { ...known, of: known.of + 1 });
  }
  /** @type {Set<string>} */
  const running = new Set();
  const isTerminal = stream.isTTY === true;
  let last = start;

  const seconds = () => Math.round((performance.now() - start) / 1000);
  const line = () => {
    const counts = [...parts].map(([part, { done, of }]) => (done === of ? `${part} done` : `${part} ${done}/${of}`));
    return `[${String(seconds()).padStart(3)} s] ${counts.join(', ')}`;
  };
  const show = () => {
    last = performance.now();
    if (!isTerminal) stream.write(`${line()}; now ${[...running].join(', ') || 'nothing'}\n`);
    else stream.write(`\r\u001b[K${line().slice(0, (stream.columns ?? 80) - 1)}`);
  };
  const timer = setInterval(
    () => {
      if (isTerminal || performance.now() - last >= EVERY) show();
    },
    isTerminal ? 500 : 1000,
  );

  return {
    /** @param {Job} job */
    started: ({ name }) => {
      running.add(name);
    },
    /** @param {Job} job */
    ended: ({ name, part }) => {
      running.delete(name);
      const counts = parts.get(part);
      if (counts) counts.done++;
      if (isTerminal || counts?.done === counts?.of) show();
    },
    /** Something to read, between the lines of progress. @param {string} text */
    say: (text) => {
      stream.write(`${isTerminal ? '\r\u001b[K' : ''}${text}\n`);
    },
    stop: () => {
      clearInterval(timer);
      if (isTerminal) stream.write('\r\u001b[K');
      return seconds();
    },
  };
}
