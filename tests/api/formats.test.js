/** What exports write, read back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf, viridis } from '../../web/export/colour_map.js';
import { toCsv } from '../../web/export/csv.js';
import { toMatrixJson } from '../../web/export/matrix_json.js';
import { toNpy } from '../../web/export/npy.js';
import { shortest } from '../../web/export/numbers.js';
import { toSvg } from '../../web/export/svg.js';
import { coloursOf, toTerminal } from '../../web/export/terminal.js';
import { seeded } from './golden.js';

const matrix = { rows: 2, cols: 3, data: Float32Array.of(0.1, 0.2, 0.7, 0, 1, 0) };
const labels = { rows: ['a', 'b'], cols: ['x', 'y', 'z'] };

test('a float32 keeps its value through its shortest text', () => {
  const random = seeded(6);
  for (let i = 0; i < 10_000; i++) {
    const value = Math.fround((random() - 0.5) * 10 ** Math.floor(random() * 80 - 40));
    assert.equal(Math.fround(Number(shortest(value))), value);
  }
  assert.equal(shortest(Math.fround(0.1)), '0.1');
  assert.deepEqual([Number.NaN, Number.POSITIVE_INFINITY, -0, 16777216].map(shortest), [
    'NaN',
    'Infinity',
    '0',
    '16777216',
  ]);
});

test('CSV has tokens on both axes and numbers that read back', () => {
  assert.equal(toCsv(matrix, labels), ',x,y,z\r\na,0.1,0.2,0.7\r\nb,0,1,0\r\n');
});

test('CSV quotes what must be quoted and disarms formulas', () => {
  const cells = ['a,b', 'say "x"', 'two\nlines', '=1+1', '+1', '-1', '@x', '\tx'];
  const one = { rows: cells.length, cols: 1, data: new Float32Array(cells.length) };
  const lines = toCsv(one, { rows: cells, cols: ['k'] });
  const expected = ['"a,b"', '"say ""x"""', '"two\nlines"', "'=1+1", "'+1", "'-1", "'@x", "'\tx"];
  assert.equal(lines, `,k\r\n${expected.map((cell) => `${cell},0\r\n`).join('')}`);
});

test('JSON parses, and gives null where JSON has no number', () => {
  const data = Float32Array.of(0.1, Number.NEGATIVE_INFINITY, Number.NaN, 0, 1, 0);
  const parsed = JSON.parse(
    toMatrixJson({ ...matrix, data }, { ...labels, rows: ['"', '\u2028'] }, { model: 'm', layer: 4, head: null }),
  );
  assert.deepEqual(parsed.data, [
    [0.1, null, null],
    [0, 1, 0],
  ]);
  const { model, layer, head, shape, queries, keys } = parsed;
  assert.deepEqual([model, layer, head, shape, queries, keys], ['m', 4, null, [2, 3], ['"', '\u2028'], labels.cols]);
});

test('NPY has an aligned header that Python would read', () => {
  const file = toNpy(matrix.data, [2, 3]);
  assert.deepEqual([...file.subarray(0, 8)], [0x93, ...Buffer.from('NUMPY'), 1, 0]);
  const view = new DataView(file.buffer);
  const start = 10 + view.getUint16(8, true);
  assert.equal(start % 64, 0);
  const header = Buffer.from(file.subarray(10, start)).toString('latin1');
  assert.match(header, /^\{'descr': '<f4', 'fortran_order': False, 'shape': \(2, 3\), \} *\n$/);
  assert.deepEqual(new Float32Array(file.slice(start).buffer), matrix.data);
  const line = Buffer.from(toNpy(new Float32Array(5), [5]).subarray(10, 128)).toString('latin1');
  assert.match(line, /'shape': \(5,\)/);
});

test('SVG is well formed, has a cell for each number and escapes labels', () => {
  const svg = toSvg(
    matrix,
    { rows: ['<b>&"', 'a\u0000\ud800'], cols: labels.cols },
    { title: 'a < b', isWeights: true },
  );
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.equal(svg.match(/→/g)?.length, 6);
  assert.match(svg, /&lt;b&gt;&amp;&quot;/);
  assert.match(svg, /<title>a &lt; b<\/title>/);
  for (const illegal of ['\u0000', '\ud800', '<b>', '<script']) assert.ok(!svg.includes(illegal));
  const open = svg.match(/<(\w+)[^>]*[^/]>/g)?.length;
  assert.equal(open, svg.match(/<\/\w+>/g)?.length);
});

test('weights are coloured on 0 to 1, other stages on their own finite range', () => {
  assert.deepEqual(rangeOf(matrix.data, true), { low: 0, high: 1 });
  assert.deepEqual(rangeOf(Float32Array.of(-2, 5, Number.NEGATIVE_INFINITY, Number.NaN), false), { low: -2, high: 5 });
  assert.deepEqual(rangeOf(Float32Array.of(Number.NaN), false), { low: 0, high: 1 });
  assert.deepEqual(
    [viridis(0), viridis(1), viridis(2)],
    [
      [68, 1, 84],
      [253, 231, 37],
      [253, 231, 37],
    ],
  );
});

test('a terminal without colours gets shades, labels on both axes and a legend', () => {
  const text = toTerminal(matrix, labels, { title: 'title', isWeights: true, isMap: true, colours: 'none', width: 80 });
  assert.deepEqual(text.split('\n'), ['title', '  x y z', 'a   ░░▓▓  z 0.7', 'b   ██    y 1', '  0   ░░▒▒▓▓██ 1', '']);
});

test('a terminal with colours gets the numbers as backgrounds', () => {
  const picture = (/** @type {'256' | 'truecolor'} */ colours) =>
    toTerminal(matrix, labels, { title: 't', isWeights: true, isMap: true, colours, width: 80 });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence
  assert.match(picture('truecolor'), /\u001b\[48;2;253;231;37m {2}\u001b\[0m/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence
  assert.match(picture('256'), /\u001b\[48;5;\d+m {2}\u001b\[0m/);
});

test('a large matrix is pooled to the width of the terminal', () => {
  const n = 100;
  const data = new Float32Array(n * n);
  data[n * n - 1] = 1;
  const tokens = Array.from({ length: n }, (_, i) => `t${i}`);
  const text = toTerminal(
    { rows: n, cols: n, data },
    { rows: tokens, cols: tokens },
    { title: 't', isWeights: true, isMap: true, colours: 'none', width: 80 },
  );
  const lines = text.split('\n');
  assert.ok(
    lines.every((line) => line.length <= 80),
    text,
  );
  assert.match(lines.find((line) => line.startsWith('t99')) ?? '', /██$/);
  assert.match(text, /largest of 3 x 3/);
});

test('of a wide stage only columns are pooled, by magnitude, and it says so', () => {
  const [rows, cols] = [3, 384];
  const data = new Float32Array(rows * cols).fill(0.25);
  data[cols + 9] = -2;
  data[2 * cols - 1] = 2;
  const tokens = ['one', 'two', 'three'];
  const text = toTerminal(
    { rows, cols, data },
    { rows: tokens, cols: Array.from(data, (_, i) => String(i)).slice(0, cols) },
    { title: 't', isWeights: false, isMap: false, colours: 'none', width: 100 },
  );
  const lines = text.split('\n');
  assert.equal(
    lines.find((line) => line.startsWith('  two')),
    `  two ▒▒  ${'▒▒'.repeat(40)}██`,
  );
  for (const token of tokens) assert.equal(lines.filter((line) => line.trimStart().startsWith(token)).length, 1);
  assert.match(text, /^384 columns in 43 cells, each the largest magnitude of 9; a wider terminal shows more\.$/m);
});

test('wide letters take two columns and control characters never reach the terminal', () => {
  const tokens = ['注意', '\u001b[31mx', 'e\u0301'];
  const square = { rows: 3, cols: 3, data: new Float32Array(9) };
  const text = toTerminal(
    square,
    { rows: tokens, cols: tokens },
    { title: 't', isWeights: true, isMap: true, colours: 'none', width: 80 },
  );
  assert.ok(!text.includes('\u001b'));
  assert.match(text, /^ {2}注意/m);
});

test('NO_COLOR, a dumb terminal and a pipe get no colours', () => {
  const terminal = { isTTY: true };
  assert.equal(coloursOf(terminal, {}), '256');
  assert.equal(coloursOf(terminal, { COLORTERM: 'truecolor' }), 'truecolor');
  assert.equal(coloursOf(terminal, { NO_COLOR: '1', COLORTERM: 'truecolor' }), 'none');
  assert.equal(coloursOf(terminal, { TERM: 'dumb' }), 'none');
  assert.equal(coloursOf({}, { COLORTERM: 'truecolor' }), 'none');
});
