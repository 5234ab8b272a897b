#!/usr/bin/env node
/** The command line: text in, one matrix of one head out. Exit code 2 for bad usage, 1 for other failures, one sentence
 * each. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toCsv } from '../lib/export/csv.js';
import { toMatrixJson } from '../lib/export/matrix_json.js';
import { toNpy } from '../lib/export/npy.js';
import { toSvg } from '../lib/export/svg.js';
import { coloursOf, toTerminal } from '../lib/export/terminal.js';

/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').Run} Run */
/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */

const HELP = `Usage: qkv "text" [options]

Prints what one attention head of a transformer does with the text.

  --model DIR      folder with config.json, model.safetensors and tokenizer.json;
                   default: all-MiniLM-L6-v2, where it came along
  --layer L        from 0 (default 0)
  --head H         from 0 (default 0)
  --stage S        weights (default), or another step: x, qLinear, kLinear, q, k, v,
                   scores, scaled, capped, biased, masked, context, concat, output, hidden
  --kind K         which attention of the model; default: its first
  --pair TEXT      second text
  --format F       heatmap (default), json, csv, npy or svg
                   In csv a label that begins with = + - or @ gets a ' in front, so that
                   spreadsheets do not take it for a formula
  --out FILE       write there instead of standard output
  --precision P    auto (default: as the file is), f32 or q10
  --version
  --help
`;

const OPTIONS = /** @type {const} */ ({
  model: { type: 'string' },
  layer: { type: 'string', default: '0' },
  head: { type: 'string', default: '0' },
  stage: { type: 'string', default: 'weights' },
  kind: { type: 'string' },
  pair: { type: 'string' },
  format: { type: 'string', default: 'heatmap' },
  out: { type: 'string' },
  precision: { type: 'string', default: 'auto' },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
});
const FORMATS = ['heatmap', 'json', 'csv', 'npy', 'svg'];
const PRECISIONS = /** @type {const} */ (['auto', 'f32', 'q10']);
const MAPS = ['scores', 'scaled', 'capped', 'biased', 'masked', 'weights'];
const PER_HEAD = ['qLinear', 'kLinear', 'q', 'k', 'v', 'context'];
const WHOLE = ['x', 'concat', 'output', 'hidden'];
const BUNDLED = fileURLToPath(new URL('../models/minilm', import.meta.url));
const NARROWEST = 40;
const USUAL_WIDTH = 100;

