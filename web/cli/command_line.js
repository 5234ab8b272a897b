/** What can be typed behind `qkv`: the options, their checks, and how to say that something is wrong with them. */

import { extname } from 'node:path';
import { parseArgs } from 'node:util';

export const HELP = `Usage: qkv "text" [options]

Prints what one attention head of a transformer does with the text, or continues it.

  --model MODEL    a folder DIR with config.json, model.safetensors and
                   tokenizer.json, a .gguf file, the URL of either, or org/name on
                   the Hugging Face hub; default: all-MiniLM-L6-v2, where it came
                   along
  --precision P    how weights are held: auto (default: as the file is), f32, q10, q8
  --pair TEXT      second text
  --version
  --help

One head of the text, or of the text with what --generate wrote
  --layer L        from 0 (default 0)
  --head H         from 0 (default 0); x, concat, output and hidden have no heads
  --stage S        weights (default), or another step: x, qLinear, kLinear, q, k, v,
                   scores, scaled, capped, biased, masked, context, concat, output,
                   hidden
  --kind K         which attention: encoder or decoder; default: the model's first
  --format F       heatmap (default), json, csv, npy or svg; without it the name of
                   --out decides
                   In csv a label that begins with = + - or @ gets a ' in front: else
                   spreadsheets would take it for a formula
  --out FILE       write there instead of standard output

Models with a language-model head
  --next K         the K likeliest next tokens (of a masked model: for the last place)
                   with their probabilities; also with --format json
  --generate N     write up to N more tokens as they come; this needs a decoder. The
                   matrix is then shown only where --format or --out asks for it;
                   beside json, csv, npy or svg on standard output the text goes to
                   standard error
  --temperature T  0 (default): always the likeliest token; up to 100: more chance
  --top-k K        draw from the K likeliest tokens only
  --top-p P        draw from the likeliest tokens whose probabilities reach P only
  --seed S         another seed, another text (default 0)
`;

