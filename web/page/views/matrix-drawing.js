/**
 * Draws a matrix of weights with its token labels on a canvas: where things lie, and how they look. Pure functions of
 * what they are given; matrix-view.js owns the events.
 */
import { colourCells, cssColour, needsLightInk, STEPS, stepOf } from '../palette.js';
import { directionOf } from '../words/isolated.js';
import { shortWeight } from '../words/short-weight.js';
import { hatchPattern, hiddenRuns } from './hatch.js';

const LABEL_FONT = 12;
const LONGEST_LABEL = 92;
const SLANT = (-55 * Math.PI) / 180;
/** Cells of at least this many pixels get a gap and round corners, of at least NUMERAL_CELL their value. */
const SEPARATE_CELL = 9;
const NUMERAL_CELL = 34;
/** Pixels a label takes along its axis. */
const LABEL_STEP = { row: 14, col: 17 };

/**
 * @typedef {object} Geometry
 * @property {number} left where the cells begin
 * @property {number} top
 * @property {number} size width and height of the window on the cells
 * @property {number} cell side of a cell
 * @property {number} panX cells scrolled away, in pixels
 * @property {number} panY
 * @property {number} n
 */

/**
 * @param {number} width of the canvas
 * @param {number} longest width of the longest label in pixels
 * @param {number} n tokens
 * @param {{ zoom: number, panX: number, panY: number }} camera
 * @returns {Geometry & { width: number, height: number }}
 */
export function layOut(width, longest, n, { zoom, panX, panY }) {
  const label = Math.min(longest, LONGEST_LABEL) + 8;
  const left = Math.ceil(Math.min(label, width * 0.28));
  const top = Math.ceil(label * -Math.sin(SLANT)) + 10;
  const right = 26;
  const size = Math.max(40, Math.floor(width - left - right));
  const cell = (size / n) * zoom;
  const most = Math.max(0, cell * n - size);
  const clampPan = (/** @type {number} */ pan) => Math.max(0, Math.min(most, pan));
  return { width, height: top + size + 4, left, top, size, cell, n, panX: clampPan(panX), panY: clampPan(panY) };
}

/**
 * The cell under a point, or null.
 * @param {Geometry} g
 * @param {number} x
 * @param {number} y
 */
export function cellUnder(g, x, y) {
  if (x < g.left || y < g.top || x >= g.left + g.size || y >= g.top + g.size) return null;
  return {
    row: Math.min(g.n - 1, Math.floor((y - g.top + g.panY) / g.cell)),
    col: Math.min(g.n - 1, Math.floor((x - g.left + g.panX) / g.cell)),
  };
}

/** @param {CanvasRenderingContext2D} context  @param {string[]} labels  @param {string} font */
export function longestLabel(context, labels, font) {
  context.font = `600 ${LABEL_FONT}px ${font}`;
  let longest = 24;
  for (const label of labels) longest = Math.max(longest, context.measureText(label).width);
  return longest;
}

