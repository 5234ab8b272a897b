/** Leads the tensors of a model's files into the engine: which slot each belongs to, whether its shape and type are
 * right, and whole rows of it through one staging buffer in wasm memory. Tensors may come in any order. */

import { writeStruct } from './describe.js';
import { QkvError } from './errors.js';

/** @typedef {import('./engine.js').Core} Core */
/** @typedef {import('./families/index.js').ResolvedModel} ResolvedModel */
/** @typedef {import('./formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('./formats/safetensors.js').Sink} Sink */
/** @typedef {import('./describe.js').Slot} Slot */
/** @typedef {'f32' | 'q10'} Precision */
/**
 * A tensor and where it goes.
 * @typedef {{ tensor: TensorInfo, slot: string, layer: number, plane: string }} Placed
 */

/** What a plain tensor's bytes are to the engine; the planes of q10 come with the family's mapping. */
const PLANE_OF_DTYPE = /** @type {Record<string, string>} */ ({ F32: 'f32', F16: 'f16', BF16: 'bf16' });
const DTYPE_OF_PLANE = /** @type {Record<string, string>} */ ({
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
  q10_high: 'I8',
  q10_low: 'U8',
  scale: 'F32',
});
const BYTES_OF_PLANE = /** @type {Record<string, number>} */ ({ f32: 4, f16: 2, bf16: 2, q10_high: 1, scale: 4 });
/** Staging memory: large enough that calls into wasm cost nothing beside the copying. */
const STAGING_BYTES = 1 << 20;

/**
 * Bytes the model will take, before anything of it is downloaded. The form of the token table is not known yet, so the
 * smallest possible one counts: what is refused here could never have been loaded.
 * @param {Core} core
 * @param {ResolvedModel} resolved
 * @param {Precision} precision
 */
export function estimateBytes(core, resolved, precision) {
  const table = precision === 'q10' ? 'q10_high' : 'f16';
  return withConfig(core, resolved, table, (config) =>
    core.nonZero(resolved.label, core.call('qkv_model_size', config, precisionNumber(core, precision))),
  );
}

/**
 * One closure: everything in it works on the model that grows here, which only `finish` hands out.
 * @param {Core} core
 * @param {ResolvedModel} resolved
 * @param {Precision} precision
 */
