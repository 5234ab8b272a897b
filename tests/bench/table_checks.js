/** What a table of the suite must look like, whatever was measured. */
import assert from 'node:assert/strict';

/** @typedef {import('../../bench/report.js').Report} Report */

/** One small case of each kind, once; no peer. @type {import('../../bench/report.js').Settings} */
export const BRIEF = { rounds: 1, threads: 2, full: false, brief: true, peers: null, peerModels: '' };

/**
 * Rows fit their head and every number is one.
 * @param {Report} report
 */
export function checkTables({ tables, kept }) {
  assert.ok(tables.length > 0 && kept.length > 0);
  for (const { title, head, rows } of [...tables, ...kept]) {
    assert.ok(rows.length > 0, `${title}: no row`);
    for (const row of rows) {
      assert.equal(row.length, head.length, `${title}: ${row[0]}`);
      assert.doesNotMatch(row.join(' '), /NaN|undefined|null|Infinity/, title);
    }
  }
}

/** The first cells of a report's tables. @param {Report} report */
export const namesIn = ({ tables }) => tables.flatMap(({ rows }) => rows.map(([name]) => name));
