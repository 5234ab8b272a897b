// What the suite makes of measured numbers, on numbers that are given.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exponent, twoParts } from '../../bench/fit.js';
import { growthOf } from '../../bench/growth.js';
import { lengthsTable, rowsOf } from '../../bench/minilm.js';
import { PARTS } from '../../bench/parts.js';
import { race, spreadOf } from '../../bench/race.js';
import { blockOf, joinTables, replaceBlock } from '../../bench/measurements.js';
import { digits, percent, tableText } from '../../bench/report.js';
import { inTree } from '../../bench/runtime.js';

const LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096];
const near = (/** @type {number} */ got, /** @type {number} */ wanted) =>
  assert.ok(Math.abs(got / wanted - 1) < 1e-9, `${got} instead of ${wanted}`);

test('the exponent of a power is found whatever its factor', () => {
  for (const power of [0.5, 1, 1.37, 2, 3]) {
    const values = LENGTHS.map((n) => 7.3 * n ** power);
    near(exponent(LENGTHS, values), power);
  }
});

test('the exponent is the slope of least squares: points above and below a line move it as they should', () => {
  // Through (1, 1), (e, e), (e^2, e^5): logarithms 0, 1, 5 at 0, 1, 2, so the slope is (5 - 0) / 2.
  near(exponent([1, Math.E, Math.E ** 2], [1, Math.E, Math.E ** 5]), 2.5);
});

test('a time of two parts is taken apart', () => {
  const { linear, square } = twoParts(
    LENGTHS,
    LENGTHS.map((n) => 0.25 * n + 3e-4 * n * n),
  );
  near(linear, 0.25);
  near(square, 3e-4);
});

test('no part of a time is below zero', () => {
  const growsSlowly = twoParts(
    LENGTHS,
    LENGTHS.map((n) => n ** 0.9),
  );
  assert.equal(growsSlowly.square, 0);
  assert.ok(growsSlowly.linear > 0);
  const growsFast = twoParts(
    LENGTHS,
    LENGTHS.map((n) => n ** 2.2),
  );
  assert.equal(growsFast.linear, 0);
  assert.ok(growsFast.square > 0);
});

test('growth is printed with its points, over all and over the last doubling', () => {
  const samples = [10, 20, 80].map((time, i) => ({ time, bytes: 1000 + 500 * i }));
  const { table, row } = growthOf('a model', [100, 200, 400], samples);
  assert.deepEqual(table.rows[2], ['400', '80.00', '200', '0.00', '5']);
  assert.match(table.notes?.[0] ?? '', /time 1\.50, memory 0\.50; over the last doubling 2\.00 and 0\.42/);
  assert.match(table.notes?.[1] ?? '', /memory takes 3 bytes for a further token/);
  assert.deepEqual(row.slice(0, 3), ['a model', '100 to 400', '1.50 (2.00)']);
});

const MODELS = [
  { name: 'f32, plain, one thread', precision: /** @type {const} */ ('f32'), build: 'plain', threads: 1 },
  { name: 'f32, plain, 2 threads', precision: /** @type {const} */ ('f32'), build: 'plain', threads: 2 },
  { name: 'q10, plain, one thread', precision: /** @type {const} */ ('q10'), build: 'plain', threads: 1 },
];
const PEERS = [
  { name: 'peer f32', kind: 'f32' },
  { name: 'peer q8', kind: 'q8' },
];
const spread = (/** @type {number} */ minimum) => ({ minimum, median: minimum * 2 });
const measured = new Map([
  [MODELS[0].name, spread(8)],
  [MODELS[1].name, spread(5)],
  [MODELS[2].name, spread(6)],
  [PEERS[0].name, spread(12)],
  [PEERS[1].name, spread(9)],
]);

test('f32 is held against f32, ten bits against q8, two threads against one, by the best of each', () => {
  const rows = rowsOf(MODELS, PEERS, measured, 16e6);
  assert.deepEqual(
    rows.map(({ peer, alone }) => [peer, alone]),
    [
      ['1.50 x f32', ''],
      ['', '1.60 x'],
      ['1.50 x q8', ''],
      ['', ''],
      ['', ''],
    ],
  );
  near(rows[0].rate, 2);
  const alone = rowsOf(MODELS, [], measured, 1);
  assert.ok(alone.every(({ peer }) => peer === ''));
});

