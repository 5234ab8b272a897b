/** The client's side of the worker's protocol, given any messages and ends of a worker: whatever a worker says or does, each call
 * of the public API ends exactly once, with an answer or a QkvError, and nothing is thrown where nobody can catch it. */
import assert from 'node:assert/strict';
import workerThreads from 'node:worker_threads';
import { QkvError } from '../../../web/lib/checks/errors.js';
import { init, loadModel } from '../../../web/lib/index.js';
import { jsonBytes, jsonInputs, jsonValueOf } from './inputs.js';
import { revived } from './messages.js';
import { turn, withoutStrays } from './strays.js';

/** @typedef {Record<string, any>} Message */
/** @typedef {import('../../../web/lib/index.js').Model} Model */
/** @typedef {import('../../../web/lib/index.js').Run} Run */

const MOST_ITEMS = 60;
/** Of the timers that watch over a worker; none is waited for so long. */
const MOST_TURNS = 300;

const INFO = { name: 'x', kinds: ['decoder'], layers: 2, heads: 3, headRows: 9, maxTokens: 8 };
const RUN = {
  run: 1,
  tokens: [],
  truncated: null,
  lengths: [2],
  time: 1,
  bytes: 9,
  text: null,
  stopped: null,
  promptTokens: 2,
};
const ERROR = {
  name: 'QkvError',
  code: 'range',
  what: 'forward: ids',
  got: 9,
  want: '0 to 8',
  message: 'forward: ids: got 9',
};
const MATRIX = { rows: 1, cols: 2, data: { $: 'floats' } };
const TOKEN = { id: 3, text: 'a', index: 0, special: false };
const PROGRESS = { phase: 'download', file: 'x', loaded: 1, total: 2 };

/** An item is a call (ask), an answer to the oldest call that is open (answer), any message (say), or an end of the worker. */
const SEEDS = [
  [{ say: { ready: true } }, { say: { id: 1, progress: PROGRESS } }, { answer: { result: INFO } }, 'turn']
    .concat(
      /** @type {any[]} */ ([{ ask: 'forward' }, 'turn', { answer: { result: RUN } }, 'turn', { ask: 'read' }, 'turn']),
    )
    .concat(
      /** @type {any[]} */ ([
        { answer: { result: MATRIX } },
        'turn',
        { ask: 'read' },
        'turn',
        { answer: { error: ERROR } },
      ]),
    ),
  [
    ...[{ say: { ready: true } }, { answer: { result: INFO } }, 'turn', { ask: 'generate', hear: 'throws' }, 'turn'],
    ...[
      { say: { id: 2, token: TOKEN } },
      'turn',
      { answer: { result: RUN } },
      'turn',
      { ask: 'embed', hear: 'rejects' },
      'turn',
    ],
    ...[{ say: { id: 3, progress: PROGRESS } }, 'turn', { answer: { result: [{ $: 'floats' }] } }, { ask: 'tokenize' }],
  ],
  [
    ...[
      { say: { ready: true } },
      { answer: { result: INFO } },
      'turn',
      { ask: 'forward' },
      { ask: 'generate' },
      'turn',
    ],
    ...[
      'abort',
      { say: null },
      { say: 7 },
      { say: { id: 2 } },
      { say: { id: 3, error: null } },
      { answer: { error: { $: 'error' } } },
    ],
    ...[
      { end: 'exit' },
      'turn',
      { ask: 'forward' },
      'turn',
      { say: { ready: true } },
      { answer: { result: INFO } },
      'turn',
    ],
  ],
  [
    { say: { ready: true } },
    { answer: { result: INFO } },
    'turn',
    { ask: 'forward' },
    'turn',
    { answer: { result: null } },
    'turn',
  ].concat(
    /** @type {any[]} */ ([
      { end: 'error' },
      { end: 'messageerror' },
      { ask: 'embed' },
      'turn',
      { end: 'exit' },
      'dispose',
    ]),
  ),
  [{ end: 'error' }],
  [{ answer: { error: ERROR } }],
];

/** What stands in for Node's class: hears what the client sends, and says what the input has. */
class FakeWorker {
  /** @type {FakeWorker | null} the one that was started last */
  static latest = null;
  /** @type {number[]} requests that are not answered */
  open = [];
  /** @type {Map<string, (value: unknown) => void>} */
  #listeners = new Map();

  constructor() {
    FakeWorker.latest = this;
  }

