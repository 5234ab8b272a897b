/** The what-if options of model.forward (mask, ablate, scale, temperature), made into the fields of the engine's input. */

import { finiteNumber, oneOf, refuseOthers, tensor, wholeNumber } from '../checks/arguments.js';
import { QkvError } from '../checks/errors.js';

/** @typedef {import('../api/run.js').Kind} Kind */
/** @typedef {{ data: Uint8Array, shape: number[] }} BoolTensor */
/** @typedef {{ data: Float32Array, shape: number[] }} FloatTensor */
/**
 * Exactly one of allow (1 = takes part), ignore (1 = is left out) and add (added to the logits). Shape [n], [n, m] or
 * [H, n, m], the same for every sequence of a batch.
 * @typedef {{ allow?: BoolTensor, ignore?: BoolTensor, add?: FloatTensor, kind?: Kind, layers?: readonly number[] }} Mask
 */
/** @typedef {{ kind?: Kind, layer: number, head: number }} HeadPlace */
/**
 * @typedef {object} InterventionOptions
 * @property {Mask} [mask]
 * @property {readonly HeadPlace[]} [ablate]
 * @property {number | 'off'} [scale] what the scores are multiplied by; 'off' = 1; default 1 / sqrt(head width). Logits
 * that overflow float32 have no softmax: the weights of such a row are NaN
 * @property {number} [temperature] above 0; divides the logits before the mask, under the same rule; default 1
 */
/**
 * @typedef {object} Interventions
 * @property {Float32Array | null} mask
 * @property {number} maskRows
 * @property {number} maskHeads
 * @property {Uint8Array | null} maskLayers
 * @property {Uint8Array | null} ablate
 * @property {number | null} scale
 * @property {number} temperature
 */
/** @typedef {{ kinds: readonly Kind[], layers: number, heads: number, headDim: number, lengths: number[] }} Extents */

/** What float32 holds. */
const SMALLEST = 2 ** -149;
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

/**
 * @param {InterventionOptions} options
 * @param {Extents} extents
 * @returns {Interventions}
 */
export function readInterventions({ mask, ablate, scale, temperature = 1 }, extents) {
  return {
    ...(mask === undefined || mask === null ? NO_MASK : readMask(mask, extents)),
    ablate: ablate === undefined ? null : readAblate(ablate, extents),
    ...readFactors(scale, temperature, extents),
  };
}

/**
 * The engine multiplies by one float32, scale / temperature. It would refuse what is none as well, but after rounding,
 * so with another number than the given one.
 * @param {unknown} givenScale
 * @param {unknown} givenTemperature
 * @param {Extents} extents
 */
function readFactors(givenScale, givenTemperature, { headDim }) {
  const scale = readScale(givenScale);
  const temperature = finiteNumber('forward: temperature', givenTemperature);
  if (temperature < SMALLEST || temperature > LARGEST) {
    throw new QkvError('argument', 'forward: temperature', { got: temperature, want: float32Range(SMALLEST) });
  }
  const factor = (scale ?? 1 / Math.sqrt(headDim)) / temperature;
  if (!isInFloat32(factor)) {
    throw new QkvError('argument', `forward: scale / temperature with the temperature ${temperature}`, {
      got: factor,
      want: float32Range(-LARGEST),
    });
  }
  return { scale, temperature };
}

/** @param {number} value */
const isInFloat32 = (value) => Number.isFinite(Math.fround(value));

/** @param {number} lowest */
const float32Range = (lowest) => `${lowest.toPrecision(2)} to ${LARGEST.toPrecision(2)}, the range of float32`;

const NO_MASK = { mask: null, maskRows: 0, maskHeads: 0, maskLayers: null };

/** @param {unknown} scale */
function readScale(scale) {
  if (scale === undefined) return null;
  if (scale === 'off') return 1;
  if (typeof scale !== 'number' || !Number.isFinite(scale)) {
    throw new QkvError('argument', 'forward: scale', { got: scale, want: "a finite number or 'off'" });
  }
  if (isInFloat32(scale)) return scale;
  throw new QkvError('argument', 'forward: scale', { got: scale, want: `'off' or ${float32Range(-LARGEST)}` });
}

/**
 * @param {Mask} mask
 * @param {Extents} extents
 */