test('the kept table has one column for each length, and of the plain build one thread', () => {
  const rows = rowsOf(MODELS, PEERS, measured, 1);
  const lengths = [16, 32].map((n) => ({ n, rows }));
  const table = lengthsTable(lengths, new Map([[MODELS[0].name, '99']]));
  assert.deepEqual(table.head, ['weights, build, threads', '16 tokens', '32 tokens', 'embed(), texts/s']);
  assert.deepEqual(table.rows[0], [MODELS[0].name, '8.00 (1.50)', '8.00 (1.50)', '99']);
  assert.deepEqual(
    table.rows.map(([name]) => name),
    [MODELS[0].name, MODELS[2].name, PEERS[0].name, PEERS[1].name],
  );
});

test('contenders take turns, warm-up rounds do not count, promises are waited for', async (t) => {
  let clock = 0;
  t.mock.method(performance, 'now', () => clock);
  /** @type {string[]} */
  const calls = [];
  const run = (/** @type {string} */ name, /** @type {number[]} */ costs) => {
    clock += costs[calls.filter((call) => call === name).length];
    calls.push(name);
  };
  const later = async () => {
    await Promise.resolve();
    run('b', [1, 30, 20]);
  };
  const contenders = [
    { name: 'a', run: () => run('a', [1, 2, 4]) },
    { name: 'b', run: later },
  ];
  const times = await race(contenders, 2, 1);
  assert.equal(calls.join(''), 'ababab');
  assert.deepEqual(Object.fromEntries(times), { a: { minimum: 2, median: 4 }, b: { minimum: 20, median: 30 } });
  assert.deepEqual(spreadOf([3, 1, 2]), { minimum: 1, median: 2 });
});

test('a table is markdown whose columns line up', () => {
  const lines = tableText({ title: 'T', head: ['a', 'bb'], rows: [['long name', '1']], notes: ['note'] }).split('\n');
  assert.deepEqual(lines, [
    '### T',
    '',
    '| a         |  bb |',
    '|-----------|----:|',
    '| long name |   1 |',
    'note',
    '',
  ]);
  assert.deepEqual(
    [digits(1234.5), digits(0.012345), percent(0.5), percent(0.0123)],
    ['1235', '0.0123', '50 %', '1.2 %'],
  );
});

test('programs share a table: each row says where, equal rows stand once, a missing column stays empty', () => {
  const one = { title: 'T', head: ['what', 'plain', 'relaxed'], rows: [['x', '1', '2']], notes: ['N'] };
  const other = { title: 'T', head: ['what', 'plain'], rows: [['x', '3']] };
  const [table] = joinTables([
    { where: 'Node 1', tables: [one] },
    { where: 'Node 2', tables: [one] },
    { where: 'Page', tables: [other] },
  ]);
  assert.deepEqual(table.head, ['what', 'plain', 'relaxed', 'in']);
  assert.deepEqual(table.rows, [
    ['x', '1', '2', 'Node 1, Node 2'],
    ['x', '3', '', 'Page'],
  ]);
  assert.deepEqual(table.notes, ['Node 1: N', 'Node 2: N']);
  assert.deepEqual(joinTables([{ where: '', tables: [other] }])[0].head, other.head);
});

test('a block is replaced in place, twice as well as once, and nothing around it moves', () => {
  const text =
    'before\n<!-- bench a -->\nold\n<!-- bench a ends -->\nbetween\n<!-- bench b -->\n<!-- bench b ends -->\n';
  const table = { title: 'T', head: ['what'], rows: [['x']], notes: ['N'] };
  const block = blockOf([{ where: 'Node 1', tables: [table] }], 'the command');
  const once = replaceBlock(text, 'a', block);
  assert.equal(replaceBlock(once, 'a', block), once);
  assert.match(
    once,
    /^before\n<!-- bench a -->\n\*\*T\*\*\n\n\| what[\s\S]*?\n\nNode 1: N\n\nthe command\n<!-- bench a ends -->\nbetween\n/,
  );
  assert.ok(!once.includes('old'));
  assert.throws(() => replaceBlock(text, 'c', block), /measurements\.md has no '<!-- bench c -->'/);
});

test('docs/measurements.md has a place for every part of the suite', () => {
  const text = readFileSync(inTree('docs/measurements.md'), 'utf8');
  for (const part of Object.keys(PARTS)) assert.notEqual(replaceBlock(text, part, 'new'), text);
});
