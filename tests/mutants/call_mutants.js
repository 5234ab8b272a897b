/** Faults in calls across threads, and in how a text is continued. */

const SAMPLER = { file: 'web/lib/model/sampler.js', test: 'tests/lib/model/sampler.test.js' };
const CONTINUATION = { file: 'web/lib/model/continuation.js', test: 'tests/lib/model/continuation.test.js' };
const WORKER = { test: 'tests/api/worker.test.js' };
const CLIENT = { ...WORKER, file: 'web/lib/worker/client.js' };
const HOST = { ...WORKER, file: 'web/lib/worker/host.js' };
const REMOTE = { ...WORKER, file: 'web/lib/worker/remote.js' };

/** @type {import('./mutants.js').Mutant[]} */
export const CALL_MUTANTS = [
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'top-p keeps one token too few',
    line: 'while (reached < wanted && count < weights.length) reached += weights[count++];',
    becomes: 'while (reached + (weights[count] ?? 0) < wanted && count < weights.length) reached += weights[count++];',
  },
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'the seed is not used',
    line: 'let [a, b, c, counter] = [seed | 0, 0, 0, 1];',
    becomes: 'let [a, b, c, counter] = [0, 0, 0, 1];',
  },
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'weights are taken for probabilities',
    line: 'const wanted = at * sum(weights);',
    becomes: 'const wanted = at;',
  },
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'of equal logits the first is always meant',
    line: 'for (; before > 0; before--) id = logits.indexOf(descending[rank], id + 1);',
    becomes: '',
  },
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'top-k is ignored',
    line: 'const values = most < vocab ? largestValues(logits, most) : logits;',
    becomes: 'const values = logits;',
  },
  {
    ...SAMPLER,
    part: 'sampler',
    breaks: 'the generator is not warmed up',
    line: 'for (let step = 0; step < 15; step++) next();',
    becomes: '',
  },
  {
    ...CONTINUATION,
    part: 'continuation',
    breaks: 'the last token of a character ends with its first unit',
    line: 'if (token) token.end = start + piece.length;',
    becomes: '',
  },
  {
    ...CONTINUATION,
    part: 'continuation',
    breaks: 'every piece begins a word',
    line: "return last !== ' ' && classOf(last) !== classOf(piece);",
    becomes: 'return true;',
  },
  {
    ...CONTINUATION,
    part: 'continuation',
    breaks: 'places do not count the prompt',
    line: 'let settled = prompt.length;',
    becomes: 'let settled = 0;',
  },
  {
    ...CONTINUATION,
    part: 'continuation',
    breaks: 'bytes at the end are never shown',
    line: "stream.push(id) + (isLast ? stream.end() : '')",
    becomes: 'stream.push(id)',
  },
  {
    file: 'web/lib/loading/generation.js',
    test: 'tests/api/generate.test.js',
    part: 'stops',
    breaks: 'only the first of several ids ends a text',
    line: 'return [...new Set(ids)].filter((id) => id >= 0 && id < vocab);',
    becomes: 'return [...new Set(ids)].filter((id) => id >= 0 && id < vocab).slice(0, 1);',
  },
  {
    ...CLIENT,
    part: 'client',
    only: 'when the worker dies all pending calls fail',
    breaks: 'calls that are pending when the worker dies stay so',
    line: 'for (const id of [...pending.keys()]) settle(id).reject(error);',
    becomes: 'pending.clear();',
  },
  {
    ...CLIENT,
    part: 'client',
    only: 'a cancelled forward ends in the worker too',
    breaks: 'the worker never hears of an abort',
    line: 'worker.port.postMessage({ abort: id });',
    becomes: '',
  },
  {
    ...CLIENT,
    part: 'client',
    only: 'errors cross',
    breaks: 'arguments that cannot be posted are a crash',
    line: "throw new QkvError('argument', what, { cause });",
    becomes: "throw new QkvError('crash', what, { cause });",
  },
  {
    ...CLIENT,
    part: 'client',
    only: 'progress counts bytes',
    breaks: 'nobody hears of progress',
    line: "if ('progress' in message) waiting.teller.progress(message.progress);",
    becomes: "if ('progress' in message) return;",
  },
  {
    ...HOST,
    part: 'host',
    only: 'a cancelled forward ends in the worker too',
    breaks: 'an abort cancels nothing',
    line: 'running.get(message.abort)?.abort();',
    becomes: 'running.get(message.abort);',
  },
  {
    ...HOST,
    part: 'host',
    only: 'two loads at once',
    breaks: 'all runs have one number',
    line: 'runs.set(++lastRun, run);',
    becomes: 'runs.set(1, run); lastRun = 1;',
  },
  {
    ...REMOTE,
    part: 'remote',
    only: 'every call gives in a worker',
    breaks: 'the options of forward stay behind',
    line: "askForRun(model, 'forward', [input, rest],",
    becomes: "askForRun(model, 'forward', [input, {}],",
  },
  {
    ...REMOTE,
    part: 'remote',
    breaks: 'a run answers after it was disposed of',
    line: 'if (!run.model) return; run.model = null;',
    becomes: 'if (!run.model) return;',
  },
  {
    ...REMOTE,
    file: 'web/lib/worker/workers.js',
    part: 'remote',
    breaks: 'a model that brings its worker down is never given up',
    line: 'if (crashes < MOST_CRASHES) return;',
    becomes: 'if (crashes > 0) return;',
  },
];
