/**
 * What every view of the page is: a custom element over plain arrays and objects given as properties, which answers
 * with events. It renders into its own light DOM, so that the page's style sheets, its labels and its
 * Content-Security-Policy hold inside as they do outside.
 */
import { LitElement } from 'lit';

export class View extends LitElement {
  createRenderRoot() {
    return this;
  }

  /**
   * @param {string} name
   * @param {unknown} detail
   */
  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }

  /** A colour of the style sheet, for canvases. @param {string} name */
  colour(name) {
    return getComputedStyle(this).getPropertyValue(name).trim();
  }
}

/** A view that draws on a canvas, anew whenever its size changes. */
export class DrawnView extends View {
  constructor() {
    super();
    this.resizing = new ResizeObserver(() => this.draw());
  }

  connectedCallback() {
    super.connectedCallback();
    this.resizing.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.resizing.disconnect();
  }

  /** Each view says how. */
  draw() {}
}

/**
 * Makes a canvas as sharp as the screen; all drawing is in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function sharpContext(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
