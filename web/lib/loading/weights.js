/** Leads the tensors of a model's files into the engine: which slots each belongs to, whether its shape and type are
 * right. The engine is laid out by the first header, so tensors may then come in any order. */

import { QkvError } from '../checks/errors.js';
import { precisionNumber, withConfig } from './model_config.js';
import { isFloat, planeOf, tablePlane } from './tensor_planes.js';
import { rowBytesOf, sinkOf, wantedShape } from './tensor_rows.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../families/index.js').Layout} Layout */
/** @typedef {import('../families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('../formats/safetensors.js').Sink} Sink */
/** @typedef {import('./model_config.js').Precision} Precision */
/** @typedef {import('./tensor_rows.js').Plan} Plan */
/** @typedef {import('./tensor_rows.js').SlotShape} SlotShape */
/**
 * A model that is being filled.
 * @typedef {object} Filling
 * @property {Core} core
 * @property {ResolvedModel} resolved
 * @property {Precision} precision
 * @property {Layout | null} layout known with the first header
 * @property {number} model the engine's handle, 0 before it is laid out
 * @property {string} table the plane that the token table is held in
 * @property {number} staging address of the buffer that rows pass through, 0 = none
 * @property {number} parameters
 * @property {Map<string, string>} filled slot, layer and part -> the tensor that filled it
 * @property {Set<string>} ignored
 */

/** Staging memory: large enough that calls into wasm cost nothing beside the copying. */
const STAGING_BYTES = 1 << 20;
/** Names of ignored tensors that are kept for the report, and how much of each. */
const MOST_IGNORED = 40;
const LONGEST_NAME = 80;
const MOST_SHOWN = 3;
/** Bytes that a config may ask for whatever the file holds, and for each element in it. */
const ALWAYS_BELIEVED = 1 << 24;
const MOST_BYTES = 16;

/**
 * Only `finish` hands out the model that grows here.
 * @param {Core} core
 * @param {ResolvedModel} resolved
 * @param {Precision} precision
 */
export function createReceiver(core, resolved, precision) {
  /** @type {Filling} */
  const filling = {
    ...{ core, resolved, precision, layout: null, model: 0, table: '', staging: 0, parameters: 0 },
    filled: new Map(),
    ignored: new Set(),
  };
  return {
    /**
     * @param {string} fileName
     * @param {TensorInfo[]} tensors of this file
     * @param {Iterable<string>} [names] of all tensors of the model, where there are several files
     * @returns {Map<string, Sink>}
     */
    accept(fileName, tensors, names) {
      if (filling.model === 0) layOut(filling, fileName, tensors, names);
      const plans = tensors.flatMap((tensor) => planTensor(filling, fileName, tensor));
      return sinksOf(filling, fileName, plans);
    },

    /** Gives the staging buffer back; the next file gets its own. */
    endFile: () => freeStaging(filling),

    /**
     * Checks that everything has come.
     * @param {string} label the file or files, for the sentence
     */
    finish(label) {
      const { model: pointer, parameters, ignored } = filling;
      if (pointer === 0) throw new QkvError('weight', `${label}: tensors of the model`, { got: 0, want: 'some' });
      checkComplete(filling, label);
      core.check(label, core.call('qkv_model_ready', pointer));
      const bytes = callWithConfig(filling, 'qkv_model_size');
      return { pointer, engine: engineOf(filling), parameters, bytes, ignored: [...ignored] };
    },

    /** Gives everything back after a failure. */
    discard() {
      freeStaging(filling);
      if (filling.model !== 0 && core.isAlive()) core.call('qkv_model_free', filling.model);
      filling.model = 0;
    },
  };
}

/** @param {Filling} filling */
const engineOf = ({ layout, resolved }) => (layout ?? resolved).engine;

/**
 * Which file says what the weights should be, for messages: config.json, or a GGUF file itself.
 * @param {Filling} filling
 * @param {string} fileName
 */
