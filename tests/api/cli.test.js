/** The command line as people call it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadModel } from 'qkv';
import { inTree } from './golden.js';
import { decoderFiles, letterTokenizer } from './tiny_decoder.js';
import { TINY_FOLDER } from './tiny_model.js';

const TEXT = "The animal didn't cross the street because it was too tired.";
const folder = mkdtempSync(join(tmpdir(), 'qkv-cli-'));
after(() => rmSync(folder, { recursive: true }));

/** @param {...string} args */
const qkv = (...args) => start(inTree('web/cli/qkv.js'), args);

/** @param {string} program @param {string[]} args @param {Record<string, string>} [env] */
function start(program, args, env = {}) {
  const options = /** @type {const} */ ({ encoding: 'utf8', cwd: folder, maxBuffer: 2 ** 26 });
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], {
    ...options,
    env: { ...process.env, ...env },
  });
  return { stdout, stderr, status };
}

/** @param {ReturnType<typeof qkv>} result @param {number} status @param {...(string | RegExp)} words */
function failed({ stdout, stderr, status: got }, status, ...words) {
  assert.deepEqual([stdout, got], ['', status], stderr);
  assert.match(stderr, /^qkv: [^\n]+\n$/, 'one sentence, no stack trace');
  for (const word of words)
    assert.ok(typeof word === 'string' ? stderr.includes(word) : word.test(stderr), `${word} in ${stderr}`);
}

test('a heat map has the tokens on both axes and the shades of the weights', () => {
  const { stdout, stderr, status } = qkv(TEXT, '--layer', '3', '--head', '1');
  assert.deepEqual([stderr, status], ['', 0]);
  assert.match(stdout, /^minilm \(q10\), layer 3, head 1: weights, \d+\.\d ms\n/);
  assert.match(stdout, /^ +it +▓▓ +animal 0\.67\d?$/m);
  assert.equal(stdout.split('\n').filter((line) => /[█▓▒░]/.test(line)).length, 17);
  assert.ok(!stdout.includes('\u001b'));
});

test('rows of the CSV sum to 1 within 1e-6', () => {
  const { stdout, status } = qkv(TEXT, '--layer', '4', '--head', '7', '--format', 'csv');
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split('\r\n').slice(1);
  assert.equal(lines.length, 16);
  for (const line of lines) {
    const sum = line
      .split(',')
      .slice(-16)
      .reduce((total, cell) => total + Number(cell), 0);
    assert.ok(Math.abs(sum - 1) < 1e-6, line);
  }
});

test('JSON, NPY and SVG go to a file or to the output', () => {
  const parsed = JSON.parse(qkv(TEXT, '--format', 'json', '--stage', 'q', '--layer', '2', '--head', '3').stdout);
  assert.deepEqual(
    [parsed.model, parsed.layer, parsed.head, parsed.stage, parsed.shape],
    ['minilm', 2, 3, 'q', [16, 32]],
  );
  const file = join(folder, 'x.npy');
  assert.deepEqual(qkv(TEXT, '--format', 'npy', '--out', file), { stdout: '', stderr: '', status: 0 });
  assert.equal(readFileSync(file).length, 128 + 16 * 16 * 4);
  assert.match(qkv(TEXT, '--format', 'svg', '--stage', 'hidden').stdout, /^<svg [\s\S]*<\/svg>\n$/);
});

test('a pair, another model, another precision', () => {
  const pair = JSON.parse(qkv('Who was tired?', '--pair', 'The animal.', '--format', 'json').stdout);
  assert.deepEqual(pair.keys.filter((/** @type {string} */ key) => key === '[SEP]').length, 2);
  const f32 = qkv('a b', '--precision', 'f32');
  assert.match(f32.stdout, /^minilm \(f32\)/);
  failed(qkv('text', '--model', TINY_FOLDER), 1, 'tokenizer.json');
});

test('a long text is cut with a message that has both counts', () => {
  const { stderr, status, stdout } = qkv(new Array(10_000).fill('word').join(' '), '--format', 'csv');
  assert.equal(status, 0);
  assert.match(stderr, /^qkv: .*10002.*256.*\n$/);
  assert.equal(stdout.trimEnd().split('\r\n').length, 257);
});

