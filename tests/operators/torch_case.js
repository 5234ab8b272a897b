/** Calls of torch's scaled_dot_product_attention and nn.MultiheadAttention with what they returned. The small ones are
 * part of the tree, the others are read from beside it where they are there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTree } from '../api/golden.js';

/** @typedef {{ data: Float32Array | Uint8Array, shape: number[] }} TorchTensor */
/** @typedef {{ name: string, op: string, call: Record<string, unknown>, module: Record<string, unknown>, path: string, tensors: Map<string, TorchTensor> }} TorchCase */

const OWN = inTree('tests/golden/torch_mha');
const BESIDE = inTree('../shared/golden/torch_mha');

/** @param {'scaled_dot_product_attention' | 'MultiheadAttention'} op @returns {TorchCase[]} */
export function torchCases(op) {
  const folder = existsSync(BESIDE) ? BESIDE : OWN;
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const described = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      const path = join(folder, file.replace(/json$/, 'safetensors'));
      return { ...described, name: described.case, path, tensors: readTensors(path) };
    })
    .filter((one) => one.op.endsWith(op));
}

/** The cases of the tree only, for tests of how files are read. */
export const ownFolder = OWN;

/** @param {string} path @returns {Map<string, TorchTensor>} */
function readTensors(path) {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start));
  delete header.__metadata__;
  return new Map(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) => {
        const bytes = Uint8Array.from(file.subarray(start + from, start + to));
        return [name, { shape, data: dtype === 'BOOL' ? bytes : new Float32Array(bytes.buffer) }];
      },
    ),
  );
}
