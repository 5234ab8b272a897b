/** Which file may know which other: imports and includes go one way. Each function returns how many files it read and a
 * sentence for each that breaks a rule. */
import { basename, dirname, join } from 'node:path/posix';
import { sourceFiles, textOf } from './sources.js';

/** @typedef {{ checks: number, problems: string[] }} Report */

/* Rooms of web/lib: a file may import from its own room and from those behind it in the list. '' is the root: the entries. */
const LIBRARY = [
  '',
  'worker',
  'loading',
  'loading/embedding',
  'model',
  'run',
  'operators',
  'engine',
  'sources',
  'families',
  'families/parts',
  'tokenizer',
  'tokenizer/config',
  'tokenizer/read',
  'tokenizer/models',
  'tokenizer/steps',
  'tokenizer/pattern',
  'tokenizer/text',
  'tokenizer/unicode',
  'formats/gguf',
  'formats',
  'checks',
  'api',
];
/** In the root, but of no room: every room may ask where a file is. */
const ADDRESSES = 'web/lib/addresses.js';
/* A file of src/ may include those behind it; a name with a slash is a folder, whose files may include each other. */
const ENGINE = [
  ...[
    'wasm',
    'overview',
    'inspect',
    'pooling',
    'logits',
    'run',
    'embed',
    'rotary',
    'block',
    'operator',
    'attention',
    'model_weights',
    'slots',
    'model',
    'norm',
    'map',
    'matrix',
    'table',
    'planes',
    'ggml_blocks',
    'handles',
    'heap',
    'arena',
    'pool',
    'config_check',
    'status',
  ],
  ...['qkv', 'config', 'kernels/'],
];
/** Both ends of the worker, and of the threads. */
const MESSENGERS = ['worker/client', 'worker/host', 'engine/thread', 'engine/join_pool'].map(
  (name) => `web/lib/${name}.js`,
);
/** Files of one folder of web/lib. */
const MOST_FILES = 14;
const PAGE_PACKAGES = /^(qkv|lit(\/.*)?)$/;

/**
 * @param {string[]} order
 * @param {string} path from the layer's root, without extension
 */
const rankOf = (order, path) => order.indexOf(path.includes('/') ? `${path.split('/')[0]}/` : path);