/** Bad usage, as opposed to what went wrong later. */
class UsageError extends Error {}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof UsageError;
  const message = error instanceof Error ? error.message : String(error);
  const [sentence] = message.split('\n');
  process.stderr.write(`qkv: ${sentence}${isUsage ? ' (qkv --help explains)' : ''}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

/** @param {string[]} args */
async function main(args) {
  const { values, positionals } = readArguments(args);
  if (values.help) return print(HELP);
  if (values.version) return print(`${version()}\n`);
  const text = textOf(positionals);
  const place = { layer: wholeNumber('--layer', values.layer), head: wholeNumber('--head', values.head) };
  const format = oneOf('--format', values.format, FORMATS);
  const stage = oneOf('--stage', values.stage, [...MAPS, ...PER_HEAD, ...WHOLE]);
  const precision = oneOf('--precision', values.precision, PRECISIONS);
  if (values.out === '') throw new UsageError('--out: the name of the file is empty');
  const toScreen = values.out === undefined && process.stdout.isTTY;
  if (format === 'npy' && toScreen) throw new UsageError('npy is binary: name a file with --out FILE');
  const { loadModel } = await library();
  const model = await loadModel(modelFolder(values.model), { precision, worker: false });
  checkPlace(model, place, values.kind, stage);
  const run = await model.forward(values.pair === undefined ? text : [text, values.pair]);
  warnOfTruncation(run);
  const matrix = await matrixOf(run, stage, { ...place, kind: values.kind });
  const content = render(format, matrix, { model, run, stage, ...place, isFile: values.out !== undefined });
  model.dispose();
  if (values.out === undefined) await print(content);
  else save(content, values.out);
}

/** @param {string[]} args */
function readArguments(args) {
  try {
    return parseArgs({ args: withNegatives(args), options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(parseProblem(/** @type {NodeJS.ErrnoException} */ (error)));
  }
}

/**
 * `--layer -1` as `--layer=-1`, which parseArgs takes for a value, so that the value is what gets refused.
 * @param {string[]} args
 */
function withNegatives(args) {
  /** @type {string[]} */
  const joined = [];
  const end = args.indexOf('--');
  args.forEach((arg, at) => {
    const isOption = at > 0 && (end < 0 || at < end) && /^--[a-z]+$/.test(args[at - 1]);
    if (isOption && /^-\d/.test(arg)) joined[joined.length - 1] += `=${arg}`;
    else joined.push(arg);
  });
  return joined;
}

/**
 * What parseArgs found, without its advice on writing programs.
 * @param {NodeJS.ErrnoException} error
 */
function parseProblem({ code, message }) {
  const option = /'[^']*?(--?[^\s',]+)(?: <value>)?'/.exec(message)?.[1];
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    return `there is no option ${option}; a text that begins with "-" goes last, after --`;
  }
  if (/argument missing/.test(message)) return `${option} needs a value`;
  if (/ambiguous/.test(message)) return `${option} needs a value; one that begins with "-" is given as ${option}=VALUE`;
  return message.split('\n')[0].replace(/\.$/, '');
}

/** @param {string[]} positionals */
function textOf(positionals) {
  if (positionals.length === 0) throw new UsageError('no text given');
  if (positionals.length > 1) throw new UsageError(`got ${positionals.length} texts, want one: put it in quotes`);
  if (positionals[0].trim() === '') throw new UsageError('the text is empty: give at least one word');
  return positionals[0];
}

/**
 * @param {string} option
 * @param {string} value
 */
function wholeNumber(option, value) {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new UsageError(`${option}: got ${JSON.stringify(value)}, want a whole number from 0`);
}

/**
 * @template {string} T
 * @param {string} option
 * @param {string} value
 * @param {readonly T[]} choices
 */
function oneOf(option, value, choices) {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw new UsageError(`${option}: got ${JSON.stringify(value)}, want one of ${choices.join(', ')}`);
}

async function library() {
  try {
    return await import('qkv');
  } catch (cause) {
    if (/** @type {NodeJS.ErrnoException} */ (cause).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Error('the library is not built yet: run ./build.sh wasm', { cause });
  }
}

/** @returns {string} */
function version() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** @param {string | undefined} given */
function modelFolder(given) {
  if (given !== undefined) return given;
  if (existsSync(BUNDLED)) return BUNDLED;
  throw new UsageError(
    'no model came with this package: name one with --model DIR, a folder from the Hugging Face hub',
  );
}

/**
 * @param {Model} model
 * @param {{ layer: number, head: number }} place
 * @param {string | undefined} kind
 * @param {string} stage
 */
function checkPlace({ info }, { layer, head }, kind, stage) {
  if (layer >= info.layers) throw new UsageError(`--layer: got ${layer}, want 0 to ${info.layers - 1}`);
  if (!WHOLE.includes(stage) && head >= info.heads) {
    throw new UsageError(`--head: got ${head}, want 0 to ${info.heads - 1}`);
  }
  if (kind !== undefined) oneOf('--kind', kind, info.kinds);
}

/** @param {Run} run */
function warnOfTruncation({ truncated }) {
  if (truncated === null || Array.isArray(truncated)) return;
  const { from, to } = truncated;
  process.stderr.write(`qkv: the text has ${from} tokens and the model takes ${to}; the rest was left out\n`);
}

/**
 * @param {Run} run
 * @param {string} stage
 * @param {{ layer: number, head: number, kind?: string }} place
 * @returns {Promise<Matrix>}
 */
async function matrixOf(run, stage, place) {
  const { shape, data } = await run.getStage(stage, place);
  return { rows: shape[0], cols: shape[1], data };
}

/**
 * @param {string} format
 * @param {Matrix} matrix
 * @param {{ model: Model, run: Run, stage: string, layer: number, head: number, isFile: boolean }} about
 */
function render(format, matrix, { model, run, stage, layer, head, isFile }) {
  const tokens = run.tokens.map(({ text }) => text);
  const isMap = MAPS.includes(stage);
  const labels = { rows: tokens, cols: isMap ? tokens : Array.from({ length: matrix.cols }, (_, col) => String(col)) };
  if (format === 'npy') return toNpy(matrix.data, [matrix.rows, matrix.cols]);
  if (format === 'csv') return toCsv(matrix, labels);
  const { name, precision } = model.info;
  if (format === 'json') {
    const where = { layer, head: WHOLE.includes(stage) ? null : head };
    return toMatrixJson(matrix, labels, { model: name, precision, ...where, stage });
  }
  const place = WHOLE.includes(stage) ? `layer ${layer}` : `layer ${layer}, head ${head}`;
  const title = `${name} (${precision}), ${place}: ${stage}`;
  const isWeights = stage === 'weights';
  if (format === 'svg') return toSvg(matrix, labels, { title, isWeights });
  const width = Math.max(NARROWEST, process.stdout.columns ?? USUAL_WIDTH);
  const colours = isFile ? 'none' : coloursOf(process.stdout, process.env);
  const timed = `${title}, ${run.time.toFixed(1)} ms`;
  return toTerminal(matrix, labels, { title: timed, isWeights, isMap, colours, width });
}

/**
 * @param {string | Uint8Array} content
 * @param {string} file
 */
function save(content, file) {
  try {
    writeFileSync(file, content);
  } catch (cause) {
    throw new Error(`--out: ${file} cannot be written: ${reason(cause)}`, { cause });
  }
}

/**
 * @param {string | Uint8Array} content
 * @returns {Promise<void>}
 */
function print(content) {
  return new Promise((done, failed) => {
    // Without a listener a full disk would end the process with a stack trace.
    process.stdout.on('error', () => {});
    process.stdout.write(content, (error) => {
      // A reader that has seen enough (`qkv ... | head`) is no failure.
      if (!error || /** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE') done();
      else failed(new Error(`standard output cannot be written: ${reason(error)}`));
    });
  });
}

/**
 * "ENOSPC: no space left on device, write" without code and call.
 * @param {unknown} error
 */
function reason(error) {
  const message = error instanceof Error ? error.message : String(error);
  return /^E[A-Z]+: (.+?), \w+/.exec(message)?.[1] ?? message;
}
