/**
 * Compares every tiny encoder and decoder of a folder of goldens with PyTorch, with both of its configs:
 *
 *   node tests/golden.js [DIR] [--only CASE]
 *
 * DIR holds index.json and tiny/, as tests/golden/README.md tells; without it, tests/golden and, where it is there,
 * ../shared/golden. Prints for each case the largest difference as a share of what is allowed, 2e-5 (1 + the largest
 * magnitude of the tensor); exits with 1 when one is above 1 or nothing was compared.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { inTree } from './api/golden.js';
import { CONFIGS, casesOf, checkCase, NOT_YET } from './golden_case.js';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: 'string' } } });
const usual = [inTree('tests/golden'), inTree('../shared/golden')].filter((folder) => existsSync(folder));
const folders = positionals.length > 0 ? positionals : usual;

let compared = 0;
let failures = 0;
for (const folder of folders) {
  const cases = casesOf(folder).filter((one) => values.only === undefined || one.case === values.only);
  console.log(`${folder}: ${cases.length} cases`);
  for (const one of cases) await check(folder, one);
}
console.log(`${compared} values compared, ${failures} failures`);
process.exitCode = failures > 0 || compared === 0 ? 1 : 0;

/**
 * @param {string} folder
 * @param {import('./golden_case.js').Case} one
 */
async function check(folder, { case: name, family, inputs }) {
  if (NOT_YET.includes(family)) {
    console.log(`  ${name.padEnd(18)} not yet`);
    return;
  }
  for (const config of CONFIGS) {
    const start = `  ${name.padEnd(18)} ${config.padEnd(15)}`;
    try {
      const worst = await checkCase(join(folder, 'tiny', name), config, inputs);
      const isFine = worst.ratio <= 1 && worst.compared > 0;
      compared += worst.compared;
      failures += Number(!isFine);
      console.log(`${start} ${worst.ratio.toFixed(3).padStart(9)}  ${isFine ? 'ok    ' : 'FAILED'} ${worst.where}`);
    } catch (error) {
      failures++;
      console.log(`${start}     FAILED  ${error instanceof Error ? error.message : error}`);
    }
  }
}
