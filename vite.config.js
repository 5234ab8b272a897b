/* The page: root web/, built to build/page/ as plain static files that work from any folder of any server. It uses the
 * library as npm users do, from dist/. */
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, minify } from 'vite';

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The bundled models lie beside the page; they are data, so they keep their names. */
const copyModels = {
  name: 'qkv-models',
  apply: /** @type {const} */ ('build'),
  closeBundle: () => cpSync(here('web/models'), here('build/page/models'), { recursive: true }),
};

/**
 * The worker is an asset to Vite, which leaves such files as they are; it is half of what a reader downloads.
 * @type {import('vite').Plugin}
 */
const minifyWorker = {
  name: 'qkv-minify-worker',
  apply: 'build',
  async generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'asset' || !file.fileName.endsWith('.js')) continue;
      const { code, errors } = await minify(file.fileName, new TextDecoder().decode(bytesOf(file.source)), {
        module: true,
      });
      if (errors.length) this.error(errors[0].message);
      file.source = code;
    }
  },
};

/** @param {string | Uint8Array} source */
const bytesOf = (source) => (typeof source === 'string' ? new TextEncoder().encode(source) : source);

export default defineConfig({
  root: here('web'),
  base: './',
  appType: 'mpa',
  publicDir: false,
  cacheDir: here('build/vite'),
  plugins: [copyModels, minifyWorker],
  resolve: { alias: { qkv: here('dist/index.js') } },
  worker: { format: 'es' },
  server: { fs: { allow: [here('.')] } },
  build: {
    outDir: here('build/page'),
    emptyOutDir: true,
    target: 'es2022',
    /* Nothing inline: data: URLs would need a weaker Content-Security-Policy. */
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
  },
});