test('--help and --version', () => {
  assert.match(
    qkv('--help').stdout,
    /^Usage: qkv "text" \[options\]\n[\s\S]*In csv a label that begins with = \+ - or @/,
  );
  for (const line of qkv('--help').stdout.split('\n')) assert.ok(line.length <= 86, line);
  assert.equal(qkv('--version').stdout, `${JSON.parse(readFileSync(inTree('package.json'), 'utf8')).version}\n`);
});

test('bad usage ends with 2 and one sentence', () => {
  failed(qkv(TEXT, '--layer', '99'), 2, '--layer', '99', '0 to 5');
  failed(qkv(TEXT, '--head', '12'), 2, '--head', '12', '0 to 11');
  for (const layer of ['8x', '1.5', 'NaN', '', '1e3', '99999999999999999999'])
    failed(qkv(TEXT, `--layer=${layer}`), 2, '--layer');
  failed(qkv(TEXT, '--layer', '-1'), 2, '--layer: got "-1", want a whole number from 0');
  failed(qkv(TEXT, '--layer'), 2, '--layer needs a value (');
  failed(qkv(TEXT, '--pair', '-x'), 2, '--pair needs a value; one that begins with "-" is given as --pair=VALUE (');
  failed(qkv(TEXT, '--wat'), 2, 'there is no option --wat; a text that begins with "-" goes last, after -- (');
  failed(qkv('-x'), 2, 'there is no option -x;');
  failed(qkv(TEXT, '--out', ''), 2, '--out: the name of the file is empty');
  failed(qkv(TEXT, '--format', 'png'), 2, 'heatmap, json, csv, npy, svg');
  failed(qkv(TEXT, '--stage', 'queries'), 2, 'qLinear');
  failed(qkv(TEXT, '--kind', 'cross'), 2, 'encoder');
  failed(qkv(TEXT, '--precision', 'f64'), 2, 'q10', 'q8');
  failed(qkv(), 2, 'no text');
  failed(qkv('two', 'texts'), 2, 'quotes');
  for (const empty of ['', '   ', '\n']) failed(qkv(empty), 2, 'empty');
});

test('what is for generating is refused elsewhere, and what is no number everywhere', () => {
  for (const option of ['--temperature', '--top-k', '--top-p', '--seed'])
    failed(qkv(TEXT, option, '1'), 2, `${option} is for --generate N`);
  for (const option of ['--temperature', '--top-k', '--top-p', '--seed'])
    for (const value of ['x', 'NaN', '1e', '', '0x10', 'Infinity'])
      failed(qkv(TEXT, '--generate', '5', `${option}=${value}`), 2, `${option}: got`, 'want a number');
  for (const value of ['x', '1.5', '']) {
    failed(qkv(TEXT, `--generate=${value}`), 2, '--generate: got');
    failed(qkv(TEXT, `--next=${value}`), 2, '--next: got');
  }
  failed(qkv(TEXT, '--generate', '-1'), 2, '--generate: got "-1"');
  failed(qkv(TEXT, '--next', '3', '--generate', '3'), 2, 'want one of them');
  failed(qkv(TEXT, '--next', '3', '--out', 'file'), 2, '--out');
  for (const format of ['csv', 'heatmap']) failed(qkv(TEXT, '--next', '3', '--format', format), 2, '--format json');
});

test('a model without a head neither proposes tokens nor goes on writing', () => {
  failed(qkv(TEXT, '--next', '3'), 1, 'qkv: --next: this model has no language-model head, so it proposes no tokens\n');
  failed(qkv(TEXT, '--generate', '3'), 1, 'qkv: --generate: this model reads text; writing needs a decoder\n');
});

test('an option is named as it was typed, with its limits, and given once', () => {
  failed(qkv(TEXT, '--precision', 'q8'), 2, 'qkv: --precision: got "q8", want auto, f32 or q10. The weights');
  for (const value of ['x', '1.5', '']) failed(qkv(TEXT, `--generate=${value}`), 2, 'want a whole number from 1');
  for (const stage of ['x', 'concat', 'output', 'hidden'])
    failed(qkv(TEXT, '--stage', stage, '--head', '0'), 2, `--head: the stage ${stage} has no heads`);
  failed(qkv(TEXT, '--layer', '1', '--layer', '2'), 2, '--layer: got it twice, want it once');
  failed(qkv(TEXT, '--layer=1', '--head', '2', '--layer', '1'), 2, '--layer: got it twice');
  for (const word of ['MODEL', '.gguf', 'URL', 'org/name']) assert.ok(qkv('--help').stdout.includes(word), word);
});

