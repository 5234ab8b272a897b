#!/usr/bin/env node
/** The command line: text in, one matrix of one head out, or more text. Exit code 2 for bad usage, 1 for other failures, one
 * sentence each. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toCsv } from '../export/csv.js';
import { toMatrixJson } from '../export/matrix_json.js';
import { toNpy } from '../export/npy.js';
import { toSvg } from '../export/svg.js';
import { coloursOf, toTerminal } from '../export/terminal.js';
import { asUsage, HELP, MAPS, oneOf, readCommandLine, UsageError, WHOLE } from './command_line.js';

/** @typedef {import('./command_line.js').CommandLine} CommandLine */
/** @typedef {import('qkv').Model} Model */
/** @typedef {import('qkv').Run} Run */
/** @typedef {{ rows: number, cols: number, data: Float32Array }} Matrix */

const BUNDLED = fileURLToPath(new URL('../models/minilm', import.meta.url));
/** Why the text ends where it does. */
const REASONS = {
  eos: 'the model ended the text',
  stop: 'a text to stop at came',
  length: 'that is what --generate asked for',
  context: 'the model takes no longer text',
};
const NARROWEST = 40;
const USUAL_WIDTH = 100;

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
  const command = readCommandLine(args);
  if (command.ask !== null) {
    await print(command.ask === 'help' ? HELP : `${version()}\n`);
    return;
  }
  const { out, format = 'heatmap' } = command;
  if (format === 'npy' && out === undefined && process.stdout.isTTY) {
    throw new UsageError('npy is binary: name a file with --out FILE');
  }
  const { loadModel } = await library();
  const options = /** @type {const} */ ({ precision: command.precision, worker: false });
  const model = await loadModel(modelFolder(command.source), options).catch((error) => {
    throw asUsage(error);
  });
  try {
    checkPlace(model, command);
    await show(model, { ...command, format, isAsked: command.format !== undefined || out !== undefined });
  } catch (error) {
    throw asUsage(error);
  } finally {
    model.dispose();
  }
}

/** @typedef {Extract<CommandLine, { ask: null }>} ShowCommand */

/**
 * @param {Model} model
 * @param {ShowCommand & { format: NonNullable<ShowCommand['format']>, isAsked: boolean }} command
 */
async function show(model, command) {
  const { next, generate, format, stage, out } = command;
  /** @type {string | [string, string]} */
  const input = command.pair === undefined ? command.text : [command.text, command.pair];
  // What is to be read by a program has standard output for itself.
  const isShared = command.isAsked && out === undefined && format !== 'heatmap';
  const stream = isShared ? process.stderr : process.stdout;
  const run = generate ? await write(model, input, generate, stream) : await model.forward(input);
  if (run === null) return;
  warnOfTruncation(run);
  if (next !== undefined) {
    await print(nextList(await run.nextTokens(next), format === 'json'));
    return;
  }
  if (generate && !command.isAsked) return;
  const matrix = await matrixOf(run, stage, command);
  const content = render(format, matrix, { model, run, ...command, isFile: out !== undefined });
  if (out === undefined) await print(content);
  else save(content, out);
}

/**
 * Prints the new text as it comes. Null: nobody reads it any more.
 * @param {Model} model
 * @param {string | [string, string]} input
 * @param {import('qkv').GenerateOptions} options
 * @param {NodeJS.WriteStream} stream
 */
async function write(model, input, options, stream) {
  const start = performance.now();
  const closed = new AbortController();
  stream.on('error', (error) => closed.abort(error));
  const onToken = (/** @type {import('qkv').NewToken} */ { text }) =>
    void stream.write(stream.isTTY ? withoutControls(text) : text);
  try {
    const run = await model.generate(input, { ...options, onToken, signal: closed.signal });
    if (stream === process.stdout) await print('\n');
    else stream.write('\n');
    if (process.stderr.isTTY) report(run, performance.now() - start);
    return run;
  } catch (error) {
    if (!closed.signal.aborted) throw error;
    checkOutput(closed.signal.reason);
    return null;
  }
}

/**
 * A model may have learnt to write escape sequences, which a terminal would obey.
 * @param {string} text
 */
function withoutControls(text) {
  return text.replace(/(?![\n\t])\p{Cc}/gu, '\ufffd');
}

/**
 * @param {Run} run
 * @param {number} milliseconds
 */
function report({ tokens, promptTokens, stopped }, milliseconds) {
  const count = tokens.length - promptTokens;
  const rate = ((count * 1000) / milliseconds).toFixed(1);
  const why = REASONS[stopped ?? 'length'];
  process.stderr.write(`qkv: ${count} tokens after ${promptTokens}, ${rate} a second; ${why}\n`);
}

/**
 * @param {import('qkv').NextToken[]} tokens
 * @param {boolean} isJson
 */
function nextList(tokens, isJson) {
  if (isJson) return `${JSON.stringify(tokens)}\n`;
  const lines = tokens.map(({ text, probability }) => {
    const percent = (probability * 100).toFixed(2).padStart(6);
    return `${percent} %  ${withoutControls(JSON.stringify(text))}\n`;
  });
  return lines.join('');
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
    'no model came with this package: name one with --model DIR, a folder from the Hugging Face hub or a .gguf file',
  );
}

/**
 * @param {Model} model
 * @param {ShowCommand} command
 */
function checkPlace({ info }, { layer, head, kind, stage }) {
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
 * @param {import('qkv').StageName} stage
 * @param {{ layer: number, head: number, kind?: import('qkv').Kind }} place
 * @returns {Promise<Matrix>}
 */
async function matrixOf(run, stage, { layer, head, kind }) {
  const { shape, data } = await run.getStage(stage, { layer, head, kind });
  return { rows: shape[0], cols: shape[1], data };
}

/**
 * @param {string} format
 * @param {Matrix} matrix
 * @param {{ model: Model, run: Run, stage: import('qkv').StageName, layer: number, head: number, isFile: boolean }} about
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
      try {
        if (error) checkOutput(error);
        done();
      } catch (failure) {
        failed(failure);
      }
    });
  });
}

/**
 * A reader that has seen enough (`qkv ... | head`) is no failure.
 * @param {Error} error
 */
function checkOutput(error) {
  if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE') return;
  throw new Error(`standard output cannot be written: ${reason(error)}`);
}

/**
 * "ENOSPC: no space left on device, write" without code and call.
 * @param {unknown} error
 */
function reason(error) {
  const message = error instanceof Error ? error.message : String(error);
  return /^E[A-Z]+: (.+?), \w+/.exec(message)?.[1] ?? message;
}
