/** Names of the custom elements. A call and not side effects of imports, which bundlers may drop. */
import { BarStrip } from './bar-strip.js';
import { HeadStrip } from './head-strip.js';
import { HeadsGrid } from './heads-grid.js';
import { LinesView } from './lines-view.js';
import { MatrixView } from './matrix-view.js';
import { NumberChain } from './number-chain.js';
import { NumberSheet } from './number-sheet.js';
import { TextView } from './text-view.js';
import { TokenBars } from './token-bars.js';
import { WeightsTable } from './weights-table.js';

const VIEWS = {
  'qkv-bars': BarStrip,
  'qkv-heads': HeadsGrid,
  'qkv-lines': LinesView,
  'qkv-matrix': MatrixView,
  'qkv-next': TokenBars,
  'qkv-number': NumberChain,
  'qkv-sheet': NumberSheet,
  'qkv-strip': HeadStrip,
  'qkv-table': WeightsTable,
  'qkv-text': TextView,
};

export function defineViews() {
  for (const [name, view] of Object.entries(VIEWS)) customElements.define(name, view);
}
