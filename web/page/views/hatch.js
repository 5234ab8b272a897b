/** Cells without a weight, which is another thing than a weight of 0: hatched on canvases as in the style sheets. */

const TILE = 6;

/**
 * A pattern of thin lines, rising to the right.
 * @param {CanvasRenderingContext2D} context
 * @param {{ hatch: string, panel: string }} colours
 * @returns {CanvasPattern}
 */
export function hatchPattern(context, { hatch, panel }) {
  const ratio = devicePixelRatio || 1;
  const side = Math.round(TILE * ratio);
  const tile = new OffscreenCanvas(side, side);
  const pen = /** @type {OffscreenCanvasRenderingContext2D} */ (tile.getContext('2d'));
  pen.fillStyle = panel;
  pen.fillRect(0, 0, side, side);
  pen.strokeStyle = hatch;
  pen.lineWidth = ratio;
  pen.beginPath();
  /* Through the corners as well, so that lines go on in the next tile. */
  for (const shift of [-side, 0, side]) {
    pen.moveTo(shift - 1, side + 1);
    pen.lineTo(shift + side + 1, -1);
  }
  pen.stroke();
  const pattern = /** @type {CanvasPattern} */ (context.createPattern(tile, 'repeat'));
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/**
 * The runs of cells of a row that have no weight, [from, to).
 * @param {import('../first-column.js').ReasonOf} reasonOf
 * @param {number} row
 * @param {number} from
 * @param {number} to
 */
export function* hiddenRuns(reasonOf, row, from, to) {
  let start = -1;
  for (let col = from; col < to; col++) {
    const isHidden = reasonOf(row, col) !== null;
    if (isHidden && start < 0) start = col;
    if (!isHidden && start >= 0) {
      yield [start, col];
      start = -1;
    }
  }
  if (start >= 0) yield [start, to];
}
