/** What npm would publish: sizes, no imports, every export there, the command usable from the tarball alone. Needs what
 * ./build.sh wasm makes. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { ROOT } from './sources.js';

const WASM_LIMIT = 102_400;
const MODULES = ['qkv.wasm', 'qkv-relaxed.wasm', 'qkv-threads.wasm', 'qkv-relaxed-threads.wasm'];
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** @param {string} path */
const built = (path) => join(ROOT, 'dist', path);

/**
 * @param {string} program
 * @param {string[]} args
 * @param {string} cwd
 */
function run(program, args, cwd) {
  const done = spawnSync(program, args, { cwd, encoding: 'utf8' });
  equal(done.status, 0, `${program} ${args.join(' ')}: ${done.stdout}${done.stderr}`);
  return done.stdout;
}

for (const name of MODULES) {
  test(`${name} is at most ${WASM_LIMIT} bytes`, () => {
    const { size } = statSync(built(name));
    console.log(`${name}: ${size} bytes`);
    ok(size <= WASM_LIMIT, `${size} bytes`);
  });
}

test('qkv.wasm imports nothing and exports its memory and the engine', () => {
  const module = new WebAssembly.Module(readFileSync(built('qkv.wasm')));
  deepEqual(WebAssembly.Module.imports(module), []);
  const names = WebAssembly.Module.exports(module).map(({ name }) => name);
  for (const name of ['memory', 'qkv_init', 'qkv_forward', 'qkv_get_weights']) ok(names.includes(name), name);
});

test('the bundles import nothing but each other, and what a worker runs is one file', () => {
  for (const name of ['index.js', 'shared.js', 'in_thread.js', 'worker.js', 'thread.js']) {
    const code = readFileSync(built(name), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    const targets = [...code.matchAll(/(?:^(?:import|export)\b[^'";]*?\bfrom\s*|\bimport\(\s*)['"]([^'"]+)['"]/gm)];
    const wanted = { 'index.js': ['./shared.js', './in_thread.js'], 'in_thread.js': ['./shared.js'] }[name] ?? [];
    deepEqual([...new Set(targets.map(([, target]) => target))].sort(), wanted.sort(), name);
  }
});

test('the bundles name the files beside them literally, so that other bundlers find them', () => {
  const text = ['index.js', 'shared.js'].map((file) => readFileSync(built(file), 'utf8')).join('');
  for (const name of [...MODULES, 'worker.js', 'thread.js']) {
    match(text, new RegExp(`new URL\\(['"]\\./${name}['"], import\\.meta\\.url\\)`));
  }
});

test('every file that package.json names is there', () => {
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
  for (const target of [...targets, ...Object.values(manifest.bin)]) ok(existsSync(join(ROOT, target)), target);
});

for (const resolution of ['NodeNext', 'Bundler']) {
  test(`a strict TypeScript project compiles against the types, module resolution ${resolution}`, () => {
    const module = resolution === 'NodeNext' ? resolution : 'ESNext';
    const flags = `--noEmit --strict --skipLibCheck false --target ES2022 --lib ES2022,DOM,DOM.Iterable --module ${module}`;
    const files = ['--moduleResolution', resolution, '--types', '', 'use.ts'];
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
    run(tsc, ['--ignoreConfig', ...flags.split(' '), ...files], join(ROOT, 'tests', 'lint', 'consumer'));
  });
}

test('dependencies have exact versions, and the lock file names no host', () => {
  const { dependencies = {}, devDependencies } = manifest;
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    match(String(version), /^\d+\.\d+\.\d+$/, name);
  }
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  ok(!/"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/.test(lock));
});

test('publint finds nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: ROOT, strict: true });
  // A worker exports nothing, which publint takes for CommonJS.
  const workers = ['./worker', './thread'];
  const real = messages.filter(({ code, path }) => code !== 'FILE_INVALID_FORMAT' || !workers.includes(path[1]));
  deepEqual(
    real.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test('the tarball holds library, types and command, and works without the rest of the tree', () => {
  const folder = mkdtempSync(join(tmpdir(), 'qkv-package-'));
  try {
    const [{ filename, files }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], ROOT));
    const paths = files.map((/** @type {{ path: string }} */ file) => file.path);
    for (const path of [
      'dist/index.js',
      'dist/index.d.ts',
      'dist/worker.js',
      'dist/thread.js',
      ...MODULES.map((name) => `dist/${name}`),
      'web/cli/qkv.js',
      'LICENSE',
    ]) {
      ok(paths.includes(path), `${path} is missing in the tarball`);
    }
    const strange = paths.filter((/** @type {string} */ path) =>
      /^web\/models\/|^tests\/|^src\/|\.safetensors$/.test(path),
    );
    deepEqual(strange, []);
    run('tar', ['xzf', filename], folder);
    match(run('node', [join(folder, 'package/web/cli/qkv.js'), '--help'], folder), /Usage: qkv/);
    symlinkSync(join(ROOT, 'web/models/minilm'), join(folder, 'minilm'));
    const csv = run(
      'node',
      [join(folder, 'package/web/cli/qkv.js'), 'one two', '--model', 'minilm', '--format', 'csv'],
      folder,
    );
    ok(csv.trim().split('\n').length >= 4, csv);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
