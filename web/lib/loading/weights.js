/** Leads the tensors of a model's files into the engine: which slots each belongs to, whether its shape and type are
 * right. The engine is laid out by the first header, so tensors may then come in any order. */

import { QkvError } from '../checks/errors.js';
import { precisionNumber, withConfig } from './model_config.js';
import { rowBytesOf, sinkOf, wantedShape } from './tensor_rows.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../families/index.js').Layout} Layout */
/** @typedef {import('../families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('../families/parts/placement.js').Target} Target */
/** @typedef {import('../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('../formats/safetensors.js').Sink} Sink */
/** @typedef {import('./model_config.js').Precision} Precision */
/** @typedef {import('./tensor_rows.js').Plan} Plan */
/** @typedef {import('./tensor_rows.js').SlotShape} SlotShape */

/** What a tensor's bytes are to the engine. */
const FLOATS = /** @type {Record<string, string>} */ ({ F32: 'f32', F16: 'f16', BF16: 'bf16' });
/** The blocks of GGUF; only rows that stay whole can hold them. */
const BLOCKS = ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K'];
/** Staging memory: large enough that calls into wasm cost nothing beside the copying. */
const STAGING_BYTES = 1 << 20;
/** Names of ignored tensors that are kept for the report, and how much of each. */
const MOST_IGNORED = 40;
/** Bytes that a config may ask for whatever the file holds, and for each element in it. */
const ALWAYS_BELIEVED = 1 << 24;
const MOST_BYTES = 16;
const LONGEST_NAME = 80;

/**
 * One closure: everything in it works on the model that grows here, which only `finish` hands out.
 * @param {Core} core
 * @param {ResolvedModel} resolved
 * @param {Precision} precision
 */
