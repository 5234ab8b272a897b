/** `node --import=./tests/mutants/faulty_module.js`: see library.js. The fault is QKV_MUTANT, as JSON. */
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

register('./faulty_module_hooks.js', import.meta.url, { data: JSON.parse(process.env.QKV_MUTANT ?? 'null') });

/* The library gives its workers no options of the process, but they are to have the fault as well. */
if (isMainThread) {
  const builtin = process.getBuiltinModule('node:worker_threads');
  builtin.Worker = class extends builtin.Worker {
    /** @param {ConstructorParameters<typeof import('node:worker_threads').Worker>} args */
    constructor(...[address, options]) {
      super(address, { ...options, execArgv: [`--import=${import.meta.url}`] });
    }
  };
}
