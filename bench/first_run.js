/** What loading.js starts: loads MiniLM in this fresh process and prints the milliseconds of the forwards that follow, as JSON:
 * node bench/first_run.js PRECISION TOKENS */
import { anyIds, loadMinilm, makeEngine } from './engines.js';

const FORWARDS = 25;

const [precision, tokens] = process.argv.slice(2);
const own = await loadMinilm(await makeEngine('auto', 1), /** @type {import('./engines.js').Precision} */ (precision));
if (!own) throw new Error('The weights are not there; please run ./build.sh bench');
/** @type {number[]} */
const spent = [];
for (let i = 0; i < FORWARDS; i++) {
  const start = performance.now();
  const run = await own.model.forward({ ids: anyIds(Number(tokens), own.model) });
  spent.push(performance.now() - start);
  run.dispose();
}
console.log(JSON.stringify(spent));
