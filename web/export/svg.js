/** A matrix as a heat map in SVG: vector, no script, no font from elsewhere. */

import { fractionOf, rangeOf, viridis } from './colour_map.js';

/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */
/** @typedef {{ rows: string[], cols: string[] }} Labels */

const CELL = 18;
const FONT = 12;
/** Mean width of a character of a sans-serif font in em; wide ones (CJK) count double. */
const CHARACTER = 0.6;
const GAP = 6;
const LEGEND = { width: 14, gap: 20, steps: 32, room: 56 };

/**
 * @param {Matrix} matrix
 * @param {Labels} labels
 * @param {{ title: string, isWeights: boolean }} options isWeights: the scale is 0 to 1
 * @returns {string}
 */
export function toSvg(matrix, labels, { title, isWeights }) {
  const { rows, cols } = matrix;
  const left = GAP * 2 + longest(labels.rows);
  const top = FONT * 2 + GAP * 3 + longest(labels.cols);
  const width = Math.max(left + cols * CELL + LEGEND.gap + LEGEND.width + LEGEND.room, GAP * 2 + widthOf(title));
  const height = top + Math.max(rows * CELL, LEGEND.steps * 3) + GAP * 2;
  const range = rangeOf(matrix.data, isWeights);
  const [w, h] = [size(width), size(height)];
  const font = `font-family="system-ui, sans-serif" font-size="${FONT}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" ${font}>`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${GAP}" y="${FONT + GAP}" font-weight="600">${escapeText(title)}</text>`,
    ...labelsOf(labels, left, top),
    `<g shape-rendering="crispEdges">`,
    ...cellsOf(matrix, labels, range, left, top),
    `</g>`,
    ...legendOf(range, left + cols * CELL + LEGEND.gap, top),
    `</svg>\n`,
  ].join('\n');
}

/**
 * @param {Labels} labels
 * @param {number} left
 * @param {number} top
 */
function labelsOf(labels, left, top) {
  const middle = CELL / 2 + FONT * 0.35;
  const rows = labels.rows.map(
    (text, row) =>
      `<text x="${size(left - GAP)}" y="${size(top + row * CELL + middle)}" text-anchor="end">${escapeText(text)}</text>`,
  );
  const cols = labels.cols.map((text, col) => {
    const [x, y] = [size(left + col * CELL + middle), size(top - GAP)];
    return `<text transform="translate(${x} ${y}) rotate(-90)">${escapeText(text)}</text>`;
  });
  return [...rows, ...cols];
}

/**
 * @param {Matrix} matrix
 * @param {Labels} labels
 * @param {{ low: number, high: number }} range
 * @param {number} left
 * @param {number} top
 */
function cellsOf({ cols, data }, labels, range, left, top) {
  return Array.from(data, (value, index) => {
    const [row, col] = [Math.floor(index / cols), index % cols];
    const fraction = fractionOf(value, range);
    const fill = fraction === null ? '#ddd' : `rgb(${viridis(fraction).join(',')})`;
    const about = escapeText(`${labels.rows[row]} → ${labels.cols[col]}  ${value.toFixed(4)}`);
    const place = `x="${size(left + col * CELL)}" y="${size(top + row * CELL)}" width="${CELL}" height="${CELL}"`;
    return `<rect ${place} fill="${fill}"><title>${about}</title></rect>`;
  });
}

/**
 * @param {{ low: number, high: number }} range
 * @param {number} x
 * @param {number} top
 */
function legendOf({ low, high }, x, top) {
  const height = LEGEND.steps * 3;
  const bars = Array.from({ length: LEGEND.steps }, (_, step) => {
    const colour = viridis(1 - step / (LEGEND.steps - 1)).join(',');
    return `<rect x="${size(x)}" y="${size(top + step * 3)}" width="${LEGEND.width}" height="3.5" fill="rgb(${colour})"/>`;
  });
  const ends = [
    [high, top + FONT * 0.8],
    [low, top + height],
  ].map(
    ([value, y]) => `<text x="${size(x + LEGEND.width + GAP)}" y="${size(y)}">${Number(value.toPrecision(4))}</text>`,
  );
  return [...bars, ...ends];
}

/** @param {string[]} texts */
const longest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);

/** @param {string} text */
function widthOf(text) {
  const wide = text.match(/[\u1100-\u115f\u2e80-\uffe6]/g)?.length ?? 0;
  return (text.length + wide) * CHARACTER * FONT;
}

/** @param {number} value */
const size = (value) => Number(value.toFixed(2));

/**
 * XML allows neither control characters nor half surrogate pairs, not even escaped.
 * @param {string} text
 */
function escapeText(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to replace
  const legal = text.replace(/\p{Cs}/gu, '\ufffd').replace(/[\u0000-\u001f\ufffe\uffff]/g, '\ufffd');
  return legal.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
