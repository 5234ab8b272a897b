/** The worker's side of the protocol, given any messages: nothing may get out of it but messages, and each request is answered
 * exactly once, with a result or an error that says what was wrong with it. */
import assert from 'node:assert/strict';
import { ERROR_CODES } from '../../../web/lib/checks/errors.js';
import { serve } from '../../../web/lib/worker/host.js';
import { jsonBytes, jsonInputs, jsonValueOf } from './inputs.js';
import { revived } from './messages.js';
import { turn, withoutStrays } from './strays.js';

/** @typedef {Record<string, any>} Message */

const MOST_MESSAGES = 40;
/** Turns in which the largest of them are computed by far. */
const MOST_TURNS = 20_000;
const WAIT = { $: 'turn' };

/** @param {string} files @returns {Message} */
const load = (files) => ({
  id: 1,
  method: 'load',
  run: null,
  args: [{ module: { $: 'module' }, limit: 64e6, pool: null, source: { $: files }, options: { precision: 'auto' } }],
});
/** @param {number} id @param {string} method @param {unknown[]} args @param {number | null} [run] @returns {Message} */
const request = (id, method, args, run = null) => ({ id, method, run, args });

const SEEDS = [
  [
    load('encoder'),
    request(2, 'forward', [{ ids: [1, 2, 3] }, {}]),
    request(3, 'forward', ['a b', { ablate: [{ layer: 0, head: 1 }], scale: 0.5, temperature: 2 }]),
    WAIT,
    request(4, 'getWeights', [0, 1, { stage: 'masked', rows: [0, 2] }], 1),
    request(5, 'getStage', ['q', { layer: 1, head: 1 }], 2),
    request(6, 'overview', [{ size: 4 }], 1),
    request(7, 'dispose', [], 1),
    request(8, 'hidden', [2], 1),
    request(9, 'embedding', [{ pooling: 'cls', normalize: false }], 2),
  ],
  [
    load('decoder'),
    WAIT,
    request(2, 'generate', ['ab', { maxNewTokens: 4, temperature: 1, topK: 5, seed: 3 }]),
    { abort: 2 },
    request(3, 'generate', [{ ids: [1, 2] }, { maxNewTokens: 3 }]),
    request(4, 'nextTokens', [3, { position: 0 }], 1),
    request(5, 'logits', [], 1),
    request(6, 'tokenize', ['a b', 'c']),
    request(7, 'embed', [['a', 'b c', 'def'], {}]),
    WAIT,
    { abort: 7 },
    request(8, 'nextTokens', [], 1),
  ],
  [
    load('encoder'),
    request(2, 'forward', [{ batch: { $: 'holes' } }]),
    request(3, 'forward', [
      { batch: ['a', { ids: { $: 'bytes' } }] },
      { mask: { allow: { data: { $: 'bytes' }, shape: [3] } } },
    ]),
    request(4, 'forward', [{ $: 'cycle' }, { $: 'undefined' }]),
    request(5, 'embed', [{ $: 'holes' }, { pooling: 'mean' }]),
    request(6, 'tokenize', [{ $: 'map' }]),
    request(6, 'getWeights', [{ $: 'nan' }, { $: 'bigint' }], 1),
    { abort: 3 },
    null,
    7,
    { id: { $: 'buffer' } },
  ],
  [
    request(1, 'forward', ['a']),
    load('none'),
    request(2, 'tokenize', ['a']),
    { ready: true },
    WAIT,
    load('decoder'),
    load('encoder'),
  ],
];

/** @param {unknown} message @returns {message is Message} what the client may send */
function isRequest(message) {
  if (typeof message !== 'object' || message === null || 'abort' in message) return false;
  const { id, method, run, args } = /** @type {Message} */ (message);
  return (
    Number.isSafeInteger(id) &&
    typeof method === 'string' &&
    (run === null || Number.isSafeInteger(run)) &&
    Array.isArray(args)
  );
}

/** Starts a worker's side that hears and says through this. */
function startHost() {
  /** @type {Message[]} */
  const said = [];
  /** @type {(message: unknown) => void} */
  let hear = () => {};
  const parentPort = {
    on: (/** @type {string} */ event, /** @type {typeof hear} */ listener) => {
      if (event === 'message') hear = listener;
    },
    postMessage: (/** @type {Message} */ message, /** @type {ArrayBuffer[]} */ transfer) =>
      void said.push(structuredClone(message, { transfer })),
  };
  const own = process.getBuiltinModule;
  const given = (/** @type {string} */ name) =>
    name === 'node:worker_threads' ? { parentPort } : own(/** @type {any} */ (name));
  Object.assign(process, { getBuiltinModule: given });
  try {
    serve();
  } finally {
    Object.assign(process, { getBuiltinModule: own });
  }
  return { said, hear: (/** @type {unknown} */ message) => hear(message) };
}

/** @param {Message} message */
const isAnswer = (message) => 'result' in message || 'error' in message;

/** @param {unknown[]} messages @param {Message[]} said */
function checkAnswers(messages, said) {
  const requests = messages.filter(isRequest);
  const answers = said.filter(isAnswer);
  for (const { id } of requests) {
    const asked = requests.filter((one) => one.id === id).length;
    const alike = messages.filter(
      (one) => typeof one === 'object' && one !== null && /** @type {Message} */ (one).id === id,
    ).length;
    const answered = answers.filter((one) => one.id === id).length;
    assert.ok(answered >= asked && answered <= alike, `request ${id} is answered ${answered} times`);
  }
  for (const { id, error } of answers) {
    if (!error) continue;
    assert.ok(Object.hasOwn(ERROR_CODES, error.code), `code ${error.code}`);
    assert.equal(typeof error.message, 'string');
    const alike = messages.filter((one) => one === Object(one) && /** @type {Message} */ (one).id === id);
    // What the engine is made of comes from the client alone.
    const isLoad = alike.some((one) => /** @type {Message} */ (one).method === 'load');
    if (!isLoad) assert.doesNotMatch(error.code, /^(crash|internal)$/, error.message);
  }
  return answers;
}

/** @type {import('./inputs.js').Target} */
export const host = {
  name: 'host',
  isJson: true,
  seeds: SEEDS.map(jsonBytes),
  inputs: jsonInputs,
  async check(bytes) {
    const list = jsonValueOf(bytes);
    const items = (Array.isArray(list) ? list : [list]).slice(0, MOST_MESSAGES);
    const messages = items.map(revived);
    const fetching = globalThis.fetch;
    globalThis.fetch = () => Promise.reject(new TypeError('there is no network here'));
    try {
      const answers = await withoutStrays(async () => {
        const { said, hear } = startHost();
        const due = () => messages.filter(isRequest).length - said.filter(isAnswer).length;
        for (const [i, message] of messages.entries()) {
          if (items[i]?.$ === 'turn') await turn();
          else hear(message);
        }
        for (let turns = 0; due() > 0 && turns < MOST_TURNS; turns++) await turn();
        await turn();
        return checkAnswers(messages, said);
      });
      return answers
        .map(({ error }) => (error ? error.code : 'result'))
        .slice(-2)
        .join(' ');
    } finally {
      globalThis.fetch = fetching;
    }
  },
};
