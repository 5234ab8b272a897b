// Time and memory of one forward pass of the bundled MiniLM over the number of tokens:
//   node bench/minilm.js [--model DIR] [--variant simd|relaxed] [--threads 1,2] [--rounds N]
// Lengths and numbers of threads take turns inside one process, so that a change of the machine's speed meets all of them;
// the minimum counts.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { init, loadModel } from 'qkv';

const lengths = [16, 32, 64, 128, 256, 512];
const { values } = parseArgs({
  options: {
    model: { type: 'string', default: fileURLToPath(new URL('../web/models/minilm', import.meta.url)) },
    variant: { type: 'string', default: 'auto' },
    threads: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '10' },
  },
});

/** @param {number} threads */
async function contender(threads) {
  const engine = await init({ variant: /** @type {'auto' | 'simd' | 'relaxed'} */ (values.variant), threads });
  const model = await loadModel(values.model, { engine, worker: false });
  return { engine, model, best: new Map(lengths.map((n) => [n, Number.POSITIVE_INFINITY])), held: new Map() };
}

/** @type {Awaited<ReturnType<typeof contender>>[]} */
const contenders = [];
for (const count of values.threads.split(',')) contenders.push(await contender(Number(count)));

const [{ engine, model }] = contenders;
const { layers, width, vocab, precision, parameters, bytes } = model.info;
/** Multiplications and additions of the GEMMs and of attention for n tokens. */
const flops = (/** @type {number} */ n) => 2 * n * layers * (12 * width * width + 2 * n * width);
const idsOf = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => (i * 7919) % vocab);

for (let round = -3; round < Number(values.rounds); round++) {
  for (const n of lengths) {
    for (const { model, best, held } of contenders) {
      const run = await model.forward({ ids: idsOf(n) });
      held.set(n, run.bytes);
      if (round >= 0) best.set(n, Math.min(/** @type {number} */ (best.get(n)), run.time));
      run.dispose();
    }
  }
}

const { variant } = engine.info;
console.log(`Node ${process.versions.node}, ${variant}, ${precision}`);
console.log(`${(parameters / 1e6).toFixed(1)} million parameters in ${(bytes / 1e6).toFixed(1)} MB of memory`);
for (const { engine, best, held } of contenders) {
  const { threads, wasmBytes } = engine.info;
  console.log(`\n${threads === 1 ? 'one thread' : `${threads} threads`} (${wasmBytes} bytes)`);
  console.log('tokens        ms   GFLOP/s   faster by   bytes of the run   bytes a token');
  for (const n of lengths) {
    const [first, time] = [contenders[0].best, best].map((times) => times.get(n) ?? Number.NaN);
    const columns = [
      String(n).padStart(6),
      time.toFixed(2).padStart(9),
      (flops(n) / time / 1e6).toFixed(1).padStart(9),
      (first / time).toFixed(2).padStart(11),
      String(held.get(n)).padStart(18),
      String(Math.round(held.get(n) / n)).padStart(15),
    ];
    console.log(columns.join(' '));
  }
  engine.dispose();
}