  /** @param {string} event @param {(value: unknown) => void} listener */
  on(event, listener) {
    this.#listeners.set(event, listener);
    return this;
  }

  once = this.on;

  /** @param {Message} message */
  postMessage(message) {
    if (typeof message.id === 'number' && message.method !== 'dispose') this.open.push(message.id);
  }

  /** @param {string} event @param {unknown} value */
  emit(event, value) {
    this.#listeners.get(event)?.(value);
  }

  terminate() {
    return Promise.resolve(1);
  }

  ref() {}
  unref() {}
}

/** A callback's own error, which comes back as it is. */
class CallbackError extends Error {}

/** @param {unknown} way */
const callback = (way) => () => {
  if (way === 'throws') throw new CallbackError('of the callback');
  return way === 'rejects' ? Promise.reject(new CallbackError('of the callback')) : undefined;
};

const engine = await init({ variant: 'simd' });

/** Calls, and what has come of them. */
function createCalls() {
  /** @type {string[]} */
  const ends = [];
  let open = 0;
  /** @param {() => Promise<unknown>} ask @param {(value: any) => void} [take] */
  const begin = (ask, take) => {
    open++;
    ask().then(
      (value) => {
        open--;
        ends.push('answer');
        take?.(value);
      },
      (error) => {
        open--;
        if (error instanceof CallbackError) ends.push('own error');
        else ends.push(error instanceof QkvError ? `${error.code}` : `no QkvError: ${error?.stack ?? error}`);
      },
    );
  };
  return { begin, ends, open: () => open };
}

/** @param {unknown[]} items */
async function playItems(items) {
  const { begin, ends, open } = createCalls();
  /** @type {Model | null} */
  let model = null;
  /** @type {Run | null} */
  let run = null;
  let controller = new AbortController();
  const load = () =>
    loadModel({ 'config.json': new Uint8Array(2) }, { engine, worker: true, signal: controller.signal });
  begin(load, (loaded) => {
    model = loaded;
  });
  const keep = (/** @type {Run} */ made) => {
    run = made;
  };

  /** @param {string} name @param {unknown} hear */
  const ask = (name, hear) => {
    const [to, of] = [model, run];
    const { signal } = controller;
    if (name === 'read' && of) begin(() => of.getWeights(0, 0));
    if (!to) return;
    if (name === 'forward') begin(() => to.forward('a', { signal }), keep);
    if (name === 'generate') begin(() => to.generate('a', { signal, onToken: callback(hear) }), keep);
    if (name === 'embed') begin(() => to.embed(['a'], { signal, onProgress: callback(hear) }));
    if (name === 'tokenize') begin(() => to.tokenize('a'));
  };

  for (const item of items) {
    const worker = FakeWorker.latest;
    if (item === 'turn') await turn();
    else if (item === 'dispose') /** @type {Model | null} */ (model)?.dispose();
    else if (item === 'abort') {
      controller.abort();
      controller = new AbortController();
    } else if (typeof item === 'object' && item !== null && worker) {
      const { ask: name, hear, say, answer, end } = /** @type {Message} */ (item);
      if ('say' in item) worker.emit('message', revived(say));
      if ('answer' in item)
        worker.emit('message', { id: worker.open.shift(), .../** @type {object} */ (revived(answer)) });
      if (end === 'exit') worker.emit('exit', 1);
      else if (typeof end === 'string') worker.emit(end, new Error('of the worker'));
      if (typeof name === 'string') ask(name, hear);
    }
  }
  await turn();
  /** @type {Model | null} */ (model)?.dispose();
  controller.abort();
  for (let turns = 0; open() > 0 && turns < MOST_TURNS; turns++) await turn();
  assert.equal(open(), 0, 'calls never end');
  for (const end of ends) assert.doesNotMatch(end, /^no QkvError/);
  return ends;
}

/** @type {import('./inputs.js').Target} */
export const client = {
  name: 'client',
  isJson: true,
  seeds: SEEDS.map(jsonBytes),
  inputs: jsonInputs,
  async check(bytes) {
    const list = jsonValueOf(bytes);
    const items = (Array.isArray(list) ? list : [list]).slice(0, MOST_ITEMS);
    const own = workerThreads.Worker;
    Object.assign(workerThreads, { Worker: FakeWorker });
    try {
      const ends = await withoutStrays(() => playItems(items));
      return ends.slice(0, 3).join(' ');
    } finally {
      Object.assign(workerThreads, { Worker: own });
      FakeWorker.latest = null;
    }
  },
};
