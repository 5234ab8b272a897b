// How a strict TypeScript project uses the package; tests/lint/package.js compiles it against dist/.
import { init, loadModel, type Matrix, QkvError, type Run } from 'qkv';

const engine = await init({ variant: 'simd' });
const model = await loadModel(
  { 'config.json': new Uint8Array(1) },
  { engine, onProgress: ({ loaded, total }) => console.log(loaded, total) },
);
const run: Run = await model.forward(['one text', 'its pair'], { temperature: 2 });
const { rows, cols, data }: Matrix = await run.getWeights(4, 7, { stage: 'scaled', rows: [0, 2] });
console.log(rows * cols, data.length, run.tokens[0].text, run.truncated, new QkvError('argument', 'x').code);
run[Symbol.dispose]();