const describedIn = ({ resolved }, fileName) => (fileName === resolved.label ? 'the metadata' : 'config.json');

/** @param {Filling} filling */
function freeStaging(filling) {
  if (filling.staging !== 0) filling.core.free(filling.staging);
  filling.staging = 0;
}

/**
 * @param {Filling} filling
 * @param {string} fileName
 * @param {TensorInfo[]} tensors
 * @param {Iterable<string> | undefined} names
 */
function layOut(filling, fileName, tensors, names) {
  const { resolved, precision } = filling;
  filling.layout = resolved.layout(names ?? tensors.map(({ name }) => name));
  filling.table = tablePlane(tensors, filling.layout.mapTensor, resolved.quantization, precision);
  if (names === undefined) checkBelieved(filling, fileName, tensors);
  filling.model = callWithConfig(filling, 'qkv_init');
}

/**
 * A config that promises far more than the file holds gets no memory for it. Sizes are rounded up to whole panels, which
 * matters for tiny models only.
 * @param {Filling} filling
 * @param {string} fileName
 * @param {TensorInfo[]} tensors
 */
function checkBelieved(filling, fileName, tensors) {
  const elements = tensors.reduce((sum, { shape }) => sum + elementsOf(shape), 0);
  const needed = callWithConfig(filling, 'qkv_model_size');
  if (needed <= ALWAYS_BELIEVED + elements * MOST_BYTES) return;
  const place = describedIn(filling, fileName);
  const want = `about ${Math.ceil(needed / 4)} for the sizes in ${place}`;
  const fix = `The weights and ${place} do not belong together.`;
  throw new QkvError('weight', `${fileName}: elements of all tensors`, { got: elements, want, fix });
}

/** @param {number[]} shape */
const elementsOf = (shape) => shape.reduce((product, size) => product * size, 1);

/**
 * @param {Filling} filling
 * @param {'qkv_init' | 'qkv_model_size'} name
 */
function callWithConfig(filling, name) {
  const { core, resolved, table, precision } = filling;
  return withConfig(core, resolved.label, engineOf(filling), table, (config) =>
    core.nonZero(resolved.label, core.call(name, config, precisionNumber(core, precision))),
  );
}

/**
 * @param {Filling} filling
 * @param {string} fileName
 * @param {Plan[]} plans
 * @returns {Map<string, Sink>}
 */
function sinksOf(filling, fileName, plans) {
  const { core, model } = filling;
  const largest = plans.reduce((most, { tensor }) => Math.max(most, tensor.end - tensor.begin), 1);
  const row = plans.reduce((most, one) => Math.max(most, rowBytesOf(one)), 1);
  const bytes = Math.max(Math.min(STAGING_BYTES, largest), row);
  const address = core.nonZero(fileName, core.call('qkv_alloc', bytes));
  filling.staging = address;
  return new Map(
    plans.map((one) => {
      const { tensor, layer } = one;
      const plane = core.description.planes.indexOf(one.plane);
      /** @type {import('./tensor_rows.js').Staging['load']} */
      const load = ({ index }, row0, rows, data) => {
        const status = core.call('qkv_load_rows', model, index, layer, plane, row0, rows, data);
        core.check(`${fileName}: ${tensor.name}`, status);
      };
      return [tensor.name, sinkOf(one, { core, address, bytes, load })];
    }),
  );
}

/**
 * @param {Filling} filling
 * @param {string} fileName
 * @param {TensorInfo} tensor
 * @returns {Plan[]} empty when the model has no use for the tensor
 */