/** The text without comments. @param {string} path */
const codeOf = (path) => textOf(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');

/** What a file's import statements name; types in comments may come from anywhere. @param {string} path */
const importsOf = (path) =>
  [...codeOf(path).matchAll(/(?:^(?:import|export)\s(?:[^;'"]*\sfrom\s*)?|\bimport\(\s*)['"]([^'"]+)['"]/gm)].map(
    (match) => match[1],
  );

/** @param {string} text */
const includesOf = (text) => [...text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map((match) => match[1]);

/**
 * @param {string[]} order
 * @param {string} from
 * @param {string} to
 */
function directionProblem(order, from, to) {
  const [rank, wanted] = [rankOf(order, from), rankOf(order, to)];
  if (rank < 0) return `${from} has no place in the order of tests/lint/imports.js: add it where it belongs`;
  if (wanted < 0) return `${from} imports ${to}, which has no place in the order of tests/lint/imports.js`;
  return wanted < rank ? `${from} may not import ${to}: that one lies above it` : null;
}

/** @param {string} path */
const roomOf = (path) => (path.includes('/', 8) ? dirname(path).slice('web/lib/'.length) : '');

/**
 * @param {string} from
 * @param {string} to
 */
function roomProblem(from, to) {
  if (to === ADDRESSES) return null;
  const [rank, wanted] = [from, to].map((path) => LIBRARY.indexOf(roomOf(path)));
  if (rank < 0 || wanted < 0) return `${rank < 0 ? from : to}: tests/lint/imports.js does not know its room`;
  if (rank > 0 && wanted === 0) return `${from} may not import ${to}: nothing imports an entry`;
  return wanted < rank ? `${from} may not import ${to}: its room lies above` : null;
}

/** @returns {Report} */
export function libraryImports() {
  const files = sourceFiles(['web/lib'], /\.js$/);
  const problems = files.flatMap((path) =>
    importsOf(path).map((target) => {
      if (target.startsWith('node:')) return `${path} imports ${target}: the library asks process.getBuiltinModule`;
      if (!target.startsWith('.')) return null;
      return roomProblem(path, join(dirname(path), target));
    }),
  );
  return { checks: files.length, problems: problems.filter((problem) => problem !== null) };
}

/**
 * A room is a page of file names that a reader takes in; families may be many, since each is like the others.
 * @returns {Report}
 */
export function rooms() {
  const count = new Map();
  for (const path of sourceFiles(['web/lib'], /\.js$/)) count.set(dirname(path), (count.get(dirname(path)) ?? 0) + 1);
  count.delete('web/lib/families');
  const problems = [...count]
    .filter(([, files]) => files > MOST_FILES)
    .map(([room, files]) => `${room} has ${files} files; ${MOST_FILES} are the limit`);
  return { checks: count.size, problems };
}

/** @returns {Report} */
export function exportImports() {
  const files = sourceFiles(['web/export'], /\.js$/);
  const problems = files.flatMap((path) =>
    importsOf(path)
      .filter((target) => !target.startsWith('./'))
      .map(
        (target) => `${path} imports ${target}: what writes files takes plain arrays, from the library or elsewhere`,
      ),
  );
  return { checks: files.length, problems };
}

/** @returns {Report} */
export function pageImports() {
  const files = sourceFiles(['web/page'], /\.js$/);
  const problems = files.flatMap((path) =>
    importsOf(path)
      .filter((target) =>
        target.startsWith('.') ? !join(dirname(path), target).startsWith('web/page/') : !PAGE_PACKAGES.test(target),
      )
      .map((target) => `${path} imports ${target}: the page knows the library by its name qkv, and lit`),
  );
  return { checks: files.length, problems };
}

/** @returns {Report} */
export function engineIncludes() {
  const files = sourceFiles(['src'], /\.[ch]$/);
  const problems = files.flatMap((path) => {
    const from = path.slice('src/'.length).replace(/\.[ch]$/, '');
    const inKernels = from.startsWith('kernels/');
    return includesOf(textOf(path))
      .filter((target) => !inKernels || target.includes('/'))
      .map((target) => directionProblem(ENGINE, from, target.replace(/\.[a-z]+$/, '')));
  });
  return { checks: files.length, problems: problems.filter((problem) => problem !== null) };
}

/**
 * What may be written in certain files only.
 * @returns {Report}
 */
export function places() {
  const rules = [
    { what: /\bmemory\.buffer\b/, where: sourceFiles(['web/lib'], /\.js$/), only: ['web/lib/engine/heap.js'] },
    { what: /\.postMessage\(/, where: sourceFiles(['web'], /\.js$/), only: MESSENGERS },
    { what: /\bMath\.random\b/, where: sourceFiles(['web'], /\.(js|html)$/), only: [] },
    { what: /\b(innerHTML|unsafeHTML)\b/, where: sourceFiles(['web/page'], /\.js$/), only: [] },
    { what: /\bwasm_[a-z]\d+x\d+|\bv128_t\b|simde/, where: sourceFiles(['src'], /^src\/[^/]*$/), only: [] },
    { what: /\b(malloc|calloc|realloc|abort|exit|printf)\s*\(/, where: sourceFiles(['src'], /\.[c]$/), only: [] },
    { what: /simde\/|<wasm_simd128\.h>/, where: sourceFiles(['src'], /\.[ch]$/), only: ['src/kernels/simd.h'] },
  ];
  const problems = rules.flatMap(({ what, where, only }) =>
    where
      .filter((path) => !only.includes(path) && what.test(codeOf(path)))
      .map((path) => `${path} has ${what}${only.length ? `, which is for ${only.join(' and ')}` : ''}`),
  );
  return { checks: rules.reduce((sum, { where }) => sum + where.length, 0), problems };
}

/**
 * A reader should be able to take in a file and to guess it by its name.
 * @returns {Report}
 */
export function readableFiles() {
  const files = sourceFiles(
    ['src', 'web/lib', 'web/export', 'web/page', 'web/cli', 'tests', 'tools', 'bench'],
    /\.(c|h|js|py|css)$/,
  );
  const problems = files.flatMap((path) => {
    const lines = textOf(path).split('\n').length - 1;
    const vague = /^(util|utils|common|helper|helpers|misc)\b/.test(basename(path));
    return [
      ...(lines > 450 ? [`${path} has ${lines} lines; 450 are the limit`] : []),
      ...(vague ? [`${path}: the name does not say what it holds`] : []),
    ];
  });
  return { checks: files.length, problems };
}