/** @param {CanvasRenderingContext2D} context  @param {string} label  @param {number} width */
function shorten(context, label, width) {
  if (context.measureText(label).width <= width) return label;
  let kept = label;
  while (kept.length > 1 && context.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/**
 * @typedef {object} Scene
 * @property {Geometry} geometry
 * @property {Float32Array} weights [n, n]
 * @property {string[]} labels
 * @property {{ row: number, col: number }} cell the chosen one
 * @property {{ row: number, col: number } | null} hover
 * @property {import('../hash.js').PageState['scale']} scale
 * @property {Uint8ClampedArray} map
 * @property {import('../first-column.js').ReasonOf} reasonOf why a cell has no weight
 * @property {number} prompt tokens that were given; those behind them are new
 * @property {{ ink: string, dim: string, accent: string, panel: string, hatch: string, fresh: string, font: string }} colours
 */

/** @param {CanvasRenderingContext2D} context  @param {Scene} scene */
export function drawMatrix(context, scene) {
  const { left, top, size, cell } = scene.geometry;
  context.save();
  context.beginPath();
  context.rect(left - 1, top - 1, size + 2, size + 2);
  context.clip();
  if (cell >= SEPARATE_CELL) drawCells(context, scene);
  else drawPixels(context, scene);
  drawHidden(context, scene);
  drawBorder(context, scene);
  drawCross(context, scene);
  context.restore();
  drawLabels(context, scene);
}

/** First and one past the last cell in the window. @param {Geometry} g  @param {number} pan */
const visible = (g, pan) => [Math.floor(pan / g.cell), Math.min(g.n, Math.ceil((pan + g.size) / g.cell))];

/** @param {CanvasRenderingContext2D} context  @param {Scene} scene */
function drawCells(context, { geometry: g, weights, scale, map, hover, reasonOf }) {
  const [row0, row1] = visible(g, g.panY);
  const [col0, col1] = visible(g, g.panX);
  const gap = g.cell >= 14 ? 1.5 : 1;
  const numerals = g.cell >= NUMERAL_CELL;
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let row = row0; row < row1; row++) {
    const line = weights.subarray(row * g.n, (row + 1) * g.n);
    const rowMax = line.reduce((a, b) => Math.max(a, b), 0);
    for (let col = col0; col < col1; col++) {
      if (reasonOf(row, col) !== null) continue;
      const step = stepOf(line[col], rowMax, scale);
      const x = g.left + col * g.cell - g.panX;
      const y = g.top + row * g.cell - g.panY;
      context.fillStyle = cssColour(map, step);
      context.beginPath();
      context.roundRect(x + gap / 2, y + gap / 2, g.cell - gap, g.cell - gap, g.cell >= 14 ? 2.5 : 1);
      context.fill();
      if (!numerals && !(hover?.row === row && hover.col === col && g.cell >= 26)) continue;
      context.fillStyle = needsLightInk(map, step) ? '#fff' : '#000';
      context.fillText(shortWeight(line[col]).replace('0.', '.'), x + g.cell / 2, y + g.cell / 2 + 0.5);
    }
  }
}

/** Cells that have no weight. @param {CanvasRenderingContext2D} context  @param {Scene} scene */
function drawHidden(context, { geometry: g, reasonOf, colours }) {
  const [row0, row1] = visible(g, g.panY);
  const [col0, col1] = visible(g, g.panX);
  context.beginPath();
  for (let row = row0; row < row1; row++) {
    for (const [from, to] of hiddenRuns(reasonOf, row, col0, col1)) {
      /* Half a pixel over the edge, or the rows would show as stripes. */
      context.rect(
        g.left + from * g.cell - g.panX,
        g.top + row * g.cell - g.panY - 0.5,
        (to - from) * g.cell,
        g.cell + 1,
      );
    }
  }
  context.fillStyle = hatchPattern(context, colours);
  context.fill();
}

/** Where the new tokens begin. @param {CanvasRenderingContext2D} context  @param {Scene} scene */
function drawBorder(context, { geometry: g, prompt, colours }) {
  if (prompt >= g.n) return;
  const x = g.left + prompt * g.cell - g.panX;
  const y = g.top + prompt * g.cell - g.panY;
  context.strokeStyle = colours.fresh;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, g.top);
  context.lineTo(x, g.top + g.size);
  context.moveTo(g.left, y);
  context.lineTo(g.left + g.size, y);
  context.stroke();
}

/** One pixel a cell, blown up; where cells are smaller than screen pixels, each pixel shows the largest of its cells.
 * @param {CanvasRenderingContext2D} context  @param {Scene} scene */
function drawPixels(context, { geometry: g, weights, scale, map }) {
  const room = Math.floor(g.size * (devicePixelRatio || 1));
  const side = g.cell * g.n <= g.size + 0.5 ? Math.min(g.n, room) : g.n;
  const cells = side < g.n ? poolLargest(weights, g.n, side) : weights;
  const small = new OffscreenCanvas(side, side);
  const pixels = new ImageData(colourCells(cells, side, scale, map), side, side);
  /** @type {OffscreenCanvasRenderingContext2D} */ (small.getContext('2d')).putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, g.left - g.panX, g.top - g.panY, g.cell * g.n, g.cell * g.n);
}

