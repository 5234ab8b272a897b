/** What strangers write into addresses: the page's hash, and the sandbox in it. Whatever they hold, a state comes out that the
 * page can show; written again and read again it is the same. */
import assert from 'node:assert/strict';
import {
  FIRST_COLUMN,
  FIRST_SIGHT,
  LIMITS,
  MAX_LINK_TEXT,
  PLACES,
  readHash,
  SCALES,
  tooLong,
  VIEWS,
  writeHash,
} from '../../../web/page/hash.js';
import { readSetup, writeSetup } from '../../../web/page/sandbox/link.js';
import {
  keyLabelsOf,
  labelsOf,
  MOST,
  SHEETS,
  shapeOf,
  TEMPERATURES,
  valuesOf,
} from '../../../web/page/sandbox/setup.js';
import { bytesOf } from './inputs.js';
import { changedText } from './text_parts.js';

const HASHES = [
  writeHash(FIRST_SIGHT),
  '#text=Le+chat+n%27est+pas+l%C3%A0&layer=4&head=7&row=2&col=5&view=lines&scale=log&lang=zh&theme=dark',
  '#place=sandbox&sandbox=heads*n.5*t.0.5*wq.r7_65_1.5',
  '#model=my-model.gguf&first=hidden&tokens=100&temp=1.25&topk=0&topp=0.5&seed=4294967295',
  `#text=${'word+'.repeat(50)}&layer=0012&row=9999`,
];
const SETUPS = [
  'heads*n.5*t.0.5*wq.r7_65_1.5',
  'heads*m.3*d.16*h.4*i.3*cross.1*scaled.0*wordsx.0_the_1_%E6%BC%A2*wordsy.2_a%2Ab%5Fc*mask.c_1_1_2_0*x.z_0_-0.5*y.e*wo.r9999',
];

const LANGUAGES = [null, 'en', 'zh'];
const THEMES = [null, 'light', 'dark'];
/** Of a row, a column, a layer or a head. */
const MOST_INDEX = 9999;

/** @param {import('../../../web/page/hash.js').PageState} state */
function checkState(state) {
  assert.deepEqual(Object.keys(state), Object.keys(FIRST_SIGHT));
  assert.ok(typeof state.text === 'string' && state.text.length <= MAX_LINK_TEXT);
  for (const name of /** @type {const} */ (['layer', 'head', 'row', 'col'])) {
    assert.ok(Number.isInteger(state[name]) && state[name] >= 0 && state[name] <= MOST_INDEX, name);
  }
  for (const name of /** @type {const} */ (['tokens', 'temp', 'topk', 'topp', 'seed'])) {
    assert.ok(state[name] >= LIMITS[name].least && state[name] <= LIMITS[name].most, name);
  }
  const choices = [
    [PLACES, state.place],
    [VIEWS, state.view],
    [SCALES, state.scale],
    [FIRST_COLUMN, state.first],
    [LANGUAGES, state.lang],
    [THEMES, state.theme],
  ];
  for (const [allowed, value] of choices) assert.ok(/** @type {unknown[]} */ (allowed).includes(value), String(value));
  assert.match(state.model, /^[\p{L}\p{N}._-]{0,96}$/u);
}

/** Enough to tell kinds of inputs apart. @param {string[]} names */
const someOf = (names) => `${Math.min(3, names.length)}: ${names.at(-1)}`;

/** @type {import('./inputs.js').Target} */
export const hash = {
  name: 'hash',
  isJson: false,
  seeds: [...HASHES, ...SETUPS.map((setup) => `#place=sandbox&sandbox=${setup}`)].map(bytesOf),
  inputs: changedText,
  check(bytes) {
    const state = readHash(new TextDecoder().decode(bytes));
    checkState(state);
    const written = writeHash(state);
    const omitted = tooLong(state);
    const again = readHash(written);
    const expected = { ...state };
    if (omitted.text) expected.text = FIRST_SIGHT.text;
    if (omitted.sandbox) expected.sandbox = FIRST_SIGHT.sandbox;
    assert.deepEqual(again, expected, written);
    assert.equal(writeHash(again), writeHash(expected));
    const differs = (/** @type {[string, unknown]} */ [key, value]) =>
      value !== new Map(Object.entries(FIRST_SIGHT)).get(key);
    return someOf(
      Object.entries(state)
        .filter(differs)
        .map(([key]) => key),
    );
  },
};

/** @type {import('./inputs.js').Target} */
export const sandbox = {
  name: 'sandbox',
  isJson: false,
  seeds: SETUPS.map(bytesOf),
  inputs: changedText,
  check(bytes) {
    const setup = readSetup(new TextDecoder().decode(bytes));
    const { n, m, width, heads, head, temperature } = setup;
    for (const [value, least, most] of [
      [n, 1, MOST.words],
      [m, 1, MOST.words],
      [heads, 1, MOST.heads],
      [head, 0, heads - 1],
      [width, heads, MOST.width],
    ]) {
      assert.ok(Number.isInteger(value) && value >= least && value <= most, `${value}, ${least} to ${most}`);
    }
    assert.equal(width % heads, 0);
    assert.ok(temperature >= TEMPERATURES.least && temperature <= TEMPERATURES.most, `temperature ${temperature}`);
    for (const name of SHEETS) {
      const [rows, cols] = shapeOf(setup, name);
      const values = valuesOf(setup, name);
      assert.equal(values.length, rows * cols);
      assert.ok(
        values.every((value) => Number.isFinite(value) && Math.abs(value) <= MOST.value),
        name,
      );
      if (name === 'mask') assert.ok(values.every((value) => value === 0 || value === 1));
    }
    for (const labels of [labelsOf(setup, 'x'), labelsOf(setup, 'y'), keyLabelsOf(setup)]) {
      for (const label of labels) {
        assert.equal(typeof label, 'string');
        assert.doesNotMatch(label, /[\p{Cc}\p{Cs}]/u);
        assert.ok([...label].length <= MOST.label, label);
      }
    }
    const written = writeSetup(setup);
    assert.match(written, /^[\w.*~!'()%-]*$/, 'carried by addresses as it is');
    assert.deepEqual(readSetup(written), setup, written);
    assert.equal(writeSetup(readSetup(written)), written);
    return someOf(written.split('*').map((part) => part.split('.')[0]));
  },
};