export function createReceiver(core, resolved, precision) {
  const { description } = core;
  /** @type {Map<string, string>} slot, layer and plane -> the tensor that filled it */
  const filled = new Map();
  let model = 0;
  let table = '';
  let staging = 0;
  let parameters = 0;

  /**
   * @param {string} fileName
   * @param {TensorInfo[]} tensors
   * @returns {Map<string, Sink>}
   */
  function accept(fileName, tensors) {
    const placed = tensors.flatMap((tensor) => place(fileName, tensor));
    if (model === 0) {
      table = tableForm(placed);
      model = withTable('qkv_init');
    }
    const rowBytes = new Map(placed.map((one) => [one, checkShape(fileName, one)]));
    const largest = placed.reduce((most, { tensor }) => Math.max(most, tensor.end - tensor.begin), 1);
    const stagingBytes = Math.max(Math.min(STAGING_BYTES, largest), ...rowBytes.values());
    staging = core.nonZero(fileName, core.call('qkv_alloc', stagingBytes));
    return new Map(placed.map((one) => [one.tensor.name, sinkOf(fileName, one, rowBytes.get(one) ?? 1, stagingBytes)]));
  }

  /**
   * @param {string} fileName
   * @param {TensorInfo} tensor
   * @returns {Placed[]} empty when the model has no use for the tensor
   */
  function place(fileName, tensor) {
    const target = resolved.mapTensor(tensor.name);
    if (target === null) return [];
    const plane = target.plane ?? PLANE_OF_DTYPE[tensor.dtype];
    const want = target.plane ? DTYPE_OF_PLANE[target.plane] : Object.keys(PLANE_OF_DTYPE).join(', ');
    if (plane === undefined || (target.plane && tensor.dtype !== want)) {
      throw new QkvError('unsupported', `${fileName}: type of ${tensor.name}`, { got: tensor.dtype, want });
    }
    const key = `${target.slot} ${target.layer} ${target.plane ?? 'whole'}`;
    const other = filled.get(key);
    if (other !== undefined) {
      throw new QkvError('weight', `${fileName}: ${other} and ${tensor.name} are the same weight`, { got: 2, want: 1 });
    }
    filled.set(key, tensor.name);
    return [{ tensor, slot: target.slot, layer: target.layer, plane }];
  }

  /**
   * How the engine holds the token table: as the file has it, since a row is read only when its token occurs; rounded
   * where the other weights are.
   * @param {Placed[]} placed
   */
  function tableForm(placed) {
    if (precision === 'q10') return 'q10_high';
    const tokens = placed.find(({ slot, plane }) => slot === 'tokens' && plane in BYTES_OF_PLANE && plane !== 'scale');
    return tokens?.plane ?? 'f32';
  }

  /** @param {'qkv_init' | 'qkv_model_size'} name */
  function withTable(name) {
    return withConfig(core, resolved, table, (config) =>
      core.nonZero(resolved.label, core.call(name, config, precisionNumber(core, precision))),
    );
  }

  /** @param {number} slot */
  function shapeOf(slot) {
    return core.withMemory('shape of a weight', 8, (out) => {
      core.check('shape of a weight', core.call('qkv_slot_shape', model, slot, out));
      const [rows, cols] = core.heap.readInt32(out, 2);
      return { rows, cols };
    });
  }

  /**
   * @param {string} fileName
   * @param {Placed} placed
   * @returns {number} bytes of one row
   */
  function checkShape(fileName, { tensor, slot: name, plane }) {
    const slot = slotOf(name);
    const { rows, cols } = shapeOf(slot.index);
    const lowBytes = Math.ceil(cols / 4);
    const want = plane === 'scale' ? [rows] : plane === 'q10_low' ? [rows, lowBytes] : [rows, cols];
    if (slot.role === 'vector') want.shift();
    if (tensor.shape.length !== want.length || tensor.shape.some((size, axis) => size !== want[axis])) {
      throw new QkvError('weight', `${fileName}: shape of ${tensor.name}`, {
        got: tensor.shape,
        want: JSON.stringify(want),
        fix: 'The weights and config.json do not belong together.',
      });
    }
    if (plane !== 'scale' && plane !== 'q10_low') parameters += rows * cols;
    if (plane === 'scale') return 4;
    return plane === 'q10_low' ? lowBytes : cols * BYTES_OF_PLANE[plane];
  }

  /** @param {string} name @returns {Slot} */
  function slotOf(name) {
    const slot = description.slots.get(name);
    if (!slot)
      throw new QkvError('unsupported', `weight "${name}" of ${resolved.family}`, { want: 'one the engine has' });
    return slot;
  }

  /**
   * @param {string} fileName
   * @param {Placed} placed
   * @param {number} rowBytes
   * @param {number} stagingBytes
   * @returns {Sink}
   */
  function sinkOf(fileName, { tensor, slot, layer, plane }, rowBytes, stagingBytes) {
    const capacity = Math.floor(stagingBytes / rowBytes) * rowBytes;
    const { index } = slotOf(slot);
    const planeNumber = description.planes.indexOf(plane);
    let row = 0;
    return {
      capacity,
      view: () => core.heap.bytes(staging, capacity),
      commit(bytes) {
        const rows = bytes / rowBytes;
        const status = core.call('qkv_load_rows', model, index, layer, planeNumber, row, rows, staging);
        core.check(`${fileName}: ${tensor.name}`, status);
        row += rows;
      },
    };
  }

  /** Gives the staging buffer back; the next file gets its own. */
  function endFile() {
    if (staging !== 0) core.free(staging);
    staging = 0;
  }

  /** @param {string} label the file or files, for the sentence */
  function checkComplete(label) {
    for (const [name, { index, scope }] of description.slots) {
      if (shapeOf(index).rows === 0) continue;
      const layers = scope === 'layer' ? resolved.engine.layers : 1;
      for (let layer = 0; layer < layers; layer++) {
        const key = `${name} ${layer} `;
        if (filled.has(`${key}whole`) || filled.has(`${key}q10_high`)) continue;
        const where = scope === 'layer' ? ` of layer ${layer}` : '';
        throw new QkvError('weight', `${label}: no tensor holds ${name}${where}`, {
          fix: 'The file is incomplete, or config.json describes another model.',
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
     * @returns {{ pointer: number, parameters: number, bytes: number }}
     */
    finish(label) {
      if (model === 0) throw new QkvError('weight', `${label}: tensors of the model`, { got: 0, want: 'some' });
      checkComplete(label);
      core.check(`${label}: rows of`, core.call('qkv_model_ready', model));
      return { pointer: model, parameters, bytes: withTable('qkv_model_size') };
    },

    /** Gives everything back after a failure. */
    discard() {
      endFile();
      if (model !== 0 && core.isAlive()) core.call('qkv_model_free', model);
      model = 0;
    },
  };
}

/**
 * @template T
 * @param {Core} core
 * @param {ResolvedModel} resolved
 * @param {string} table
 * @param {(config: number) => T} use
 */
function withConfig(core, { engine, label }, table, use) {
  const fields = core.description.config;
  return core.withMemory(label, fields.length * 4, (config) => {
    const values = { ...engine, table: core.description.planes.indexOf(table) };
    writeStruct(core.heap.view(config, fields.length * 4), fields, values);
    return use(config);
  });
}

/**
 * @param {Core} core
 * @param {Precision} precision
 */
const precisionNumber = (core, precision) => core.description.precisions.indexOf(precision);
