/** The parts of the suite, each a file that measures one thing. This is what runs inside a Node or a page. */

/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */
/**
 * @typedef {object} Part
 * @property {() => Promise<{ measure: (settings: Settings) => Promise<Report> }>} load
 * @property {true} [inPage] can run in a page
 * @property {true} [once] says the same in every program
 * @property {true} [peers] onnxruntime-web takes part
 * @property {true} [full] --full adds something
 * @property {true} [fewer] some of it takes fewer rounds than are asked for, since they are long
 */

/** @type {Record<string, Part>} */
export const PARTS = {
  kernels: { load: () => import('./kernels.js'), inPage: true },
  minilm: { load: () => import('./minilm.js'), inPage: true, peers: true, fewer: true },
  inspection: { load: () => import('./inspection.js') },
  decode: { load: () => import('./smollm2.js'), fewer: true },
  loading: { load: () => import('./loading.js'), fewer: true },
  attention: { load: () => import('./attention.mjs'), peers: true, fewer: true },
  growth: { load: () => import('./growth.js'), full: true, fewer: true },
  memory: { load: () => import('./memory.js'), once: true },
  sizes: { load: () => import('./sizes.js'), once: true },
};

/** @param {string} name of a part @param {Settings} settings */
export const measurePart = async (name, settings) => (await PARTS[name].load()).measure(settings);
