/** Where the tensors of a model's files go: from their names to slots of the engine, and how the rows of a tensor that
 * holds several matrices are shared out. */

/** @typedef {import('../index.js').Family} Family */
/** @typedef {import('./output_head.js').OutputHead} OutputHead */
/** @typedef {'whole' | 'low' | 'scale'} Part whole: the tensor, or the high plane of a quantised one */
/**
 * @typedef {object} Target
 * @property {string[]} slots that the tensor's rows go to, one after the other
 * @property {number} turns how often the slots take turns: 1, or once a head
 * @property {number} layer
 * @property {Part} part
 * @property {boolean} isTransposed [in, out] instead of [out, in]; holds for floats, quantised tensors are always [out, in]
 */
/** @typedef {(name: string) => Target | null} MapTensor null for tensors that the engine has no use for */
/** @typedef {Omit<Target, 'layer'>} Place */
/** @typedef {(slot: string, layer: number) => string | null} NameOf the name that files give the tensor of a slot, without prefix */
/** @typedef {{ mapTensor: MapTensor, nameOf: NameOf }} TensorMap */

/** Slots whose names have no ".weight" at the end. */
const TABLES = ['tokens', 'positions', 'segments', 'relative'];
/** What programs that train and adapt models put in front of all names, and into them. */
const WRAPPERS = ['_orig_mod.', 'module.', 'base_model.model.', 'model.language_model.', 'language_model.'];
const INSIDE = /(?<=^|\.)(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\./g;
/** A layer number inside a tensor name. */
const LAYER = /\.(0|[1-9][0-9]{0,5})\./;

/**
 * A tensor's name as the model itself has it.
 * @param {string} name
 * @returns {string}
 */
export function unwrapped(name) {
  let rest = name.replace(INSIDE, '');
  for (let wrapper = startOf(rest); wrapper !== undefined; wrapper = startOf(rest)) rest = rest.slice(wrapper.length);
  return rest;
}

/** @param {string} name */
const startOf = (name) => WRAPPERS.find((wrapper) => name.startsWith(wrapper));

/**
 * @param {Family} family
 * @param {OutputHead} head
 * @param {object} model
 * @param {number} model.heads
 * @param {number} model.storedLayers
 * @param {boolean} model.isQuantized
 * @param {string[]} model.transposed keys of family.layerNames
 * @returns {TensorMap}
 */
export function createMap(family, head, { heads, storedLayers, isQuantized, transposed }) {
  /** @type {Map<string, Place>} */
  const places = new Map();
  /** @param {string} key @param {string} name without ".weight" @param {boolean} isLinear */
  const add = (key, name, isLinear = true) => {
    const turns = family.headwise?.includes(key) ? heads : 1;
    const isTransposed = transposed.includes(key);
    for (const { ending, suffix, part } of endings(key, isQuantized)) {
      if (!isLinear && ending === '.bias') continue;
      const slots = key.split('|').map((stem) => `${stem}${suffix}`);
      places.set(`${name}${ending}`, { slots, turns, part, isTransposed: isTransposed && suffix === '.weight' });
    }
  };
  for (const [key, name] of Object.entries(family.names)) add(key, name);
  for (const [key, name] of Object.entries(family.layerNames)) add(key, `${family.layer}${name}`);
  for (const [key, name] of head.linears) add(key, name, key !== 'head');
  for (const [slot, name] of head.others) {
    places.set(name, { slots: [slot], turns: 1, part: 'whole', isTransposed: false });
  }

  const prefixes = [...family.prefixes].sort((a, b) => b.length - a.length);
  /** @type {MapTensor} */
  const mapTensor = (wrapped) => {
    const full = unwrapped(wrapped);
    const prefix = prefixes.find((start) => full.startsWith(start));
    if (prefix === undefined) return null;
    const name = full.slice(prefix.length);
    const number = LAYER.exec(name);
    const place = name.includes('{i}') ? undefined : places.get(name.replace(LAYER, '.{i}.'));
    const layer = number === null ? 0 : Number(number[1]);
    return place === undefined || layer >= storedLayers ? null : { ...place, layer };
  };
  /** @type {NameOf} */
  const nameOf = (slot, layer) => {
    const found = [...places].find(([, { slots, part }]) => part === 'whole' && slots.includes(slot));
    return found ? found[0].replace('{i}', String(layer)) : null;
  };
  return { mapTensor, nameOf };
}

/**
 * How the names of a slot's tensors end.
 * @param {string} key
 * @param {boolean} isQuantized
 * @returns {{ ending: string, suffix: string, part: Part }[]}
 */
function endings(key, isQuantized) {
  const isTable = TABLES.includes(key);
  const weight = isTable ? '' : '.weight';
  const isNorm = key.endsWith('norm');
  /** @param {string} ending @param {string} suffix @param {Part} [part] */
  const end = (ending, suffix, part = 'whole') => ({ ending, suffix, part });
  const names = [end('.weight', weight)];
  if (!isTable) names.push(end('.bias', '.bias'));
  if (isNorm) names.push(end('.gamma', weight), end('.beta', '.bias'));
  if (isQuantized && !isNorm && (!isTable || key === 'tokens')) {
    names.push(end('.weight_low', weight, 'low'), end('.weight_scale', weight, 'scale'));
  }
  return names;
}
