/** JSON as a tree that can say what JSON.parse would lose: equal keys, numbers written oddly, text that is no JSON at all. */
import fc from 'fast-check';

/** @typedef {{ list: Node[] }} List */
/** @typedef {{ entries: [key: string, node: Node][] }} Entries */
/** @typedef {{ raw: string }} Raw the very text */
/** @typedef {List | Entries | Raw} Node */
/** @typedef {{ kind: number, pick: number, other: number, value: string, count: number }} Change */

/** @param {unknown} value @returns {Node} */
export function treeOf(value) {
  if (Array.isArray(value)) return { list: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return { raw: JSON.stringify(value) };
  return { entries: Object.entries(value).map(([key, one]) => [key, treeOf(one)]) };
}

/** @param {Node} node @returns {string} */
export function textOf(node) {
  if ('raw' in node) return node.raw;
  if ('list' in node) return `[${node.list.map(textOf).join(',')}]`;
  return `{${node.entries.map(([key, one]) => `${JSON.stringify(key)}:${textOf(one)}`).join(',')}}`;
}

/** What files must not be trusted to hold. */
const HOSTILE = [
  ...['null', 'true', 'false', '0', '-0', '-1', '1', '2', '3', '7', '1.5', '0.5', '64', '255', '256', '4095', '4096'],
  ...[
    '65536',
    '2147483647',
    '2147483648',
    '4294967296',
    '9007199254740991',
    '9007199254740993',
    '18446744073709551614',
  ],
  ...[
    '1e308',
    '-1e308',
    '1e999',
    '1e-320',
    '1e3',
    '01',
    '1.',
    '+1',
    '-',
    'NaN',
    'Infinity',
    '0x10',
    "'a'",
    'undefined',
  ],
  ...['""', '"768"', '" "', '"a"', '"__proto__"', '"constructor"', '"\\u0000"', '"\\ud800"', '"▁"', '"▁▁"', '"##"'],
  ...[
    '"gelu"',
    '"linear"',
    '"yarn"',
    '"F32"',
    '"U8"',
    '"(a+)+$"',
    '"[^a]*b"',
    '"../x"',
    '"a.safetensors"',
    '"\\u0130"',
  ],
  ...['[]', '{}', '[[]]', '[0]', '[-1]', '[0,0]', '["a"]', '[["a",0]]', '[null]', '{"a":1}', '{"a":1,"a":2}'],
  ...[
    '{"type":"Sequence"}',
    '{"String":""}',
    '{"String":"a"}',
    '{"Regex":""}',
    '{"Regex":"\\\\s*|a"}',
    '{"Regex":"(?i:x)|.+"}',
  ],
  ...['{"rope_type":"yarn","factor":2}', '{"factor":0}', '{"__proto__":{"x":1}}', '\ufeff{}', '"', '{', '[', ',', '\\'],
];

/** @type {fc.Arbitrary<Change>} */
const change = fc.record({
  kind: fc.nat(11),
  pick: fc.nat(100_000),
  other: fc.nat(100_000),
  value: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...HOSTILE) },
    { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)) },
    { weight: 1, arbitrary: fc.double().map(String) },
    { weight: 1, arbitrary: fc.integer().map(String) },
  ),
  count: fc.oneof({ weight: 8, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.nat(400) }),
});
export const treeChanges = fc.oneof(
  { weight: 5, arbitrary: fc.array(change, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(change, { maxLength: 12 }) },
);

/** A place in the tree: the node's owner and where it stands there. @typedef {{ owner: List | Entries, at: number }} Place */

/** @param {Node} root @returns {Place[]} all but the root, of an owner the latest first, so that later changes keep earlier places */
function placesOf(root) {
  /** @type {Place[]} */
  const places = [];
  /** @param {Node} node */
  const walk = (node) => {
    if ('raw' in node) return;
    const children = 'list' in node ? node.list : node.entries.map(([, one]) => one);
    children.forEach((one, at) => {
      places.push({ owner: node, at });
      walk(one);
    });
  };
  walk(root);
  return places;
}

/** @param {Place} place @returns {Node} */
const nodeAt = ({ owner, at }) => ('list' in owner ? owner.list[at] : owner.entries[at][1]);

/** @param {Place} place @param {Node} node */
function put({ owner, at }, node) {
  if ('list' in owner) owner.list[at] = node;
  else owner.entries[at][1] = node;
}

/** @param {Place} place @param {number} gone @param {Node[]} nodes put there instead, under the same key */
function splice({ owner, at }, gone, nodes) {
  if ('list' in owner) owner.list.splice(at, gone, ...nodes);
  else
    owner.entries.splice(
      at,
      gone,
      .../** @type {[string, Node][]} */ (nodes.map((one) => [owner.entries[at][0], one])),
    );
}

/** @param {Node} node @param {number} depth @param {number} kind @returns {Node} */
function wrapped(node, depth, kind) {
  const [open, close] = kind % 2 === 0 ? ['[', ']'] : ['{"a":', '}'];
  return { raw: open.repeat(depth) + textOf(node) + close.repeat(depth) };
}

/** @param {string} raw @param {Change} how @returns {string} */
function tweaked(raw, { value, count, other }) {
  const number = Number(raw);
  if (raw !== '' && !Number.isNaN(number)) {
    return String([number + 1, number - 1, number * 2, -number, number + 0.5, number * 1e6, number / 3][other % 7]);
  }
  if (!raw.startsWith('"')) return value;
  const at = 1 + (other % Math.max(1, raw.length - 1));
  return raw.slice(0, at) + value.replaceAll('"', '').repeat(1 + (count % 40)) + raw.slice(at);
}

/**
 * @param {Node} root
 * @param {Change[]} changes
 * @param {number} [most] nodes that the tree may come to have
 * @returns {Node} root changed, or what stands for it now
 */
export function changeTree(root, changes, most = 20_000) {
  let tree = root;
  for (const how of changes) {
    const places = placesOf(tree);
    if (places.length === 0 || places.length > most) return tree;
    const place = places[how.pick % places.length];
    const node = nodeAt(place);
    const copy = structuredClone(nodeAt(places[how.other % places.length]));
    if (how.kind === 0) splice(place, 1, []);
    else if (how.kind === 1) splice(place, 0, [structuredClone(node)]);
    else if (how.kind === 2) put(place, copy);
    else if (how.kind === 3) put(place, wrapped(node, how.count, how.other));
    else if (how.kind === 4 && 'entries' in place.owner) place.owner.entries[place.at][0] = keyFrom(how, place.owner);
    else if (how.kind === 5)
      splice(
        place,
        0,
        Array.from({ length: how.count }, () => copy).map((one) => structuredClone(one)),
      );
    else if (how.kind <= 7 && 'raw' in node) put(place, { raw: tweaked(node.raw, how) });
    else if (how.kind === 8 && how.other % 50 === 0) tree = node;
    else put(place, { raw: how.value });
  }
  return tree;
}

/** @param {Change} how @param {Entries} owner @returns {string} another key of the same object, or any text */
function keyFrom({ value, other }, { entries }) {
  return other % 3 === 0 ? entries[other % entries.length][0] : value.replaceAll('"', '');
}

/** Text that is nearly JSON. */
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r', '\u00a0');
const { value: grammar } = fc.letrec((/** @type {fc.LetrecLooselyTypedTie} */ tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => `"${text}"`),
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }), space)
      .map(([a, list, b]) => `[${a}${list.join(`${b},${a}`)}]`),
    fc
      .tuple(
        space,
        fc.array(fc.tuple(fc.constantFrom('"a"', '"b"', '"__proto__"', '""', 'a', '1'), tie('value')), {
          maxLength: 4,
        }),
      )
      .map(([a, list]) => `{${a}${list.map(([key, one]) => `${key}${a}:${one}`).join(`,${a}`)}}`),
  ),
}));
export const nearlyJson = /** @type {fc.Arbitrary<string>} */ (grammar);
