/** The right answers: what a fresh model says that is alone on a fresh engine, asked one thing at a time. */
import { init, loadModel } from '../../web/lib/index.js';
import { filesOf, READS } from './table.js';

/** @typedef {import('./table.js').Kind} Kind */
/** @typedef {import('../../web/lib/index.js').Engine} Engine */
/** @typedef {import('../../web/lib/index.js').Model} Model */
/** @typedef {import('../../web/lib/index.js').NewToken} NewToken */
/** @typedef {import('../../web/lib/index.js').Run} Run */
/** @typedef {{ value?: unknown, code?: string, message?: string }} Answer an error is its code and message */
/**
 * @typedef {Answer & { reads: Map<string, Answer>, told: NewToken[] }} LonelyAnswer reads: what the run says to each question;
 *   told: what onToken heard
 */

/** @type {Map<string, Promise<LonelyAnswer>>} */
const known = new Map();

/**
 * @param {() => unknown} ask
 * @returns {Promise<Answer>}
 */
export async function answerOf(ask) {
  try {
    return { value: await ask() };
  } catch (error) {
    const { code, message } = /** @type {{ code?: string, message: string }} */ (error);
    return { code: code ?? 'none', message };
  }
}

/** What is said about a run before it is asked; not the time it took, nor the bytes, of which each thread takes some. @param {Run} run */
export function factsOf({ tokens, truncated, lengths, text, stopped, promptTokens }) {
  return { tokens, truncated, lengths, text, stopped, promptTokens };
}

/**
 * @param {string} key names the question, together with the kind
 * @param {Kind} kind
 * @param {(model: Model, onToken: (token: NewToken) => void) => Promise<unknown>} ask
 * @returns {Promise<LonelyAnswer>}
 */
export function lonely(key, kind, ask) {
  const whole = `${kind} ${key}`;
  const found = known.get(whole) ?? compute(kind, ask);
  known.set(whole, found);
  return found;
}

/** @param {Kind} kind @param {Parameters<typeof lonely>[2]} ask @returns {Promise<LonelyAnswer>} */
async function compute(kind, ask) {
  const engine = await init();
  const model = await loadModel(filesOf(kind), { engine, worker: false });
  /** @type {NewToken[]} */
  const told = [];
  const reads = new Map();
  const answer = await answerOf(() => ask(model, (token) => void told.push(token)));
  const run = /** @type {Run | undefined} */ (isRun(answer.value) ? answer.value : undefined);
  if (run) {
    for (const [name, read] of Object.entries(READS)) reads.set(name, await answerOf(() => read(run)));
    answer.value = factsOf(run);
  }
  engine.dispose();
  return { ...answer, reads, told };
}

/** @param {unknown} value @returns {value is Run} */
export const isRun = (value) => typeof value === 'object' && value !== null && 'getWeights' in value;

/** @type {Map<string, Promise<Answer>>} */
const attended = new Map();

/**
 * The same for operators.
 * @param {string} key
 * @param {(engine: Engine) => unknown} ask
 * @returns {Promise<Answer>}
 */
export function lonelyOperator(key, ask) {
  const compute = async () => {
    const engine = await init();
    const answer = await answerOf(() => ask(engine));
    engine.dispose();
    return answer;
  };
  const found = attended.get(key) ?? compute();
  attended.set(key, found);
  return found;
}

/** @type {Map<Kind, Promise<number>>} */
const sizes = new Map();

/** Bytes that a model takes of its engine's memory. @param {Kind} kind @returns {Promise<number>} */
export function sizeOf(kind) {
  const measure = async () => {
    const engine = await init();
    const before = engine.memory().used;
    await loadModel(filesOf(kind), { engine, worker: false });
    const { used } = engine.memory();
    engine.dispose();
    return used - before;
  };
  const found = sizes.get(kind) ?? measure();
  sizes.set(kind, found);
  return found;
}
