// Time and memory of one forward pass of the bundled MiniLM over the number of tokens:
//   node bench/minilm.js [--model DIR] [--variant simd|relaxed] [--rounds N]
// Lengths take turns inside one process, so that a change of the machine's speed meets all of them; the minimum counts.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { init, loadModel } from 'qkv';

const lengths = [16, 32, 64, 128, 256, 512];
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: fileURLToPath(new URL('../web/models/minilm', import.meta.url)) },
    variant: { type: 'string', default: 'auto' },
    rounds: { type: 'string', default: '10' },
  },
});

const engine = await init({ variant: /** @type {'auto' | 'simd' | 'relaxed'} */ (values.variant) });
const model = await loadModel(values.model, { engine, worker: false });
const { layers, width, precision, parameters, bytes } = model.info;
/** Multiplications and additions of the GEMMs and of attention for n tokens. */
const flops = (/** @type {number} */ n) => 2 * n * layers * (12 * width * width + 2 * n * width);
const idsOf = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => (i * 7919) % model.info.vocab);

const best = new Map(lengths.map((n) => [n, Number.POSITIVE_INFINITY]));
const held = new Map();
for (let round = -3; round < Number(values.rounds); round++) {
  for (const n of lengths) {
    const run = await model.forward({ ids: idsOf(n) });
    held.set(n, run.bytes);
    if (round >= 0) best.set(n, Math.min(/** @type {number} */ (best.get(n)), run.time));
    run.dispose();
  }
}

const { variant, wasmBytes } = engine.info;
console.log(`Node ${process.versions.node}, ${variant} (${wasmBytes} bytes), ${precision}, one thread`);
console.log(`${(parameters / 1e6).toFixed(1)} million parameters in ${(bytes / 1e6).toFixed(1)} MB of memory`);
console.log('tokens        ms   GFLOP/s   bytes of the run   bytes a token');
for (const n of lengths) {
  const time = /** @type {number} */ (best.get(n));
  const rate = flops(n) / time / 1e6;
  const columns = [
    String(n).padStart(6),
    time.toFixed(2).padStart(9),
    rate.toFixed(1).padStart(9),
    String(held.get(n)).padStart(18),
    Math.round(held.get(n) / n)
      .toString()
      .padStart(15),
  ];
  console.log(columns.join(' '));
}
