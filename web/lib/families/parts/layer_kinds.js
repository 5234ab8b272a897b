/** Layers that see all keys and layers that see only near ones, in the order that config.json gives or a family has. */

/** @typedef {import('./config_reader.js').ConfigReader} ConfigReader */
/** @typedef {'full_attention' | 'sliding_attention'} LayerKind as transformers 5 names them in layer_types */

/** @type {readonly LayerKind[]} */
const KINDS = ['full_attention', 'sliding_attention'];
const LARGEST_WINDOW = 16_777_216;

/**
 * @param {ConfigReader} config
 * @param {number} layers
 * @param {(layer: number) => boolean} isSliding where layer_types is absent, as up to transformers 4
 * @returns {LayerKind[]}
 */
export function layerKinds(config, layers, isSliding) {
  const given = config.raw('layer_types') ?? null;
  if (given === null) return Array.from({ length: layers }, (_, layer) => KINDS[Number(isSliding(layer))]);
  const isList = Array.isArray(given) && given.length === layers && given.every((kind) => KINDS.includes(kind));
  if (!isList) throw config.wrong('layer_types', `${layers} times ${KINDS.join(' or ')}`, 'unsupported');
  return given;
}

/**
 * The engine's windows: the largest distance between query and key in each layer, -1 for any.
 * @param {LayerKind[]} kinds
 * @param {number} distance
 * @returns {Int32Array | null} null where no layer has a window
 */
export function windowsOf(kinds, distance) {
  if (!kinds.includes('sliding_attention')) return null;
  return Int32Array.from(kinds, (kind) => (kind === 'sliding_attention' ? distance : -1));
}

/**
 * Decoders count the query itself: with a window of n the farthest key is n - 1 places away. Where tokens see later ones by
 * is_causal, it is n places away on both sides, as transformers has it.
 * @param {ConfigReader} config
 * @param {LayerKind[]} kinds
 * @param {number | null} missing the window where config.json says nothing
 * @returns {Int32Array | null}
 */
export function slidingWindows(config, kinds, missing) {
  if (!kinds.includes('sliding_attention')) return null;
  const rule = { max: LARGEST_WINDOW, missing: missing ?? undefined };
  const isCausal = config.flag('is_causal', true);
  return windowsOf(kinds, config.size('sliding_window', rule) - Number(isCausal));
}
