/**
 * The page's one colour map for weights, and the scales that lead from a weight to a place on it.
 *
 * The map is a straight line in OKLab lightness (https://bottosson.github.io/posts/oklab/), paper to ink in the light
 * theme and the other way round in the dark one, with hue running from the accent to blue. Equal steps look equal, and
 * since lightness alone carries the order it survives colour-blind eyes and grey printers.
 */

export const STEPS = 256;

/** [lightness, chroma, hue in degrees] at 0, 1/2 and 1. */
const STOPS = {
  light: [
    [0.985, 0.006, 150],
    [0.6, 0.105, 195],
    [0.19, 0.055, 255],
  ],
  dark: [
    [0.225, 0.014, 255],
    [0.605, 0.1, 195],
    [0.975, 0.05, 125],
  ],
};

/** @param {number} linear 0..1 */
const gamma = (linear) => 255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055);

/**
 * @param {number} lightness
 * @param {number} chroma
 * @param {number} hue degrees
 * @returns {[number, number, number]} sRGB, 0..255
 */
function fromOklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/**
 * @param {'light' | 'dark'} theme
 * @returns {Uint8ClampedArray} [STEPS, 4] RGBA
 */
function buildMap(theme) {
  const map = new Uint8ClampedArray(STEPS * 4);
  for (let step = 0; step < STEPS; step++) {
    const place = (2 * step) / (STEPS - 1);
    const from = STOPS[theme][place < 1 ? 0 : 1];
    const to = STOPS[theme][place < 1 ? 1 : 2];
    const part = place < 1 ? place : place - 1;
    const [lightness, chroma, hue] = from.map((value, i) => value + part * (to[i] - value));
    map.set([...fromOklch(lightness, chroma, hue), 255], step * 4);
  }
  return map;
}

const MAPS = { light: buildMap('light'), dark: buildMap('dark') };

/** @param {'light' | 'dark'} theme */
export const colourMap = (theme) => MAPS[theme];

/**
 * @param {Uint8ClampedArray} map
 * @param {number} step
 */
export const cssColour = (map, step) => `rgb(${map[4 * step]} ${map[4 * step + 1]} ${map[4 * step + 2]})`;

/** Whether white or black text reads on a step of a map. @param {Uint8ClampedArray} map  @param {number} step */
export const needsLightInk = (map, step) =>
  0.299 * map[4 * step] + 0.587 * map[4 * step + 1] + 0.114 * map[4 * step + 2] < 140;

/** Smallest weight the logarithmic scale tells from zero. */
const LOG_FLOOR = 1e-4;

/**
 * Where a weight lies on the map, 0..1. `row` divides by the largest weight of its row.
 * @type {Record<import('./hash.js').PageState['scale'], (weight: number, rowMax: number) => number>}
 */
export const PLACES = {
  linear: (weight) => weight,
  sqrt: (weight) => Math.sqrt(weight),
  log: (weight) => (weight <= LOG_FLOOR ? 0 : 1 - Math.log10(weight) / Math.log10(LOG_FLOOR)),
  row: (weight, rowMax) => (rowMax > 0 ? weight / rowMax : 0),
};

/** Ticks of the legend: weights whose place on the map is shown. */
export const TICKS = {
  linear: [0, 0.25, 0.5, 0.75, 1],
  sqrt: [0, 0.05, 0.25, 0.5, 1],
  log: [0.0001, 0.001, 0.01, 0.1, 1],
  row: [0, 0.5, 1],
};

/**
 * @param {number} weight
 * @param {number} rowMax
 * @param {import('./hash.js').PageState['scale']} scale
 */
export function stepOf(weight, rowMax, scale) {
  const place = PLACES[scale](weight, rowMax);
  return Math.max(0, Math.min(STEPS - 1, Math.round(place * (STEPS - 1)))) || 0;
}

/**
 * Colours a matrix, one pixel a cell.
 * @param {Float32Array} weights [rows, cols]
 * @param {number} cols
 * @param {import('./hash.js').PageState['scale']} scale
 * @param {Uint8ClampedArray} map
 * @returns {Uint8ClampedArray<ArrayBuffer>} RGBA, ready for ImageData
 */
export function colourCells(weights, cols, scale, map) {
  const pixels = new Uint8ClampedArray(weights.length * 4);
  const source = new Uint32Array(map.buffer, map.byteOffset, STEPS);
  const target = new Uint32Array(pixels.buffer);
  for (let row = 0; row < weights.length; row += cols) {
    let rowMax = 0;
    if (scale === 'row') for (let col = 0; col < cols; col++) rowMax = Math.max(rowMax, weights[row + col]);
    for (let col = 0; col < cols; col++) target[row + col] = source[stepOf(weights[row + col], rowMax, scale)];
  }
  return pixels;
}
