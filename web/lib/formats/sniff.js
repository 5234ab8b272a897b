/** Tells what a file really is when it is not what it should be, so that the message can say it. */

/** How files of a kind begin (one character a byte, lower case), and what to call them. */
const SIGNS = Object.entries({
  '<!doctype': 'an HTML page',
  '<html': 'an HTML page',
  '<?xml': 'an XML page',
  'version https://git-lfs': 'a Git LFS pointer; the file itself was not downloaded (git lfs pull)',
  'pk\x03\x04': 'a zip archive, as .pt, .bin and .npz files are; convert it to safetensors',
  '\x80\x02': 'a Python pickle, as old .pt and .bin files are; convert it to safetensors',
  '\x80\x03': 'a Python pickle; convert it to safetensors',
  '\x80\x04': 'a Python pickle; convert it to safetensors',
  '\x80\x05': 'a Python pickle; convert it to safetensors',
  gguf: 'a GGUF file; give it alone, by a name that ends in .gguf',
  '\x89hdf': 'an HDF5 file; convert it to safetensors',
  '\x1f\x8b': 'gzip-compressed; unpack it first',
  '\x93numpy': 'a NumPy array',
  '{': 'JSON text',
  '[': 'JSON text',
});
const LOOK_AT = 256;

/**
 * @param {Uint8Array} bytes the start of a file
 * @returns {string | null} words for "it is …", or null when it is nothing that is known
 */
export function sniff(bytes) {
  const start = String.fromCharCode(...bytes.subarray(0, LOOK_AT)).toLowerCase();
  const text = start.replace(/^[ \t\r\n]+/, '');
  const sign = SIGNS.find(([sign]) => start.startsWith(sign) || text.startsWith(sign));
  return sign === undefined ? null : sign[1];
}