/** @param {Float32Array} weights [n, n]  @param {number} n  @param {number} side  @returns {Float32Array} [side, side] */
function poolLargest(weights, n, side) {
  const pooled = new Float32Array(side * side);
  for (let row = 0; row < n; row++) {
    const target = Math.floor((row * side) / n) * side;
    for (let col = 0; col < n; col++) {
      const at = target + Math.floor((col * side) / n);
      pooled[at] = Math.max(pooled[at], weights[row * n + col]);
    }
  }
  return pooled;
}

/** @param {CanvasRenderingContext2D} context  @param {Scene} scene */
function drawCross(context, { geometry: g, cell, hover, colours }) {
  const x = g.left + cell.col * g.cell - g.panX;
  const y = g.top + cell.row * g.cell - g.panY;
  const radius = g.cell >= 14 ? 3 : 0;
  context.strokeStyle = colours.accent;
  context.lineWidth = 1;
  context.globalAlpha = 0.55;
  outline(context, g.left + 0.5, y, g.size - 1, g.cell, radius);
  outline(context, x, g.top + 0.5, g.cell, g.size - 1, radius);
  context.globalAlpha = 1;
  if (hover) {
    context.strokeStyle = colours.ink;
    outline(context, g.left + hover.col * g.cell - g.panX, g.top + hover.row * g.cell - g.panY, g.cell, g.cell, radius);
  }
  context.lineWidth = 4.5;
  context.strokeStyle = colours.panel;
  outline(context, x, y, g.cell, g.cell, radius + 1);
  context.lineWidth = 2.5;
  context.strokeStyle = colours.accent;
  outline(context, x, y, g.cell, g.cell, radius + 1);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} w @param {number} h @param {number} r */
function outline(context, x, y, w, h, r) {
  context.beginPath();
  context.roundRect(x, y, w, h, r);
  context.stroke();
}

/**
 * Labels of all rows and columns where there is room for them; where there is not, every so many, and always the chosen
 * and the hovered one, which push their neighbours aside.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 */
function drawLabels(context, scene) {
  const { geometry: g, labels, cell, hover, prompt, colours } = scene;
  context.textBaseline = 'middle';
  for (const axis of /** @type {const} */ (['row', 'col'])) {
    const every = g.cell >= LABEL_STEP[axis] - 2 ? 1 : Math.ceil(LABEL_STEP[axis] / g.cell);
    const pan = axis === 'row' ? g.panY : g.panX;
    const start = axis === 'row' ? g.top : g.left;
    const marked = hover && hover[axis] !== cell[axis] ? [cell[axis], hover[axis]] : [cell[axis]];
    const [first, end] = visible(g, pan);
    for (let i = first; i < end; i++) {
      const strong = marked.includes(i);
      const place = start + (i + 0.5) * g.cell - pan;
      if (place < start - 1 || place > start + g.size + 1) continue;
      if (!strong && (i % every !== 0 || marked.some((m) => every > 1 && Math.abs(m - i) * g.cell < LABEL_STEP[axis])))
        continue;
      context.fillStyle = i >= prompt ? colours.fresh : strong ? colours.ink : colours.dim;
      context.font = `${strong ? '600 ' : ''}${LABEL_FONT}px ${colours.font}`;
      drawLabel(context, g, axis, place, labels[i]);
    }
  }
}

/** @param {CanvasRenderingContext2D} context @param {Geometry} g @param {'row' | 'col'} axis @param {number} place @param {string} label */
function drawLabel(context, g, axis, place, label) {
  context.direction = directionOf(label);
  if (axis === 'row') {
    context.textAlign = 'right';
    context.fillText(shorten(context, label, g.left - 8), g.left - 7, place);
    return;
  }
  context.save();
  context.translate(place + 1, g.top - 7);
  context.rotate(SLANT);
  context.textAlign = 'left';
  context.fillText(shorten(context, label, LONGEST_LABEL), 0, 0);
  context.restore();
}

/** The legend: the map as it is drawn now. @param {HTMLCanvasElement} canvas  @param {Uint8ClampedArray} map */
export function drawLegend(canvas, map) {
  canvas.width = STEPS;
  canvas.height = 1;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.putImageData(new ImageData(new Uint8ClampedArray(map), STEPS, 1), 0, 0);
}