export function createReceiver(core, resolved, precision) {
  const { description } = core;
  /** @type {Map<string, string>} slot, layer and part -> the tensor that filled it */
  const filled = new Map();
  /** @type {Set<string>} */
  const ignored = new Set();
  /** @type {Layout | null} */
  let layout = null;
  let model = 0;
  let table = '';
  let staging = 0;
  let parameters = 0;

  /**
   * @param {string} fileName
   * @param {TensorInfo[]} tensors of this file
   * @param {Iterable<string>} [names] of all tensors of the model, where there are several files
   * @returns {Map<string, Sink>}
   */
  function accept(fileName, tensors, names) {
    const isWhole = names === undefined;
    layout ??= resolved.layout(names ?? tensors.map(({ name }) => name));
    if (model === 0) {
      table = tableForm(tensors, layout);
      if (isWhole) checkBelieved(fileName, tensors);
      model = withTable('qkv_init');
    }
    const plans = tensors.flatMap((tensor) => plan(fileName, tensor));
    const largest = plans.reduce((most, { tensor }) => Math.max(most, tensor.end - tensor.begin), 1);
    const row = plans.reduce((most, one) => Math.max(most, rowBytesOf(one)), 1);
    const bytes = Math.max(Math.min(STAGING_BYTES, largest), row);
    const address = core.nonZero(fileName, core.call('qkv_alloc', bytes));
    staging = address;
    return new Map(
      plans.map((one) => {
        const { tensor, layer } = one;
        const plane = description.planes.indexOf(one.plane);
        /** @type {import('./tensor_rows.js').Staging['load']} */
        const load = ({ index }, row0, rows, data) => {
          const status = core.call('qkv_load_rows', model, index, layer, plane, row0, rows, data);
          core.check(`${fileName}: ${tensor.name}`, status);
        };
        return [tensor.name, sinkOf(one, { core, address, bytes, load })];
      }),
    );
  }

  /** What the weights are held against, for messages: a GGUF file says it by itself. @param {string} fileName */
  const describedIn = (fileName) => (fileName === resolved.label ? 'the metadata' : 'config.json');

  /**
   * A config that promises far more than the file holds gets no memory for it. Sizes are rounded up to whole panels, which
   * matters for tiny models only.
   * @param {string} fileName
   * @param {TensorInfo[]} tensors
   */
  function checkBelieved(fileName, tensors) {
    const elements = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
    const needed = withTable('qkv_model_size');
    if (needed <= ALWAYS_BELIEVED + elements * MOST_BYTES) return;
    const want = `about ${Math.ceil(needed / 4)} for the sizes in ${describedIn(fileName)}`;
    const fix = `The weights and ${describedIn(fileName)} do not belong together.`;
    throw new QkvError('weight', `${fileName}: elements of all tensors`, { got: elements, want, fix });
  }

  /**
   * @param {string} fileName
   * @param {TensorInfo} tensor
   * @returns {Plan[]} empty when the model has no use for the tensor
   */
  function plan(fileName, tensor) {
    const target = layout?.mapTensor(tensor.name) ?? null;
    const slots = target?.slots.map(slotOf) ?? [];
    if (target === null || slots.some(({ name, rows }) => rows === 0 || isLeftOut(name, target.layer))) {
      ignore(tensor.name);
      return [];
    }
    const { layer, turns, part } = target;
    const plane = planeOf(fileName, tensor, target);
    const isTransposed = target.isTransposed && Object.values(FLOATS).includes(plane);
    const want = wantedShape({ slots, turns, layer, plane, isTransposed });
    if (tensor.shape.length !== want.length || tensor.shape.some((size, axis) => size !== want[axis])) {
      throw new QkvError('weight', `${fileName}: shape of ${tensor.name}`, {
        got: tensor.shape,
        want: JSON.stringify(want),
        fix: `The weights and ${describedIn(fileName)} do not belong together.`,
      });
    }
    for (const slot of slots) fill(fileName, `${slot.name} ${layer} ${part}`, tensor.name);
    if (part === 'whole') parameters += tensor.shape.reduce((product, size) => product * size, 1);
    return [{ tensor, slots, turns, layer, plane, isTransposed }];
  }

  /** @param {string} fileName @param {string} key @param {string} name */
  function fill(fileName, key, name) {
    const other = filled.get(key);
    if (other !== undefined) {
      throw new QkvError('weight', `${fileName}: ${other} and ${name} are the same weight`, { got: 2, want: 1 });
    }
    filled.set(key, name);
  }

  /** For the report; layers look alike. @param {string} name */
  function ignore(name) {
    if (ignored.size < MOST_IGNORED) ignored.add(name.slice(0, LONGEST_NAME).replace(/\.\d+\./g, '.{i}.'));
  }

  /**
   * @param {string} fileName
   * @param {TensorInfo} tensor
   * @param {Target} target
   * @returns {string}
   */
  function planeOf(fileName, { name, dtype }, { part, slots }) {
    const { quantization } = resolved;
    const isMatrix = description.slots.get(slots[0])?.role === 'matrix' || slots[0] === 'tokens';
    /** @type {Record<string, string>} */
    let planes = FLOATS;
    if (part === 'low') planes = { U8: 'q10_low' };
    else if (part === 'scale') planes = { F32: 'scale' };
    else if (isMatrix) {
      planes = { ...FLOATS, ...Object.fromEntries(BLOCKS.map((block) => [block, block.toLowerCase()])) };
      if (quantization !== null) planes.I8 = quantization.bits === 10 ? 'q10_high' : 'q8';
    }
    if (Object.hasOwn(planes, dtype)) return planes[dtype];
    const want = Object.keys(planes).join(', ');
    throw new QkvError('unsupported', `${fileName}: type of ${name}`, { got: dtype, want });
  }

  /**
   * How the engine holds the token table: floats as the file has them, since a row is read only when its token occurs,
   * rounded where the other weights are; what the file has rounded stays so.
   * @param {TensorInfo[]} tensors
   * @param {Layout} layout
   */
  function tableForm(tensors, { mapTensor }) {
    const tokens = tensors.find(({ name }) => {
      const target = mapTensor(name);
      return target?.slots[0] === 'tokens' && target.part === 'whole';
    });
    const dtype = tokens?.dtype ?? 'F32';
    if (dtype === 'I8') return resolved.quantization?.bits === 8 ? 'q8' : 'q10_high';
    if (precision !== 'f32') return precision === 'q10' ? 'q10_high' : 'q8';
    return FLOATS[dtype] ?? 'f32';
  }

  /** @param {'qkv_init' | 'qkv_model_size'} name */
  function withTable(name) {
    const { engine } = layout ?? resolved;
    return withConfig(core, resolved.label, engine, table, (config) =>
      core.nonZero(resolved.label, core.call(name, config, precisionNumber(core, precision))),
    );
  }

  /** @param {string} name @returns {SlotShape} rows 0 where the model has no such slot */
  function slotOf(name) {
    const slot = description.slots.get(name);
    if (!slot) {
      throw new QkvError('unsupported', `weight "${name}" of ${resolved.family}`, { want: 'one the engine has' });
    }
    const [rows, cols] = core.withMemory('shape of a weight', 8, (out) => {
      core.check('shape of a weight', core.call('qkv_slot_shape', model, slot.index, out));
      return core.heap.readInt32(out, 2);
    });
    return { name, index: slot.index, isVector: slot.role === 'vector' || slot.role === 'norm', rows, cols };
  }

  /** ModernBERT's first layer has no norm in front of its attention. @param {string} slot @param {number} layer */
  function isLeftOut(slot, layer) {
    const { first_norm: firstNorm, norm_place: place } = (layout ?? resolved).engine;
    return layer === 0 && firstNorm === 0 && place !== 'post' && slot.startsWith('attn_norm.');
  }

  /** Gives the staging buffer back; the next file gets its own. */
  function endFile() {
    if (staging !== 0) core.free(staging);
    staging = 0;
  }

  /** @param {string} label the file or files, for the sentence */
  function checkComplete(label) {
    const { engine } = layout ?? resolved;
    for (const [name, { scope }] of description.slots) {
      if (slotOf(name).rows === 0) continue;
      const layers = scope === 'layer' ? engine.stored_layers : 1;
      for (let layer = 0; layer < layers; layer++) {
        if (filled.has(`${name} ${layer} whole`) || isLeftOut(name, layer)) continue;
        const where = scope === 'layer' ? ` of layer ${layer}` : '';
        throw new QkvError('weight', `${label}: no tensor holds ${name}${where}`, {
          fix: `The file is incomplete, or ${describedIn(label)} describes another model.`,
        });
      }
    }
  }

  return {
    accept,
    endFile,

    /**
     * Checks that everything has come.
     * @param {string} label
     */
    finish(label) {
      if (model === 0) throw new QkvError('weight', `${label}: tensors of the model`, { got: 0, want: 'some' });
      checkComplete(label);
      core.check(label, core.call('qkv_model_ready', model));
      const { engine } = layout ?? resolved;
      return { pointer: model, engine, parameters, bytes: withTable('qkv_model_size'), ignored: [...ignored] };
    },

    /** Gives everything back after a failure. */
    discard() {
      endFile();
      if (model !== 0 && core.isAlive()) core.call('qkv_model_free', model);
      model = 0;
    },
  };
}
