/** How the rows of one tensor of a file reach the engine's slots. Where they come in the order in which each slot wants
 * them, whole rows go through one staging buffer in wasm memory. A tensor that has to be transposed, and a vector that is
 * shared out, is collected first, one at a time. */

/** @typedef {import('../engine/core.js').Core} Core */
/** @typedef {import('../formats/safetensors.js').TensorInfo} TensorInfo */
/** @typedef {import('../formats/safetensors.js').Sink} Sink */
/** @typedef {{ name: string, index: number, isVector: boolean, rows: number, cols: number }} SlotShape */
/**
 * A tensor and where its rows go.
 * @typedef {object} Plan
 * @property {TensorInfo} tensor
 * @property {SlotShape[]} slots they take turns
 * @property {number} turns how often
 * @property {number} layer
 * @property {string} plane
 * @property {boolean} isTransposed
 */
/**
 * @typedef {object} Staging
 * @property {Core} core
 * @property {number} address
 * @property {number} bytes one row of each tensor or more
 * @property {(slot: SlotShape, row: number, rows: number, address: number) => void} load
 */

/** Elements of a vector, rows of anything else. @param {SlotShape} slot */
const units = ({ isVector, rows, cols }) => (isVector ? cols : rows);

/** What the tensor's shape has to be. @param {Omit<Plan, 'tensor'>} plan @returns {number[]} */
export function wantedShape({ slots, plane, isTransposed }) {
  const shared = slots.reduce((sum, slot) => sum + units(slot), 0);
  const [{ isVector, cols }] = slots;
  if (isVector || plane === 'scale') return [shared];
  if (plane === 'q10_low') return [shared, Math.ceil(cols / 4)];
  return isTransposed ? [cols, shared] : [shared, cols];
}

/** Bytes that the staging buffer must hold at least. @param {Plan} plan */
export function rowBytesOf({ tensor, slots, isTransposed, plane }) {
  const bytes = tensor.end - tensor.begin;
  const [{ isVector, cols }] = slots;
  if (isVector && plane !== 'scale') return bytes;
  return isTransposed ? (bytes / (tensor.shape[0] * tensor.shape[1])) * cols : bytes / tensor.shape[0];
}

/**
 * @param {Plan} plan
 * @param {Staging} staging
 * @returns {Sink}
 */
export function sinkOf(plan, staging) {
  const isShared = plan.slots[0].isVector && plan.slots.length > 1;
  return plan.isTransposed || isShared ? collected(plan, staging) : streamed(plan, staging);
}

/** @param {Plan} plan @param {Staging} staging @returns {Sink} */
function streamed(plan, { core, address, bytes: room, load }) {
  const { slots, turns } = plan;
  const rowBytes = rowBytesOf(plan);
  const capacity = Math.floor(room / rowBytes) * rowBytes;
  const row = slots.map(() => 0);
  let current = 0;
  // Rows that the current slot takes before the next one has its turn.
  const share = (/** @type {SlotShape} */ { isVector, rows }) => (isVector ? 1 : rows / turns);
  let left = share(slots[0]);
  return {
    capacity,
    view: () => core.heap.bytes(address, capacity),
    commit(bytes) {
      for (let at = 0; at < bytes; ) {
        const rows = Math.min((bytes - at) / rowBytes, left);
        load(slots[current], row[current], rows, address + at);
        row[current] += rows;
        left -= rows;
        at += rows * rowBytes;
        if (left > 0) continue;
        current = (current + 1) % slots.length;
        left = share(slots[current]);
      }
    },
  };
}

/** @param {Plan} plan @param {Staging} staging @returns {Sink} */
function collected(plan, staging) {
  const size = plan.tensor.end - plan.tensor.begin;
  /** Not before it is this tensor's turn. @type {Uint8Array<ArrayBuffer> | null} */
  let all = null;
  return {
    capacity: size,
    view: () => {
      all ??= new Uint8Array(size);
      return all;
    },
    commit() {
      if (all !== null) scatter(plan, staging, all);
      all = null;
    },
  };
}

/** @param {Plan} plan @param {Staging} staging @param {Uint8Array<ArrayBuffer>} bytes the whole tensor */
function scatter(plan, { core, address, bytes: room, load }, bytes) {
  const { slots, turns, tensor } = plan;
  const shared = slots.reduce((sum, slot) => sum + units(slot), 0);
  const size = bytes.length / tensor.shape.reduce((product, extent) => product * extent, 1);
  const Elements = size === 4 ? Uint32Array : Uint16Array;
  const source = new Elements(bytes.buffer);
  let first = 0;
  for (const slot of slots) {
    const count = units(slot) / turns;
    // Which of the shared rows is row r of this slot.
    const places = Int32Array.from({ length: units(slot) }, (_, r) => {
      return Math.floor(r / count) * (shared / turns) + first + (r % count);
    });
    const most = Math.max(1, Math.floor(room / (slot.cols * size)));
    for (let row = 0; row < slot.rows; row += most) {
      const rows = Math.min(most, slot.rows - row);
      const staged = core.heap.bytes(address, rows * slot.cols * size);
      const out = new Elements(staged.buffer, staged.byteOffset, rows * slot.cols);
      if (slot.isVector) pick(out, source, places);
      else transpose(out, source, places.subarray(row, row + rows), shared);
      load(slot, row, rows, address);
    }
    first += count;
  }
}

/** @typedef {Uint32Array | Uint16Array} Elements floats that are only moved */

/** @param {Elements} out @param {Elements} source @param {Int32Array} places */
function pick(out, source, places) {
  for (let i = 0; i < out.length; i++) out[i] = source[places[i]];
}

/**
 * out: [rows, cols]; source: [cols, shared]; places: [rows] the column of the source that becomes each row
 * @param {Elements} out
 * @param {Elements} source
 * @param {Int32Array} places
 * @param {number} shared
 */
function transpose(out, source, places, shared) {
  let at = 0;
  for (const place of places) {
    for (let from = place; from < source.length; from += shared) out[at++] = source[from];
  }
}
