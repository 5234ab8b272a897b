/** What keys do on the page beyond what the views do with theirs. */

/** @typedef {import('./app.js').App} App */

/** @param {EventTarget | null} target */
function isWriting(target) {
  return (
    target instanceof HTMLElement &&
    (target.matches('textarea, input, select') || target.closest('dialog[open]') !== null)
  );
}

/** Anywhere but in a text field: heads and help. @param {App} app  @param {KeyboardEvent} event */
export function onPageKey(app, event) {
  if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const heads = app.state.place === 'sandbox' ? app.sandbox : app;
  if (event.key === '[') heads.stepHead(-1);
  else if (event.key === ']') heads.stepHead(1);
  else if (event.key === '?') app.openDialog('help');
  else return;
  event.preventDefault();
}

/**
 * Where a key leads in the matrix.
 * @type {Record<string, (at: { row: number, col: number }, last: number, ctrl: boolean) => { row: number, col: number }>}
 */
const CELL_MOVES = {
  ArrowUp: ({ row, col }) => ({ row: row - 1, col }),
  ArrowDown: ({ row, col }) => ({ row: row + 1, col }),
  ArrowLeft: ({ row, col }) => ({ row, col: col - 1 }),
  ArrowRight: ({ row, col }) => ({ row, col: col + 1 }),
  Home: ({ row }, _, ctrl) => ({ row: ctrl ? 0 : row, col: 0 }),
  End: ({ row }, last, ctrl) => ({ row: ctrl ? last : row, col: last }),
};

/** In the head's pane: cells and layers. @param {App} app  @param {KeyboardEvent} event */
export function onHeadKey(app, event) {
  if (isWriting(event.target) || event.metaKey || event.altKey) return;
  const { layer, head, row, col } = app.wanted;
  const inMatrix = event.target instanceof HTMLElement && event.target.closest('.matrix-stage') !== null;
  const move = inMatrix ? CELL_MOVES[event.key] : undefined;
  if (move) app.pickCell(move({ row, col }, app.labels.length - 1, event.ctrlKey));
  else if (event.key === 'PageUp') app.pickHead({ layer: layer - 1, head });
  else if (event.key === 'PageDown') app.pickHead({ layer: layer + 1, head });
  else return;
  event.preventDefault();
}
