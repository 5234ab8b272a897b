/** Runs one input and says in one line what came of it, so that inputs which come to the same need not be kept. */
import { QkvError } from '../../../web/lib/checks/errors.js';
import { measured } from './limits.js';

/** @typedef {import('./inputs.js').Target} Target */
/** @typedef {{ line: string, failure: string | null, microseconds: number }} Outcome failure: what is wrong, with the stack */

/** An error tells a person what is wrong: one line, neither empty nor endless. */
const SENTENCE = /^[^\p{Cc}\p{Cs}]{10,1000}$/u;

/** Codes of errors that begin with a name as it was given. */
const OF_PLACES = new Set(['missing', 'source']);

/** Without what varies from input to input. @param {string} text @returns {string} */
const kindOf = (text) =>
  text
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(/-?\d[\d.e+-]*/g, '#')
    .replace(/#(?:,[#…]*)+/g, '#')
    .slice(0, 160);

/** @param {QkvError} error @returns {string | null} what is wrong with how it says it */
function faultOf({ message, code, what }) {
  if (!SENTENCE.test(message)) return `the message is no sentence: ${JSON.stringify(message.slice(0, 1500))}`;
  return code === undefined || what === '' ? 'the error says too little' : null;
}

/** @param {unknown} error @returns {string} */
const traceOf = (error) => (error instanceof Error ? String(error.stack ?? error) : String(error));

/**
 * @param {Target} target
 * @param {Uint8Array} bytes
 * @param {number} [most] microseconds that even the smallest input may take
 * @returns {Promise<Outcome>}
 */
export async function outcomeOf(target, bytes, most) {
  const { value, error, microseconds, excess } = await measured(bytes.length, async () => target.check(bytes), most);
  if (excess !== null) return { line: `FAILS: ${kindOf(excess)}`, failure: excess, microseconds };
  if (error instanceof QkvError) {
    const fault = faultOf(error);
    if (fault !== null) return { line: `FAILS: ${kindOf(error.what)} is no sentence`, failure: fault, microseconds };
    const want = typeof error.want === 'string' ? kindOf(error.want) : '';
    const what = OF_PLACES.has(error.code) ? '' : kindOf(error.what);
    return { line: `${error.code}: ${what}, ${want.slice(0, 60)}`, failure: null, microseconds };
  }
  if (error === undefined) return { line: `taken: ${value}`, failure: null, microseconds };
  const trace = traceOf(error);
  const place = /\((?:.*\/)?(?:web|tests)\/([^)]*)\)/.exec(trace)?.[1] ?? '';
  return { line: `FAILS: ${kindOf(trace.split('\n')[0])} at ${place}`, failure: trace, microseconds };
}