test('the name of the file says the format, and does not contradict --format', () => {
  /** @type {[string, RegExp][]} */
  const table = [
    ['out.csv', /^,\[CLS\],/],
    ['out.JSON', /^\{/],
    ['out.svg', /^<svg /],
    ['out.npy', /^.NUMPY/],
    ['out.txt', /^minilm \(q10\), layer 0/],
  ];
  for (const [name, start] of table) {
    assert.deepEqual(qkv(TEXT, '--out', name), { stdout: '', stderr: '', status: 0 });
    assert.match(readFileSync(join(folder, name), 'latin1'), start);
  }
  failed(qkv(TEXT, '--out', 'a.csv', '--format', 'json'), 2, '--format json and --out a.csv: got two formats');
  failed(qkv(TEXT, '--out', 'a.svg', '--format', 'heatmap'), 2, '--format heatmap and --out a.svg');
  assert.equal(qkv(TEXT, '--out', 'b.csv', '--format', 'csv').status, 0);
});

test('a decoder goes on writing, and proposes tokens', async () => {
  const decoder = join(folder, 'llama');
  mkdirSync(decoder);
  const files = { ...decoderFiles('llama'), 'tokenizer.json': letterTokenizer() };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(decoder, name), bytes);
  const model = await loadModel(decoder);
  const run = await model.generate('One day', { maxNewTokens: 9 });
  assert.deepEqual(qkv('One day', '--model', decoder, '--generate', '9'), {
    ...{ stdout: `${run.text}\n`, stderr: '', status: 0 },
  });
  const drawn = ['--generate', '9', '--temperature', '1.5', '--top-k', '40', '--top-p', '0.95'];
  const [one, again, other] = ['1', '1', '2'].map((seed) =>
    qkv('One day', '--model', decoder, ...drawn, '--seed', seed),
  );
  assert.deepEqual(again, one);
  assert.notEqual(other.stdout, one.stdout);
  const asked = (/** @type {string[]} */ ...more) => qkv('One day', '--model', decoder, '--generate', '9', ...more);
  const csv = asked('--format', 'csv', '--kind', 'decoder');
  assert.ok(csv.stdout.startsWith(',O,n,e,'), csv.stdout);
  assert.deepEqual([csv.stdout.trimEnd().split('\r\n').length, csv.stderr], [1 + 7 + 9, `${run.text}\n`]);
  const json = asked('--format', 'json');
  assert.deepEqual([JSON.parse(json.stdout).shape, json.stderr], [[16, 16], `${run.text}\n`]);
  assert.match(asked('--format', 'svg').stdout, /^<svg [\s\S]*<\/svg>\n$/);
  assert.ok(asked('--format', 'npy').stdout.slice(1).startsWith('NUMPY'));
  assert.ok(
    asked('--format', 'heatmap').stdout.startsWith(`${run.text}\nllama (f32)`),
    'for people: one after the other',
  );
  const file = join(folder, 'generated.npy');
  assert.equal(
    qkv('One day', '--model', decoder, '--generate', '9', '--format', 'npy', '--out', file).stdout,
    `${run.text}\n`,
  );
  assert.equal(readFileSync(file).length, 128 + 16 * 16 * 4);

  const expected = await run.nextTokens(4, { position: 6 });
  const rows = qkv('One day', '--model', decoder, '--next', '4').stdout.trimEnd().split('\n');
  assert.deepEqual(
    rows,
    expected.map(({ text, probability }) => `${(probability * 100).toFixed(2).padStart(6)} %  ${JSON.stringify(text)}`),
  );
  assert.deepEqual(JSON.parse(qkv('One day', '--model', decoder, '--next', '4', '--format', 'json').stdout), expected);

  const { vocab, maxTokens } = model.info;
  failed(qkv('One day', '--model', decoder, '--next', '1000'), 2, `--next: got 1000, want 1 to ${vocab}`);
  failed(qkv('One day', '--model', decoder, '--next', '0'), 2, '--next: got 0');
  failed(qkv('One day', '--model', decoder, '--generate', '0'), 2, `--generate: got 0, want 1 to ${maxTokens}`);
  for (const huge of ['1e9', '1000000000'])
    failed(qkv('One day', '--model', decoder, '--generate', huge), 2, `got 1000000000, want 1 to ${maxTokens}`);
  failed(
    qkv('One day. '.repeat(maxTokens / 8), '--model', decoder, '--generate', '3'),
    ...[1, '--generate: tokens of the prompt: got ', `want at most ${maxTokens}`, 'Shorten the text'],
  );
  failed(
    qkv('One day', '--model', decoder, '--generate', '3', '--top-k', '1000'),
    2,
    `--top-k: got 1000, want 1 to ${vocab}`,
  );
  failed(qkv('One day', '--model', decoder, '--generate', '3', '--top-p', '2'), 2, '--top-p: got 2');
  failed(qkv('One day', '--model', decoder, '--generate', '3', '--temperature', '-1'), 2, '--temperature: got -1');
  failed(qkv('One day', '--model', decoder, '--generate', '3', '--seed', '-1'), 2, '--seed: got -1');
  failed(qkv('One day', '--model', decoder, '--kind', 'encoder'), 2, '--kind: got "encoder", want one of decoder');

  const program = `node ${JSON.stringify(inTree('web/cli/qkv.js'))} 'One day' --model ${decoder} --generate 200`;
  const shell = (/** @type {string} */ command) => {
    const { stdout, stderr, status } = spawnSync('bash', ['-o', 'pipefail', '-c', command], { encoding: 'utf8' });
    return { stdout, stderr, status };
  };
  assert.deepEqual(shell(`${program} | head -c 1`), { stdout: (run.text ?? '')[0], stderr: '', status: 0 });
  failed(shell(`${program} > /dev/full`), 1, 'standard output cannot be written: no space left');
  model.dispose();
});