function planTensor(filling, fileName, tensor) {
  const { core, layout, resolved } = filling;
  const target = layout?.mapTensor(tensor.name) ?? null;
  const slots = target?.slots.map((name) => slotOf(filling, name)) ?? [];
  if (target === null || slots.some(({ name, rows }) => rows === 0 || isLeftOut(filling, name, target.layer))) {
    ignore(filling, tensor.name);
    return [];
  }
  const { layer, turns, part } = target;
  const known = { slots: core.description.slots, quantization: resolved.quantization };
  const plane = planeOf(fileName, tensor, target, known);
  const isTransposed = target.isTransposed && isFloat(plane);
  const want = wantedShape({ slots, turns, layer, plane, isTransposed });
  if (tensor.shape.length !== want.length || tensor.shape.some((size, axis) => size !== want[axis])) {
    throw new QkvError('weight', `${fileName}: shape of ${tensor.name}`, {
      got: tensor.shape,
      want: JSON.stringify(want),
      fix: `The weights and ${describedIn(filling, fileName)} do not belong together.`,
    });
  }
  for (const slot of slots) fill(filling, fileName, `${slot.name} ${layer} ${part}`, tensor.name);
  if (part === 'whole') filling.parameters += elementsOf(tensor.shape);
  return [{ tensor, slots, turns, layer, plane, isTransposed }];
}

/**
 * @param {Filling} filling
 * @param {string} fileName
 * @param {string} key
 * @param {string} name
 */
function fill({ filled }, fileName, key, name) {
  const other = filled.get(key);
  if (other !== undefined) {
    throw new QkvError('weight', `${fileName}: ${other} and ${name} are the same weight`, { got: 2, want: 1 });
  }
  filled.set(key, name);
}

/** For the report; layers look alike. @param {Filling} filling @param {string} name */
function ignore({ ignored }, name) {
  if (ignored.size < MOST_IGNORED) ignored.add(name.slice(0, LONGEST_NAME).replace(/\.\d+\./g, '.{i}.'));
}

/**
 * @param {Filling} filling
 * @param {string} name
 * @returns {SlotShape} rows 0 where the model has no such slot
 */
function slotOf({ core, resolved, model }, name) {
  const slot = core.description.slots.get(name);
  if (!slot) {
    throw new QkvError('unsupported', `weight "${name}" of ${resolved.family}`, { want: 'one the engine has' });
  }
  const [rows, cols] = core.withMemory('shape of a weight', 8, (out) => {
    core.check('shape of a weight', core.call('qkv_slot_shape', model, slot.index, out));
    return core.heap.readInt32(out, 2);
  });
  return { name, index: slot.index, isVector: slot.role === 'vector' || slot.role === 'norm', rows, cols };
}

/**
 * ModernBERT's first layer has no norm in front of its attention.
 * @param {Filling} filling
 * @param {string} slot
 * @param {number} layer
 */
function isLeftOut(filling, slot, layer) {
  const { first_norm: firstNorm, norm_place: place } = engineOf(filling);
  return layer === 0 && firstNorm === 0 && place !== 'post' && slot.startsWith('attn_norm.');
}

/**
 * What the file might have called it.
 * @param {Filling} filling
 * @param {string} slot
 * @param {number} layer
 */
function wantedName({ layout, resolved }, slot, layer) {
  const name = layout?.nameOf(slot, layer) ?? null;
  const prefixes = resolved.prefixes.map((prefix) => `"${prefix}"`).join(' or ');
  return name === null ? undefined : `"${name}", with or without ${prefixes}`;
}

/** @param {Filling} filling @param {string} label */
function checkComplete(filling, label) {
  const layers = engineOf(filling).stored_layers;
  for (const [name, { scope }] of filling.core.description.slots) {
    if (slotOf(filling, name).rows === 0) continue;
    for (let layer = 0; layer < (scope === 'layer' ? layers : 1); layer++) {
      if (filling.filled.has(`${name} ${layer} whole`) || isLeftOut(filling, name, layer)) continue;
      const where = scope === 'layer' ? ` of layer ${layer}` : '';
      const names = [...filling.ignored].slice(0, MOST_SHOWN);
      throw new QkvError('weight', `${label}: no tensor holds ${name}${where}`, {
        got: names.length === 0 ? undefined : names,
        want: wantedName(filling, name, layer),
        fix: `The file is incomplete, or ${describedIn(filling, label)} describes another model.`,
      });
    }
  }
}
