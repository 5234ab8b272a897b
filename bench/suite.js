/** The suite: node bench/suite.js [PART...] [browser] [OPTION...]
 *
 * Parts: kernels, minilm, inspection, decode, loading, attention, growth, memory, sizes; without one, all of them. `browser` measures
 * kernels and minilm in headless Chromium; with parts, those.
 *   --rounds N        turns of each contender (20); the best and the median are printed
 *   --threads N       measured beside one thread (2)
 *   --full            sequences of up to 4,096 tokens, which take minutes
 *   --brief           one small case of each kind, once, to see that it runs
 *   --node 20,22,24   in these versions of Node, from npm into build/node-N where they are missing
 *   --peers [DIR]     onnxruntime-web takes turns with us: a folder that has it, or from npm into build/peers
 *   --peer-models DIR what make_peer_models.py wrote (build/cache/peer)
 *   --write           writes the tables into docs/measurements.md, those of the parts that ran
 * Nothing is asserted here: a figure is for reading. */
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { inChromium } from './browser.js';
import { nodeAt, nodeOf } from './nodes.js';
import { packageFolder } from './npm_packages.js';
import { PARTS } from './parts.js';
import { ortFile } from './peers.js';
import { blockOf, replaceBlock } from './measurements.js';
import { tableText } from './report.js';
import { inTree, machine } from './runtime.js';

/** @typedef {import('./nodes.js').Program} Program */
/** @typedef {import('./nodes.js').Result} Result */
/** @typedef {import('./report.js').Settings} Settings */

const THREADS = '2';
const ORT_VERSION = '1.30.0';
const BROWSER = 'browser';
const MEASUREMENTS = inTree('docs/measurements.md');

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

/** What follows --peers may be left out. @param {string[]} args */
const withPeers = (args) =>
  args.map((arg, i) => {
    const next = args[i + 1] ?? '-';
    const isAlone = next.startsWith('-') || next === BROWSER || Object.hasOwn(PARTS, next);
    return arg === '--peers' && isAlone ? '--peers=' : arg;
  });

function readArguments() {
  try {
    return parseArgs({
      args: withPeers(process.argv.slice(2)),
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        threads: { type: 'string', default: THREADS },
        full: { type: 'boolean', default: false },
        brief: { type: 'boolean', default: false },
        node: { type: 'string' },
        peers: { type: 'string' },
        'peer-models': { type: 'string', default: 'build/cache/peer' },
        write: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return stop(error instanceof Error ? error.message : String(error));
  }
}

const { values, positionals } = readArguments();
const asked = positionals.filter((name) => name !== BROWSER);
const unknown = asked.find((name) => !Object.hasOwn(PARTS, name));
if (unknown) stop(`there is no part '${unknown}'; the parts are ${Object.keys(PARTS).join(', ')}, and ${BROWSER}`);
if (values.brief && values.write) stop('--brief measures nothing that belongs into docs/measurements.md');
const versions = values.node === undefined ? [] : values.node.split(',').map((text) => count('node', text));

/** @type {Settings} */
const settings = {
  rounds: count('rounds', values.rounds ?? (values.brief ? '1' : '20')),
  threads: count('threads', values.threads),
  full: values.full,
  brief: values.brief,
  peers: values.peers === undefined ? null : await peersFolder(values.peers),
  peerModels: resolve(values['peer-models']),
};

/** @param {string} named */
async function peersFolder(named) {
  const folder = named ? resolve(named) : packageFolder('onnxruntime-web', ORT_VERSION, 'peers');
  return (await ortFile(folder)) === null ? stop(`there is no onnxruntime-web in ${folder}`) : folder;
}

/** Where parts run, in this order; what says the same everywhere runs in the first alone. */
function plans() {
  const names = asked.length > 0 ? asked : Object.keys(PARTS);
  const inBrowser = positionals.includes(BROWSER);
  const nodes = versions.length > 0 ? versions.map((version) => nodeOf(String(version))) : [nodeAt(process.execPath)];
  const programs = inBrowser && versions.length === 0 ? [] : nodes;
  return [
    ...programs.map((program, i) => ({ program, names: names.filter((name) => i === 0 || !PARTS[name].once) })),
    ...(inBrowser ? [{ program: inChromium, names: names.filter((name) => PARTS[name].inPage) }] : []),
  ].filter((plan) => plan.names.length > 0);
}

/** What measures a part again; folders are the reader's own. @param {string} part */
const commandOf = (part) =>
  [
    './build.sh bench',
    part,
    ...(positionals.includes(BROWSER) && PARTS[part].inPage ? [BROWSER] : []),
    ...(versions.length > 0 && !PARTS[part].once ? [`--node ${versions}`] : []),
    ...(settings.peers && PARTS[part].peers ? ['--peers'] : []),
    ...(settings.full && PARTS[part].full ? ['--full'] : []),
    ...(values.threads !== THREADS ? [`--threads ${values.threads}`] : []),
    ...(values.rounds !== undefined && !PARTS[part].once ? [`--rounds ${values.rounds}`] : []),
    '--write',
  ].join(' ');

/** @param {Result[]} results */
async function writeTables(results) {
  let text = await readFile(MEASUREMENTS, 'utf8');
  for (const part of new Set(results.map((result) => result.part))) {
    const measured = results.filter((result) => result.part === part);
    const { once, fewer } = PARTS[part];
    const tables = measured.map(({ where, report }) => ({ where: once ? '' : where, tables: report.kept }));
    const rounds = `${fewer ? 'up to ' : ''}${settings.rounds} rounds`;
    const conditions = once ? `in ${measured[0].where}` : `on ${machine()}, ${rounds}`;
    text = replaceBlock(text, part, blockOf(tables, `\`${commandOf(part)}\` ${conditions}.`));
  }
  await writeFile(MEASUREMENTS, text);
  console.log(
    `docs/measurements.md has new figures of ${[...new Set(results.map(({ part }) => part))].join(', ') || 'no part'}.`,
  );
}

/** @type {Result[]} */
const results = [];
console.log(`${machine()}, ${settings.rounds} rounds, one thread and ${settings.threads}\n`);
try {
  for (const { program, names } of plans()) {
    let heading = '';
    for await (const result of program(names, settings)) {
      results.push(result);
      if (result.where !== heading) console.log(`## ${result.where}\n`);
      heading = result.where;
      for (const table of result.report.tables) console.log(tableText(table));
    }
  }
} finally {
  // What took an hour is not lost when a later part fails.
  if (values.write) await writeTables(results);
}
if (results.length === 0) stop(`${BROWSER} cannot run ${asked.join(', ')}`);