const OPTIONS = /** @type {const} */ ({
  model: { type: 'string' },
  layer: { type: 'string', default: '0' },
  head: { type: 'string' },
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
/** The command's names for options of the library. */
const OPTION_NAMES = /** @type {{ [name: string]: string }} */ ({
  ...SAMPLER,
  maxNewTokens: 'generate',
  k: 'next',
  precision: 'precision',
});
const FORMATS = /** @type {const} */ (['heatmap', 'json', 'csv', 'npy', 'svg']);
const KINDS = /** @type {const} */ (['encoder', 'decoder']);
const PRECISIONS = /** @type {const} */ (['auto', 'f32', 'q10', 'q8']);
/** @type {readonly StageName[]} */
export const MAPS = ['scores', 'scaled', 'capped', 'biased', 'masked', 'weights'];
/** @type {readonly StageName[]} */
const PER_HEAD = ['qLinear', 'kLinear', 'q', 'k', 'v', 'context'];
/** @type {readonly StageName[]} */
export const WHOLE = ['x', 'concat', 'output', 'hidden'];

/** Bad usage, as opposed to what went wrong later. */
export class UsageError extends Error {}

/** @typedef {ReturnType<typeof readCommandLine>} CommandLine */
/** @typedef {import('qkv').StageName} StageName */

/** @param {string[]} args */
export function readCommandLine(args) {
  const { values, positionals } = readArguments(args);
  const { help, version } = values;
  if (help || version) return { ask: help ? /** @type {const} */ ('help') : /** @type {const} */ ('version') };
  if (values.out === '') throw new UsageError('--out: the name of the file is empty');
  const stage = oneOf('--stage', values.stage, [...MAPS, ...PER_HEAD, ...WHOLE]);
  return {
    ask: null,
    text: textOf(positionals),
    pair: values.pair,
    source: values.model,
    layer: wholeNumber('--layer', values.layer),
    head: readHead(values.head, stage),
    kind: values.kind === undefined ? undefined : oneOf('--kind', values.kind, KINDS),
    stage,
    format: readFormat(values),
    out: values.out,
    precision: oneOf('--precision', values.precision, PRECISIONS),
    next: readNext(values),
    generate: readGenerate(values),
  };
}

/**
 * @param {string | undefined} head
 * @param {StageName} stage
 */
function readHead(head, stage) {
  if (head !== undefined && WHOLE.includes(stage)) {
    throw new UsageError(`--head: the stage ${stage} has no heads, so it takes none`);
  }
  return wholeNumber('--head', head ?? '0');
}

/**
 * The name of a file says its format as well; where both are given they must agree.
 * @param {{ format?: string, out?: string }} values
 */
function readFormat({ format, out = '' }) {
  const ending = extname(out).slice(1).toLowerCase();
  const named = FORMATS.find((one) => one === ending);
  if (format === undefined) return named;
  const given = oneOf('--format', format, FORMATS);
  if (named === undefined || named === given) return given;
  throw new UsageError(`--format ${given} and --out ${out}: got two formats, want one of them`);
}

/** @param {{ next?: string, generate?: string, format?: string, out?: string }} values */
function readNext({ next, generate, format, out }) {
  if (next === undefined) return undefined;
  if (generate !== undefined) throw new UsageError('--next and --generate: got both, want one of them');
  if (out !== undefined) throw new UsageError('--next prints to standard output, so it takes no --out');
  if (format !== undefined && format !== 'json') {
    throw new UsageError(`--next prints a table or, with --format json, JSON: got --format ${format}`);
  }
  return wholeNumber('--next', next, 1);
}

/** @param {{ [option: string]: string | boolean | undefined }} values */
function readGenerate(values) {
  const given = Object.entries(SAMPLER).filter(([, option]) => values[option] !== undefined);
  if (typeof values.generate !== 'string') {
    if (given.length > 0) throw new UsageError(`--${given[0][1]} is for --generate N, which is missing`);
    return undefined;
  }
  const numbers = given.map(([name, option]) => [name, anyNumber(`--${option}`, String(values[option]))]);
  return { maxNewTokens: wholeNumber('--generate', values.generate, 1), ...Object.fromEntries(numbers) };
}

/**
 * The library checks what depends on the model; its names for calls and options become those of the command.
 * @param {unknown} error
 */
export function asUsage(error) {
  const { code, message } = /** @type {Error & { code?: string }} */ (error);
  if (code === 'memory' && message.startsWith('generate: ')) {
    return new Error(`--${message.replace('maxNewTokens', 'the number of --generate')}`);
  }
  if (code === 'tokenizer') return new Error(message.replace(', or pass {ids}', ''));
  const [, call, said] = /^(forward|generate|nextTokens|loadModel): (.*)$/s.exec(message) ?? [];
  if (call === undefined) return error;
  if (call === 'forward') return new Error(said);
  if (code === 'unsupported' && call !== 'loadModel') return new Error(headless(call, message));
  const [, name, problem] = /^(\w+): (.*)$/s.exec(said) ?? [];
  const option = OPTION_NAMES[name];
  if (option !== undefined) return new UsageError(`--${option}: ${problem.replace(/'(\w+)'/g, '$1')}`);
  return call === 'generate' ? new Error(`--generate: ${said}`) : error;
}

/**
 * @param {string} call
 * @param {string} message
 */
function headless(call, message) {
  if (message.includes('discriminator'))
    return '--next: a discriminator proposes no tokens, it rates those that are there';
  if (call === 'generate') return '--generate: this model reads text; writing needs a decoder';
  return '--next: this model has no language-model head, so it proposes no tokens';
}

/** @param {string[]} args */
function readArguments(args) {
  const parsed = parse(withNegatives(args));
  const names = parsed.tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) throw new UsageError(`--${twice}: got it twice, want it once`);
  return parsed;
}

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true, tokens: true });
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
 * Digits, or as in 1e9; how large it may be depends on the model.
 * @param {string} option
 * @param {string} value
 * @param {number} [from] for the message; the model's limits include it
 */
function wholeNumber(option, value, from = 0) {
  if (/^\d{1,15}$|^\de\d{1,2}$/.test(value)) return Number(value);
  throw new UsageError(`${option}: got ${JSON.stringify(value)}, want a whole number from ${from}`);
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
