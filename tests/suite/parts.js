/** The parts of the test run and the jobs that they are made of. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * One program, on one core more or less, that says on its output how many checks it made (counts.js).
 * @typedef {object} Job
 * @property {string} part
 * @property {string} name
 * @property {string[]} command
 * @property {string} [after] the name of a job that must have succeeded before
 * @property {boolean} [isBuild] makes no checks of its own
 * @property {string} [file] the test file, by which the job can be asked for
 */

/**
 * @typedef {object} Part
 * @property {string} about
 * @property {string[]} needs what build.sh makes or installs before
 * @property {() => Job[]} jobs
 */

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** How many jobs share the mutants. */
const SHARES = 10;

/** The comparisons with PyTorch and with the formulas. */
const NUMBERS = ['minilm', 'formula', 'tiny_bert', 'families', 'interventions', 'threads'];

/**
 * Left out of `quick`: what takes long and seldom tells more than the others.
 * @type {string[]}
 */
const SLOW = [
  'tests/api/cli.test.js',
  'tests/api/forgotten.test.js',
  'tests/api/memory.test.js',
  'tests/api/silence.test.js',
  'tests/api/smollm2.test.js',
  'tests/api/spills.test.js',
  'tests/api/threads.test.js',
  'tests/api/worker.test.js',
  'tests/bench/parts.test.js',
  'tests/lib/formats/gguf_property.test.js',
  'tests/lib/fuzz_corpus.test.js',
  'tests/lib/tokenizer/tokenizer_hostile.test.js',
  'tests/lib/tokenizer/work.test.js',
  'tests/operators/random.test.js',
  'tests/operators/relaxed.test.js',
  'tests/stateful/stateful.test.js',
];

/** @param {string} folder @returns {string[]} every *.test.js below it, as paths in the tree */
const testFiles = (folder) =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .map((file) => `${folder}/${String(file)}`)
    .filter((file) => file.endsWith('.test.js'))
    .sort();

/**
 * A test file alone in a process, without the runner of `node --test` around it.
 * @param {string} part
 * @param {string} file
 * @returns {Job}
 */
const fileJob = (part, file) => ({
  part,
  name: file,
  file,
  command: [process.execPath, '--test-reporter=spec', file],
});

/** @param {string} preset of CMakePresets.json @returns {Job} */
const buildJob = (preset) => ({
  part: preset,
  name: `${preset} build`,
  command: [
    'sh',
    '-c',
    `[ -e build/${preset}/build.ninja ] || cmake --preset ${preset} && cmake --build --preset ${preset} -j 1`,
  ],
  isBuild: true,
});

/** @param {string} preset @returns {Job[]} */
const nativeJobs = (preset) => [
  buildJob(preset),
  {
    part: preset,
    name: `${preset} tests`,
    command: ['ctest', '--preset', preset, '--verbose'],
    after: `${preset} build`,
  },
];

/**
 * Node 20 has relaxed SIMD behind a flag, so the other tests run on the plain build there; newer ones have it without, and
 * the other tests run on the relaxed build. This part is about the build that is left.
 * @returns {Job[]}
 */
function otherBuildJobs() {
  const isBehindFlag = process.versions.node.startsWith('20.');
  const flag = isBehindFlag ? '--experimental-wasm-relaxed-simd' : '--import=./tests/suite/plain_simd.js';
  const variant = isBehindFlag ? 'relaxed' : 'simd';
  const files = NUMBERS.map((name) => `tests/api/${name}.test.js`);
  return [
    {
      part: 'relaxed',
      name: `the build of this part is ${variant}`,
      command: [process.execPath, flag, 'tests/suite/variant.js', variant],
    },
    ...files.map((file) => ({
      part: 'relaxed',
      name: `${file}, ${variant}`,
      command: [process.execPath, flag, '--test-reporter=spec', file],
    })),
  ];
}

/** @returns {Job[]} */
const mutantJobs = () => [
  buildJob('native'),
  ...Array.from({ length: SHARES }, (_, i) => ({
    part: 'mutants',
    name: `mutants ${i + 1}/${SHARES}`,
    command: [process.execPath, 'tests/mutants/run.js', '--share', `${i + 1}/${SHARES}`],
    after: 'native build',
  })),
];

/** @type {Record<string, Part>} */
export const PARTS = {
  lint: {
    about: 'formatting, types, style, import directions',
    needs: ['shellcheck'],
    jobs: () => [{ part: 'lint', name: 'lint', command: [process.execPath, 'tests/lint/run.js'] }],
  },
  package: {
    about: 'what npm would publish',
    needs: ['library'],
    jobs: () => [fileJob('package', 'tests/lint/package.js')],
  },
  native: {
    about: 'the engine on this machine, SIMD and scalar',
    needs: ['native'],
    jobs: () => nativeJobs('native'),
  },
  asan: {
    about: 'the same under AddressSanitizer and UndefinedBehaviorSanitizer',
    needs: ['native', 'sanitizers'],
    jobs: () => nativeJobs('asan'),
  },
  node: {
    about: 'the library in Node',
    needs: ['library', 'page', 'models', 'kernels'],
    jobs: () =>
      testFiles('tests')
        .filter((file) => !file.startsWith('tests/browser/'))
        .map((file) => fileJob('node', file)),
  },
  relaxed: {
    about: 'numbers on the build, relaxed or plain, that this Node does not take by itself',
    needs: ['library', 'models'],
    jobs: otherBuildJobs,
  },
  browser: {
    about: 'the page in Chromium',
    needs: ['page', 'models', 'kernels', 'chromium'],
    jobs: () => testFiles('tests/browser').map((file) => fileJob('browser', file)),
  },
  mutants: {
    about: 'faults that the tests must notice',
    needs: ['native', 'library', 'models'],
    jobs: mutantJobs,
  },
};

export const QUICK_PARTS = ['lint', 'native', 'node'];

/** What is for daily work: minutes become seconds. @returns {Job[]} */
export const quickJobs = () =>
  QUICK_PARTS.flatMap((part) => PARTS[part].jobs()).filter(({ file = '' }) => !SLOW.includes(file));