function readMask(mask, extents) {
  if (typeof mask !== 'object' || Array.isArray(mask) || ArrayBuffer.isView(mask)) {
    throw new QkvError('argument', 'forward: mask', { got: mask, want: '{allow}, {ignore} or {add}' });
  }
  refuseOthers('forward: key of mask', mask, ['allow', 'ignore', 'add', 'kind', 'layers']);
  const given = /** @type {const} */ (['allow', 'ignore', 'add']).filter((way) => mask[way] !== undefined);
  if (given.length !== 1) {
    throw new QkvError('argument', 'forward: mask', { got: given, want: 'exactly one of allow, ignore, add' });
  }
  if (mask.kind !== undefined) oneOf('forward: mask.kind', mask.kind, extents.kinds);
  const what = `forward: mask.${given[0]}`;
  const { data, shape } =
    given[0] === 'add' ? added(what, mask.add) : allowed(what, mask[given[0]], given[0] === 'allow');
  return { mask: data, ...maskExtents(what, shape, extents), maskLayers: readLayers(mask.layers, extents) };
}

/**
 * @param {string} what
 * @param {unknown} value
 */
function added(what, value) {
  const { data, shape } = tensor(what, value, Float32Array);
  // +Infinity would make Infinity - Infinity in the softmax; -Infinity is how a place is closed.
  const bad = data.findIndex((logit) => Number.isNaN(logit) || logit === Number.POSITIVE_INFINITY);
  if (bad >= 0) {
    throw new QkvError('argument', `${what}: data[${bad}]`, { got: data[bad], want: 'a finite number or -Infinity' });
  }
  // A copy: it is used when the call's turn comes.
  return { data: data.slice(), shape };
}

/**
 * @param {string} what
 * @param {unknown} value
 * @param {boolean} open what a 1 means
 */
function allowed(what, value, open) {
  const { data, shape } = tensor(what, value, Uint8Array);
  return { data: Float32Array.from(data, (bit) => ((bit !== 0) === open ? 0 : Number.NEGATIVE_INFINITY)), shape };
}

/**
 * @param {string} what
 * @param {number[]} shape
 * @param {Extents} extents
 */
function maskExtents(what, shape, { lengths, heads }) {
  const n = lengths[0];
  if (lengths.some((length) => length !== n)) {
    throw new QkvError('argument', `${what} over a batch: lengths`, { got: lengths, want: 'all the same' });
  }
  const is = (/** @type {number[]} */ ...wanted) =>
    shape.length === wanted.length && shape.every((size, axis) => size === wanted[axis]);
  if (is(n)) return { maskRows: 1, maskHeads: 1 };
  if (is(n, n)) return { maskRows: n, maskHeads: 1 };
  if (is(heads, n, n)) return { maskRows: n, maskHeads: heads };
  throw new QkvError('argument', `${what}: shape`, {
    got: shape,
    want: `[${n}], [${n}, ${n}] or [${heads}, ${n}, ${n}]`,
  });
}

/**
 * @param {unknown} layers
 * @param {Extents} extents
 */
function readLayers(layers, extents) {
  if (layers === undefined) return null;
  if (!Array.isArray(layers)) {
    throw new QkvError('argument', 'forward: mask.layers', { got: layers, want: 'an array of layers' });
  }
  const applies = new Uint8Array(extents.layers);
  for (const layer of layers) applies[wholeNumber('forward: mask.layers', layer, 0, extents.layers - 1)] = 1;
  return applies;
}

/**
 * @param {unknown} places
 * @param {Extents} extents
 */
function readAblate(places, { kinds, layers, heads }) {
  if (!Array.isArray(places)) {
    throw new QkvError('argument', 'forward: ablate', { got: places, want: 'an array of {layer, head}' });
  }
  const zeroed = new Uint8Array(layers * heads);
  for (const place of places) {
    refuseOthers('forward: key in ablate', place ?? {}, ['kind', 'layer', 'head']);
    const { kind, layer, head } = place ?? {};
    if (kind !== undefined) oneOf('forward: ablate.kind', kind, kinds);
    const row = wholeNumber('forward: ablate.layer', layer, 0, layers - 1);
    zeroed[row * heads + wholeNumber('forward: ablate.head', head, 0, heads - 1)] = 1;
  }
  return zeroed;
}
