/** Which file may know which other: imports and includes go one way. Each function returns how many files it read and a
 * sentence for each that breaks a rule. */
import { basename, dirname, join } from 'node:path/posix';
import { sourceFiles, textOf } from './sources.js';

/** @typedef {{ checks: number, problems: string[] }} Report */

/* A file may import those behind it in the list; a name with a slash is a folder, whose files may import each other. */
const LIBRARY = [
  ...['index', 'remote', 'client', 'spawn', 'worker', 'host', 'protocol', 'load', 'warm_up', 'model_preview'],
  ...['model_file', 'model_folder', 'weights', 'tensor_rows', 'model_config', 'stops', 'model', 'generate'],
  ...['continuation', 'sampler', 'new_run', 'run', 'probabilities', 'input'],
  ...[
    'interventions',
    'operators/',
    'engine',
    'loader',
    'pool',
    'thread',
    'join_pool',
    'heap',
    'describe',
    'pause',
    'source',
    'sources/',
    'families/',
    'tokenizer/',
  ],
  ...['formats/', 'export/', 'arguments', 'script_address', 'errors'],
];
const ENGINE = [
  ...[
    'wasm',
    'overview',
    'inspect',
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
    'heap',
    'arena',
    'pool',
    'config_check',
    'status',
  ],
  ...['qkv', 'config', 'kernels/'],
];
/** Both ends of the worker, and of the threads. */
const MESSENGERS = ['client', 'host', 'pool', 'join_pool'].map((name) => `web/lib/${name}.js`);
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

/** @returns {Report} */
export function libraryImports() {
  const files = sourceFiles(['web/lib'], /\.js$/);
  const problems = files.flatMap((path) =>
    importsOf(path).map((target) => {
      if (target.startsWith('node:')) return `${path} imports ${target}: the library asks process.getBuiltinModule`;
      if (!target.startsWith('.')) return null;
      const name = (/** @type {string} */ file) => file.slice('web/lib/'.length).replace(/\.js$/, '');
      return directionProblem(LIBRARY, name(path), name(join(dirname(path), target)));
    }),
  );
  return { checks: files.length, problems: problems.filter((problem) => problem !== null) };
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
    { what: /\bmemory\.buffer\b/, where: sourceFiles(['web/lib'], /\.js$/), only: ['web/lib/heap.js'] },
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
  const files = sourceFiles(['src', 'web/lib', 'web/page', 'web/cli', 'tests', 'tools', 'bench'], /\.(c|h|js|py|css)$/);
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