test('other failures end with 1 and one sentence', () => {
  failed(qkv(TEXT, '--model', '/no/such/folder'), 1, '/no/such/folder');
  failed(qkv(TEXT, '--model', '/no/where.gguf'), 1, '/no/where.gguf is not there: want a .gguf file. Check the path.');
  failed(qkv(TEXT, '--model', folder), 1, 'config.json is not there: got ', 'A model is a folder with config.json,');
  const lost = '/no/such/folder/file.txt';
  failed(qkv(TEXT, '--out', lost), 1, `--out: ${lost} cannot be written: no such file or directory`);
  failed(qkv(TEXT, '--out', folder), 1, `--out: ${folder} cannot be written:`);
});

test('a network error in a terminal speaks of no page', () => {
  const result = qkv(TEXT, '--model', 'http://127.0.0.1:9/model');
  failed(result, 1, 'http://127.0.0.1:9/model/config.json', 'Check the address and the connection.');
  assert.ok(!/page|CORS/.test(result.stderr), result.stderr);
});

test('a full disk is one sentence, and a reader that has seen enough is no failure', () => {
  const program = JSON.stringify(inTree('web/cli/qkv.js'));
  const shell = (/** @type {string} */ command) => {
    const { stdout, stderr, status } = spawnSync('bash', ['-o', 'pipefail', '-c', command], { encoding: 'utf8' });
    return { stdout, stderr, status };
  };
  failed(shell(`node ${program} a --format csv > /dev/full`), 1, 'standard output cannot be written: no space left');
  failed(shell(`node ${program} --help > /dev/full`), 1, 'standard output cannot be written: no space left');
  const head = shell(`node ${program} ${JSON.stringify(TEXT.repeat(15))} --format csv | head -c 10`);
  assert.deepEqual([head.stdout.length, head.stderr, head.status], [10, '', 0]);
});

test('a text that begins with a minus sign goes behind --', () => {
  assert.match(qkv('--format', 'csv', '--', '-5').stdout, /^,\[CLS\],'-,5,\[SEP\]\r\n/);
});

test('as npm installs it there is no model, and it says how to name one', () => {
  const installed = join(folder, 'node_modules/qkv');
  mkdirSync(installed, { recursive: true });
  const { files } = JSON.parse(readFileSync(inTree('package.json'), 'utf8'));
  for (const path of ['package.json', ...files]) cpSync(inTree(path), join(installed, path), { recursive: true });
  const program = join(installed, 'web/cli/qkv.js');
  failed(start(program, [TEXT]), 2, '--model DIR');
  symlinkSync(inTree('web/models/minilm'), join(folder, 'minilm'));
  const { stdout, status } = start(program, [TEXT, '--model', 'minilm', '--layer', '3', '--head', '1']);
  assert.deepEqual([status, /animal 0\.67/.test(stdout)], [0, true]);
});
