/** The element types of GGUF tensors: how many values a block has and how many bytes it takes. */

/** @typedef {{ name: string, values: number, bytes: number }} GgufType */

/**
 * By the number that stands in the file. Missing numbers are formats that were given up before GGUF.
 * @type {ReadonlyMap<number, GgufType>}
 */
export const GGUF_TYPES = new Map([
  type(0, 'F32', 1, 4),
  type(1, 'F16', 1, 2),
  type(2, 'Q4_0', 32, 18),
  type(3, 'Q4_1', 32, 20),
  type(6, 'Q5_0', 32, 22),
  type(7, 'Q5_1', 32, 24),
  type(8, 'Q8_0', 32, 34),
  type(9, 'Q8_1', 32, 40),
  type(10, 'Q2_K', 256, 84),
  type(11, 'Q3_K', 256, 110),
  type(12, 'Q4_K', 256, 144),
  type(13, 'Q5_K', 256, 176),
  type(14, 'Q6_K', 256, 210),
  type(15, 'Q8_K', 256, 292),
  type(16, 'IQ2_XXS', 256, 66),
  type(17, 'IQ2_XS', 256, 74),
  type(18, 'IQ3_XXS', 256, 98),
  type(19, 'IQ1_S', 256, 50),
  type(20, 'IQ4_NL', 32, 18),
  type(21, 'IQ3_S', 256, 110),
  type(22, 'IQ2_S', 256, 82),
  type(23, 'IQ4_XS', 256, 136),
  type(24, 'I8', 1, 1),
  type(25, 'I16', 1, 2),
  type(26, 'I32', 1, 4),
  type(27, 'I64', 1, 8),
  type(28, 'F64', 1, 8),
  type(29, 'IQ1_M', 256, 56),
  type(30, 'BF16', 1, 2),
  type(34, 'TQ1_0', 256, 54),
  type(35, 'TQ2_0', 256, 66),
  type(39, 'MXFP4', 32, 17),
  type(40, 'NVFP4', 64, 36),
  type(41, 'Q1_0', 128, 18),
]);

/** The types that weights may have which are wanted; others may stand in the file and are skipped. */
export const GGUF_READABLE = Object.freeze([
  ...['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q4_K', 'Q5_K', 'Q6_K'],
]);

/** @param {number} id @param {string} name @param {number} values @param {number} bytes @returns {[number, GgufType]} */
function type(id, name, values, bytes) {
  return [id, { name, values, bytes }];
}
