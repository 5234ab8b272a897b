/** `node --import=./tests/mutants/faulty_module.js`: see library.js. The fault is QKV_MUTANT, as JSON. */
import { register } from 'node:module';

register('./faulty_module_hooks.js', import.meta.url, { data: JSON.parse(process.env.QKV_MUTANT ?? 'null') });
