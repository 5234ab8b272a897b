/** A tensor as NumPy reads it: NPY 1.0, little-endian float32, C order
 * (numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */

/** The header, with magic and length, is padded to this. */
const ALIGN = 64;
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0];

/**
 * @param {Float32Array} data
 * @param {number[]} shape
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function toNpy(data, shape) {
  const tuple = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${tuple}), }`;
  const start = Math.ceil((MAGIC.length + 2 + text.length + 1) / ALIGN) * ALIGN;
  const header = `${text.padEnd(start - MAGIC.length - 2 - 1)}\n`;
  const file = new Uint8Array(start + data.length * 4);
  const view = new DataView(file.buffer);
  file.set(MAGIC);
  view.setUint16(MAGIC.length, header.length, true);
  file.set(new TextEncoder().encode(header), MAGIC.length + 2);
  for (let i = 0; i < data.length; i++) view.setFloat32(start + i * 4, data[i], true);
  return file;
}
