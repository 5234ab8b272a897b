/** What of the test run is asked for on the command line. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { PARTS, QUICK_PARTS, quickJobs, ROOT } from './parts.js';

/** @typedef {import('./parts.js').Job} Job */

/** @param {string} path as it was typed @returns {string} from the top of the tree */
const inTree = (path) => relative(ROOT, resolve(path));

/** @param {string} path as it was typed @returns {Job[]} the test file, or those in the folder */
function jobsAt(path) {
  const wanted = inTree(path);
  return Object.values(PARTS)
    .flatMap(({ jobs }) => jobs())
    .filter(({ file }) => file !== undefined && (file === wanted || file.startsWith(`${wanted}/`)));
}

/** @param {string} word @returns {never} */
function refuse(word) {
  const isThere = existsSync(join(ROOT, inTree(word)));
  const problem = isThere ? `there is no test file of JavaScript at ${word}` : `there is no part ${word}`;
  throw new Error(
    `${problem}; the parts are ${Object.keys(PARTS).join(', ')} and quick, or name a file or a folder of tests`,
  );
}

/**
 * @param {string} word a part, `quick`, or the path of a test file or of a folder of such
 * @returns {Job[]}
 */
function jobsOf(word) {
  if (word === 'quick') return quickJobs();
  if (Object.hasOwn(PARTS, word)) return PARTS[word].jobs();
  const jobs = jobsAt(word);
  return jobs.length > 0 ? jobs : refuse(word);
}

/**
 * Each job once, in the order of the parts; everything when nothing is named.
 * @param {string[]} words
 * @returns {Job[]}
 */
export function choose(words) {
  const jobs = (words.length > 0 ? words : Object.keys(PARTS)).flatMap(jobsOf);
  return [...new Map(jobs.map((job) => [job.name, job])).values()];
}

/**
 * What build.sh makes or installs before these jobs.
 * @param {string[]} words
 * @returns {string[]}
 */
export function needsOf(words) {
  const parts = words.flatMap((word) => (word === 'quick' ? QUICK_PARTS : jobsOf(word).map(({ part }) => part)));
  const wanted = words.length > 0 ? parts : Object.keys(PARTS);
  return [...new Set(wanted.flatMap((part) => PARTS[part].needs))];
}
