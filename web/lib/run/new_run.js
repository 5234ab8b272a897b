/** Makes a run in the engine: sequences and interventions become the struct qkv_input, in memory that is held only while
 * qkv_run_new reads it. */

import { writeStruct } from '../engine/describe.js';

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../model/input.js').Sequence} Sequence */
/** @typedef {import('../model/interventions.js').Interventions} Interventions */

/**
 * @typedef {object} RunRequest
 * @property {'forward' | 'embed' | 'generate'} call for messages
 * @property {Sequence[]} sequences
 * @property {Interventions} interventions
 * @property {number} room tokens that may be appended
 */

/**
 * @param {Core} core
 * @param {number} model
 * @param {RunRequest} request
 */
export function newRun(core, model, { call, sequences, interventions, room }) {
  const tokens = sequences.reduce((sum, { ids }) => sum + ids.length, 0);
  const { mask, maskLayers, ablate } = interventions;
  // One block: the struct, then what its pointers point to, each 16-byte aligned.
  let end = 0;
  const place = (/** @type {number} */ bytes) => {
    const at = end;
    end += Math.ceil(bytes / 16) * 16;
    return at;
  };
  const at = {
    struct: place(core.description.input.length * 4),
    ids: place(tokens * 4),
    typeIds: place(tokens * 4),
    lengths: place(sequences.length * 4),
    mask: place((mask?.length ?? 0) * 4),
    maskLayers: place(maskLayers?.length ?? 0),
    ablate: place(ablate?.length ?? 0),
  };
  return core.withMemory(call, end, (base) => {
    const { heap } = core;
    const lengths = sequences.map(({ ids }) => ids.length);
    let token = 0;
    for (const { ids, typeIds } of sequences) {
      heap.writeInt32(base + at.ids + token * 4, ids);
      heap.writeInt32(base + at.typeIds + token * 4, typeIds);
      token += ids.length;
    }
    heap.writeInt32(base + at.lengths, lengths);
    if (mask) heap.writeFloat32(base + at.mask, mask);
    if (maskLayers) heap.writeBytes(base + at.maskLayers, maskLayers);
    if (ablate) heap.writeBytes(base + at.ablate, ablate);
    const input = base + at.struct;
    writeStruct(heap.view(input, core.description.input.length * 4), core.description.input, {
      ids: base + at.ids,
      type_ids: base + at.typeIds,
      lengths: base + at.lengths,
      sequences: sequences.length,
      mask: mask ? base + at.mask : 0,
      mask_rows: interventions.maskRows,
      mask_heads: interventions.maskHeads,
      mask_layers: maskLayers ? base + at.maskLayers : 0,
      ablate: ablate ? base + at.ablate : 0,
      has_scale: interventions.scale === null ? 0 : 1,
      scale: interventions.scale ?? 0,
      temperature: interventions.temperature,
      room,
    });
    const bytes = core.nonZero(call, core.call('qkv_run_size', model, input));
    return { run: core.nonZero(call, core.call('qkv_run_new', model, input)), bytes };
  });
}
