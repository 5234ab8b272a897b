/**
 * Small attentions that each show one thing. Only what goes in is written down; every result is computed by the engine.
 * A sheet of numbers is either rows written out (what lies outside them is 0) or a fill with its seed.
 */

/** @typedef {'x' | 'y' | 'wq' | 'wk' | 'wv' | 'wo' | 'mask'} SheetName */
/** @typedef {'random' | 'zero' | 'identity' | 'open' | 'causal'} PlainFill */
/** @typedef {{ fill: PlainFill, seed?: number } | { rows: number[][] }} Base */
/**
 * @typedef {object} SandboxPreset
 * @property {string[]} words those that look
 * @property {string[]} others those that are looked at, where they are others
 * @property {boolean} cross
 * @property {number} width
 * @property {number} heads
 * @property {boolean} scaled
 * @property {Record<SheetName, Base>} sheets
 */

/** @type {{ open: Base, causal: Base, identity: Base }} */
const PLAIN = { open: { fill: 'open' }, causal: { fill: 'causal' }, identity: { fill: 'identity' } };

/** @param {number} seed @returns {Base} */
const random = (seed) => ({ fill: 'random', seed });

/** @param {number[]} numbers @returns {Base} */
const diagonal = (numbers) => ({ rows: numbers.map((number, i) => numbers.map((_, j) => (i === j ? number : 0))) });

/** @type {SandboxPreset} */
const LOOKUP = {
  words: ['a?', 'a or c?', 'rather b?'],
  others: ['a', 'b', 'c', 'd'],
  cross: true,
  width: 4,
  heads: 1,
  scaled: true,
  sheets: {
    x: {
      rows: [
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [0, 0.1, 0, 0],
      ],
    },
    y: PLAIN.identity,
    wq: diagonal([40, 40, 40, 40]),
    wk: PLAIN.identity,
    wv: {
      rows: [
        [3, 1, 4, 1],
        [5, 9, 2, 6],
        [5, 3, 5, 8],
        [9, 7, 9, 3],
      ],
    },
    wo: PLAIN.identity,
    mask: PLAIN.open,
  },
};

/** @type {SandboxPreset} */
const WIDTH = {
  words: ['one', 'two', 'three', 'four', 'five', 'six'],
  others: [],
  cross: false,
  width: 64,
  heads: 1,
  scaled: false,
  sheets: {
    x: random(1),
    y: random(2),
    wq: random(3),
    wk: random(4),
    wv: PLAIN.identity,
    wo: PLAIN.identity,
    mask: PLAIN.open,
  },
};

/** @type {SandboxPreset} */
const MASK = {
  words: ['The', 'cat', 'sat', 'down', 'today'],
  others: [],
  cross: false,
  width: 4,
  heads: 1,
  scaled: true,
  sheets: {
    x: random(1),
    y: random(2),
    wq: random(3),
    wk: random(4),
    wv: random(5),
    wo: random(6),
    mask: PLAIN.causal,
  },
};

/** @type {SandboxPreset} */
const HEADS = {
  words: ['the', 'cat', 'sat', 'down'],
  others: [],
  cross: false,
  width: 16,
  heads: 8,
  scaled: true,
  sheets: { x: random(1), y: random(2), wq: random(3), wk: random(4), wv: random(5), wo: random(6), mask: PLAIN.open },
};

/** The numbers of a word: colour, animal, action, language. @type {SandboxPreset} */
const CROSS = {
  words: ['黑', '猫', '睡'],
  others: ['the', 'black', 'cat', 'sleeps'],
  cross: true,
  width: 4,
  heads: 1,
  scaled: true,
  sheets: {
    x: {
      rows: [
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0, 0, 1, 1],
      ],
    },
    y: {
      rows: [
        [0, 0, 0, -1],
        [1, 0, 0, -1],
        [0, 1, 0, -1],
        [0, 0, 1, -1],
      ],
    },
    wq: diagonal([8, 8, 8, 0]),
    wk: diagonal([1, 1, 1, 0]),
    wv: PLAIN.identity,
    wo: PLAIN.identity,
    mask: PLAIN.open,
  },
};

/** W_K reads only the last number, which is 1 for every word. @type {SandboxPreset} */
const EQUAL = {
  words: ['north', 'east', 'south', 'west'],
  others: [],
  cross: false,
  width: 4,
  heads: 1,
  scaled: true,
  sheets: {
    x: {
      rows: [
        [1, 0, 2, 1],
        [3, 4, 0, 1],
        [5, -2, 1, 1],
        [-1, 2, 5, 1],
      ],
    },
    y: random(2),
    wq: random(3),
    wk: {
      rows: [
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [1, -1, 2, 0.5],
      ],
    },
    wv: PLAIN.identity,
    wo: PLAIN.identity,
    mask: PLAIN.open,
  },
};

export const SANDBOX_PRESETS = Object.freeze({
  lookup: LOOKUP,
  width: WIDTH,
  mask: MASK,
  heads: HEADS,
  cross: CROSS,
  equal: EQUAL,
});

/** @typedef {keyof typeof SANDBOX_PRESETS} PresetName */

export const PRESET_NAMES = /** @type {PresetName[]} */ (Object.keys(SANDBOX_PRESETS));
