/** How the suite prints: tables that are markdown and line up in a terminal. */

/** @typedef {{ title: string, head: string[], rows: string[][], notes?: string[] }} Table */
/**
 * What a part of the suite has measured; `kept` are the tables for docs/measurements.md, the shorter ones.
 * @typedef {{ tables: Table[], kept: Table[] }} Report
 */
/**
 * @typedef {object} Settings
 * @property {number} rounds
 * @property {number} threads measured beside one
 * @property {boolean} full long sequences too
 * @property {boolean} brief one small case of each kind, to see that it runs
 * @property {string | null} peers the folder of onnxruntime-web
 * @property {string} peerModels the folder that make_peer_models.py wrote
 */

/** @param {string[]} cells @param {number[]} widths */
const line = (cells, widths) =>
  `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;

/** @param {Table} table */
export function tableText({ title, head, rows, notes = [] }) {
  const widths = head.map((name, i) => Math.max(3, name.length, ...rows.map((row) => row[i].length)));
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [`### ${title}`, '', line(head, widths), rule, ...rows.map((row) => line(row, widths)), ...notes, ''].join(
    '\n',
  );
}

/** @param {number} threads */
export const threadsText = (threads) => (threads === 1 ? 'one thread' : `${threads} threads`);

/** Three significant digits, without an exponent. @param {number} value */
export const digits = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** @param {number} share */
export const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

/** @param {number} ratio */
export const times = (ratio) => `${ratio.toFixed(2)} x`;
