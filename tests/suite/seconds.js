/** How long jobs take, roughly, on a quiet core: for the order of the first run in a tree, whose own times are then kept. */

/** @type {Record<string, number>} */
const KNOWN = {};

/** @param {import('./parts.js').Job} job */
export const guess = ({ name, part }) => KNOWN[name] ?? (part === 'browser' ? 20 : part === 'mutants' ? 25 : 2);
