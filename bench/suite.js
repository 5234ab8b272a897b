/** The suite: node bench/suite.js [PART...] [--rounds N] [--threads N] [--full] [--peers DIR] [--peer-models DIR] [--readme]
 *
 * Parts: kernels, minilm, inspection, decode, attention; without one, all of them. --full adds sequences that take minutes.
 * --peers names the folder of onnxruntime-web (npm install it anywhere), --peer-models what make_peer_models.py wrote.
 * --readme prints the rows of the README's table, and the rest to stderr. Nothing is asserted here: a figure is for reading.
 * Node 20 runs the relaxed build with --experimental-wasm-relaxed-simd. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { machine, tableText, threadsText } from './report.js';

/** @typedef {import('./report.js').Report} Report */
/** @typedef {import('./report.js').Settings} Settings */

/** @type {Record<string, () => Promise<{ measure: (settings: Settings) => Promise<Report> }>>} */
const PARTS = {
  kernels: () => import('./kernels.js'),
  minilm: () => import('./minilm.js'),
  inspection: () => import('./inspection.js'),
  decode: () => import('./smollm2.js'),
  attention: () => import('./attention.mjs'),
};

const WITH_PEERS = new Set(['minilm', 'attention']);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    threads: { type: 'string', default: '1' },
    full: { type: 'boolean', default: false },
    peers: { type: 'string' },
    'peer-models': { type: 'string', default: 'build/cache/peer' },
    readme: { type: 'boolean', default: false },
  },
});

/** @param {string} message @returns {never} */
function stop(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}

/** @param {string} name @param {string} text */
function count(name, text) {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  return stop(`--${name} wants a whole number above 0, not '${text}'`);
}

/** @type {Settings} */
const settings = {
  rounds: count('rounds', values.rounds),
  threads: count('threads', values.threads),
  full: values.full,
  peers: values.peers === undefined ? null : resolve(values.peers),
  peerModels: resolve(values['peer-models']),
};
const names = positionals.length > 0 ? positionals : Object.keys(PARTS);
const unknown = names.find((name) => !Object.hasOwn(PARTS, name));
if (unknown) stop(`there is no part '${unknown}'; the parts are ${Object.keys(PARTS).join(', ')}`);

const say = values.readme ? console.error : console.log;
/** @param {string} part what measures it again; folders are the reader's own */
const commandOf = (part) =>
  [
    './build.sh bench',
    part,
    ...(settings.peers && WITH_PEERS.has(part) ? ['--peers DIR'] : []),
    ...(settings.full ? ['--full'] : []),
  ].join(' ');
say(`${machine()}, ${settings.rounds} rounds\n`);
for (const name of names) {
  const { tables, readme } = await (await PARTS[name]()).measure(settings);
  for (const table of tables) say(tableText(table));
  if (!values.readme) continue;
  for (const { what, figure } of readme) console.log(`| ${what} | ${figure} | \`${commandOf(name)}\` |`);
}
if (values.readme)
  console.log(`\nMeasured on ${machine()}, ${settings.rounds} rounds; ${threadsText(1)} and f32 unless said.`);
