/* What npm gets: dist/index.js, dist/worker.js and dist/thread.js without a bare import, so that they load as they are in Node,
 * in a page (import maps do not reach workers) and through any bundler. worker.js and thread.js are one file each, because
 * bundlers copy them as they are; index.js fetches in_thread.js when a model is first loaded without a worker, and a page that
 * uses workers never does. One entry a build, named by --mode:
 *   vite build --config vite.library.config.js --mode index
 *   vite build --config vite.library.config.js --mode worker
 *   vite build --config vite.library.config.js --mode thread */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const ASSET_URL = /new URL\(\s*(['"])\.\/([\w.-]+)\1\s*,\s*import\.meta\.url\s*\)/g;
const MARK = /__qkv_asset__\("([\w.-]+)"\)/g;

/** Leaves `new URL('./file', import.meta.url)` as it is written: Vite's library mode would inline the file, and other
 * bundlers find such files by this very expression.
 * @returns {import('vite').Plugin} */
const keepAssetUrls = () => ({
  name: 'qkv-keep-asset-urls',
  enforce: 'pre',
  transform: (code) => ({ code: code.replace(ASSET_URL, '__qkv_asset__("$2")'), map: null }),
  renderChunk: (code) => ({ code: code.replace(MARK, "new URL('./$1', import.meta.url)"), map: null }),
});

export default defineConfig(({ mode }) => ({
  plugins: [keepAssetUrls()],
  publicDir: false,
  cacheDir: here('build/vite'),
  build: {
    outDir: here('dist'),
    emptyOutDir: false,
    target: ['es2022', 'node20'],
    minify: false,
    rolldownOptions: {
      output: { chunkFileNames: ({ isDynamicEntry }) => (isDynamicEntry ? '[name].js' : 'shared.js') },
    },
    lib: { entry: here(`web/lib/${mode}.js`), formats: ['es'], fileName: mode },
    license: { fileName: 'licenses.md' },
  },
}));
