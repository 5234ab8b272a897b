/** What can be typed behind `qkv`: the options, their checks, and how to say that something is wrong with them. */

import { parseArgs } from 'node:util';

export const HELP = `Usage: qkv "text" [options]

Prints what one attention head of a transformer does with the text, or continues it.

  --model DIR      folder with config.json, model.safetensors and tokenizer.json, or
                   a .gguf file; default: all-MiniLM-L6-v2, where it came along
  --precision P    how weights are held: auto (default: as the file is), f32, q10, q8
  --pair TEXT      second text
  --version
  --help

One head of the text, or of the text with what --generate wrote
  --layer L        from 0 (default 0)
  --head H         from 0 (default 0)
  --stage S        weights (default), or another step: x, qLinear, kLinear, q, k, v,
                   scores, scaled, capped, biased, masked, context, concat, output,
                   hidden
  --kind K         which attention: encoder or decoder; default: the model's first
  --format F       heatmap (default), json, csv, npy or svg
                   In csv a label that begins with = + - or @ gets a ' in front: else
                   spreadsheets would take it for a formula
  --out FILE       write there instead of standard output

Models with a language-model head
  --next K         the K likeliest next tokens (of a masked model: for the last place)
                   with their probabilities; also with --format json
  --generate N     write up to N more tokens as they come; this needs a decoder. The
                   matrix is then shown only where --format or --out asks for it
  --temperature T  0 (default): always the likeliest token; up to 100: more chance
  --top-k K        draw from the K likeliest tokens only
  --top-p P        draw from the likeliest tokens whose probabilities reach P only
  --seed S         another seed, another text (default 0)
`;

const OPTIONS = /** @type {const} */ ({
  model: { type: 'string' },
  layer: { type: 'string', default: '0' },
  head: { type: 'string', default: '0' },
  stage: { type: 'string', default: 'weights' },
  kind: { type: 'string' },
  pair: { type: 'string' },
  format: { type: 'string' },
  out: { type: 'string' },
  precision: { type: 'string', default: 'auto' },
  next: { type: 'string' },
  generate: { type: 'string' },
  temperature: { type: 'string' },
  'top-k': { type: 'string' },
  'top-p': { type: 'string' },
  seed: { type: 'string' },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
});
/** What only --generate knows, by the library's names. */
const SAMPLER = /** @type {const} */ ({ temperature: 'temperature', topK: 'top-k', topP: 'top-p', seed: 'seed' });
const FORMATS = /** @type {const} */ (['heatmap', 'json', 'csv', 'npy', 'svg']);
const PRECISIONS = /** @type {const} */ (['auto', 'f32', 'q10', 'q8']);
export const MAPS = ['scores', 'scaled', 'capped', 'biased', 'masked', 'weights'];
const PER_HEAD = ['qLinear', 'kLinear', 'q', 'k', 'v', 'context'];
export const WHOLE = ['x', 'concat', 'output', 'hidden'];

/** Bad usage, as opposed to what went wrong later. */
export class UsageError extends Error {}

/** @typedef {ReturnType<typeof readCommandLine>} CommandLine */

/** @param {string[]} args */
export function readCommandLine(args) {
  const { values, positionals } = readArguments(args);
  const { help, version } = values;
  if (help || version) return { ask: help ? /** @type {const} */ ('help') : /** @type {const} */ ('version') };
  if (values.out === '') throw new UsageError('--out: the name of the file is empty');
  return {
    ask: null,
    text: textOf(positionals),
    pair: values.pair,
    source: values.model,
    layer: wholeNumber('--layer', values.layer),
    head: wholeNumber('--head', values.head),
    kind: values.kind,
    stage: oneOf('--stage', values.stage, [...MAPS, ...PER_HEAD, ...WHOLE]),
    format: values.format === undefined ? undefined : oneOf('--format', values.format, FORMATS),
    out: values.out,
    precision: oneOf('--precision', values.precision, PRECISIONS),
    next: readNext(values),
    generate: readGenerate(values),
  };
}

/** @param {{ next?: string, generate?: string, format?: string, out?: string }} values */
function readNext({ next, generate, format, out }) {
  if (next === undefined) return undefined;
  if (generate !== undefined) throw new UsageError('--next and --generate: got both, want one of them');
  if (out !== undefined) throw new UsageError('--next prints to standard output, so it takes no --out');
  if (format !== undefined && format !== 'json') {
    throw new UsageError(`--next prints a table or, with --format json, JSON: got --format ${format}`);
  }
  return wholeNumber('--next', next);
}

/** @param {{ [option: string]: string | boolean | undefined }} values */
function readGenerate(values) {
  const given = Object.entries(SAMPLER).filter(([, option]) => values[option] !== undefined);
  if (typeof values.generate !== 'string') {
    if (given.length > 0) throw new UsageError(`--${given[0][1]} is for --generate N, which is missing`);
    return undefined;
  }
  const numbers = given.map(([name, option]) => [name, anyNumber(`--${option}`, String(values[option]))]);
  return { maxNewTokens: wholeNumber('--generate', values.generate), ...Object.fromEntries(numbers) };
}

/**
 * The library checks ranges, since some are the model's; its names for the options become those of the command.
 * @param {unknown} error
 */
export function asUsage(error) {
  const { code, message } = /** @type {Error & { code?: string }} */ (error);
  const name = /^generate: (\w+): got /.exec(message)?.[1];
  const option = name === 'maxNewTokens' ? 'generate' : SAMPLER[/** @type {keyof typeof SAMPLER} */ (name)];
  if (option && code === 'range') return new UsageError(message.replace(/^generate: \w+/, `--${option}`));
  const next = /^nextTokens: k: (got .*)$/s.exec(message)?.[1];
  return next ? new UsageError(`--next: ${next}`) : error;
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
    const isOption = at > 0 && (end < 0 || at < end) && /^--[a-z-]+$/.test(args[at - 1]);
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
 * @param {string} option
 * @param {string} value
 */
function anyNumber(option, value) {
  if (/^-?\d{1,15}(\.\d{1,15})?(e-?\d{1,3})?$/.test(value)) return Number(value);
  throw new UsageError(`${option}: got ${JSON.stringify(value)}, want a number`);
}

/**
 * @template {string} T
 * @param {string} option
 * @param {string} value
 * @param {readonly T[]} choices
 */
export function oneOf(option, value, choices) {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw new UsageError(`${option}: got ${JSON.stringify(value)}, want one of ${choices.join(', ')}`);
}
