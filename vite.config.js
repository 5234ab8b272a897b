/* The page: root web/, built to build/page/ as plain static files that work from any folder of any server. It uses the
 * library as npm users do, from dist/. */
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** @param {string} path */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The bundled models lie beside the page; they are data, so they keep their names. */
const copyModels = {
  name: 'qkv-models',
  apply: /** @type {const} */ ('build'),
  closeBundle: () => cpSync(here('web/models'), here('build/page/models'), { recursive: true }),
};

export default defineConfig({
  root: here('web'),
  base: './',
  appType: 'mpa',
  publicDir: false,
  cacheDir: here('build/vite'),
  plugins: [copyModels],
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
