/** How long jobs take, roughly, on a quiet core: for the order of the first run in a tree, whose own times are then kept. */

/** @type {Record<string, number>} */
const KNOWN = {
  'asan build': 30,
  'asan tests': 40,
  'native build': 20,
  'native tests': 15,
  'tests/api/cli.test.js': 30,
  'tests/api/memory.test.js': 25,
  'tests/api/smollm2.test.js': 20,
  'tests/api/threads.test.js': 18,
  'tests/api/worker.test.js': 12,
  'tests/bench/parts.test.js': 12,
  'tests/browser/generate.test.js': 60,
  'tests/browser/hardening.test.js': 45,
  'tests/browser/local-model.test.js': 40,
  'tests/browser/sandbox-page.test.js': 40,
  'tests/browser/sandbox.test.js': 60,
  'tests/lib/tokenizer/tokenizer_hostile.test.js': 15,
  'tests/stateful/stateful.test.js': 30,
};

/** @param {import('./parts.js').Job} job */
export const guess = ({ name, part }) => KNOWN[name] ?? (part === 'browser' ? 20 : part === 'mutants' ? 25 : 2);
