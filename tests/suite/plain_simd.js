/** `node --import ./tests/suite/plain_simd.js`: as if this program had no relaxed SIMD, so that the plain build runs. */
const { validate } = WebAssembly;

/** f32x4.relaxed_madd, which the library tries. */
const RELAXED = '\u00fd\u0085\u0002';

WebAssembly.validate = (bytes) => {
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : bytes;
  return (
    validate(bytes) &&
    !Buffer.from(/** @type {any} */ (view))
      .toString('latin1')
      .includes(RELAXED)
  );
};
