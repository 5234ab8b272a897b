/** The figures of docs/measurements.md, each part of the suite between its markers, and one table from several programs. */
import { tableText } from './report.js';

/** @typedef {import('./report.js').Table} Table */
/** @typedef {{ where: string, tables: Table[] }} Measured where: the program, such as Node 20.20.2; '': it does not matter */

/**
 * One table of each title; its last column says in which programs a row was measured, if any program is named.
 * @param {Measured[]} measured
 * @returns {Table[]}
 */
export function joinTables(measured) {
  const all = measured.flatMap(({ where, tables }) => tables.map((table) => ({ where, ...table })));
  return [...new Set(all.map(({ title }) => title))].map((title) => {
    const same = all.filter((table) => table.title === title);
    // A program without the relaxed build has fewer columns.
    const names = [...new Set(same.flatMap(({ head }) => head))];
    /** @type {Map<string, string[]>} */
    const programs = new Map();
    for (const { where, head, rows } of same) {
      for (const row of rows) {
        const key = JSON.stringify(names.map((name) => row[head.indexOf(name)] ?? ''));
        programs.set(key, [...(programs.get(key) ?? []), where]);
      }
    }
    const isNamed = same.some(({ where }) => where);
    return {
      title,
      head: [...names, ...(isNamed ? ['in'] : [])],
      rows: [...programs].map(([key, list]) => [...JSON.parse(key), ...(isNamed ? [list.join(', ')] : [])]),
      notes: same.flatMap(({ where, notes = [] }) => notes.map((note) => (where ? `${where}: ${note}` : note))),
    };
  });
}

/** @param {Measured[]} measured @param {string} how the command, the machine and the rounds */
export const blockOf = (measured, how) => `${joinTables(measured).map(markdown).join('\n')}\n${how}`;

/** A table under a title that is no heading: GitHub lists those. @param {Table} table */
function markdown({ notes = [], ...table }) {
  const lines = tableText(table).replace(/^### (.*)/, '**$1**');
  return notes.length > 0 ? `${lines}\n${notes.join('\n')}\n` : lines;
}

/**
 * The text with a block between the markers of a part.
 * @param {string} text
 * @param {string} part
 * @param {string} block
 */
export function replaceBlock(text, part, block) {
  const [open, close] = [`<!-- bench ${part} -->`, `<!-- bench ${part} ends -->`];
  const [from, to] = [text.indexOf(open), text.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`docs/measurements.md has no '${open}' with '${close}' behind it`);
  return `${text.slice(0, from + open.length)}\n${block.trim()}\n${text.slice(to)}`;
}
