/** The heads of the sandbox side by side: a button each, with its weights in small. */
import { html } from 'lit';
import { colourCells, colourMap } from '../palette.js';
import { View } from './view.js';

export class HeadStrip extends View {
  static properties = {
    weights: { attribute: false },
    shape: { attribute: false },
    head: { attribute: false },
    theme: { attribute: false },
    t: { attribute: false },
  };

  constructor() {
    super();
    /** [h, N, M] */
    this.weights = new Float32Array(0);
    this.shape = { heads: 0, rows: 0, cols: 0 };
    this.head = 0;
    /** @type {'light' | 'dark'} */
    this.theme = 'light';
    /** @type {import('../words/translate.js').Translate} */
    this.t = (key) => key;
  }

  render() {
    const heads = Array.from({ length: this.shape.heads }, (_, head) => head);
    return html`<div class="strip" role="group" aria-label=${this.t('heads')}>${heads.map(
      (
        head,
      ) => html`<button type="button" class="strip-head" aria-pressed=${head === this.head} @click=${() => this.emit('pick-head', head)}>
        <canvas aria-hidden="true"></canvas><span>${this.t('inHead', { head })}</span></button>`,
    )}</div>`;
  }

  updated() {
    const { rows, cols } = this.shape;
    const map = colourMap(this.theme);
    this.querySelectorAll('canvas').forEach((canvas, head) => {
      canvas.width = cols;
      canvas.height = rows;
      const cells = this.weights.subarray(head * rows * cols, (head + 1) * rows * cols);
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
      context.putImageData(new ImageData(colourCells(cells, cols, 'sqrt', map), cols, rows), 0, 0);
    });
  }
}
