/** Faults of the work's parts: those that show whichever thread takes which part. */

/** @type {import('./mutants.js').Mutant[]} */
export const THREAD_MUTANTS = [
  {
    part: 'pool',
    test: 'threads_test',
    breaks: 'there is a part too many',
    file: 'pool.c',
    line: 'for (int32_t left; (left = add(&pool.left, -1)) > 0;) {',
    becomes: 'for (int32_t left; (left = add(&pool.left, -1)) >= 0;) {',
  },
  {
    part: 'pool',
    test: 'threads_test',
    breaks: 'nobody hears that a thread was lost',
    file: 'pool.c',
    line: 'pool.lost = 1;',
    becomes: 'pool.lost = 0;',
  },
  {
    part: 'pool',
    test: 'threads_test',
    breaks: 'a trap is waited for like a slow thread',
    file: 'pool.c',
    line: 'set(&pool.trapped, 1);',
    becomes: 'set(&pool.trapped, 0);',
  },
  {
    part: 'pool',
    test: 'threads_test',
    breaks: 'small regions are cut as well',
    file: 'pool.c',
    line: 'if (work < parts * LEAST_WORK) parts = (int32_t)(work / LEAST_WORK) + 1;',
    becomes: 'if (work < parts * LEAST_WORK) parts = (int32_t)(work / LEAST_WORK) + 2;',
  },
  {
    part: 'matrix',
    test: 'threads_test',
    breaks: 'all columns take the biases of the first',
    file: 'matrix.c',
    line: 'if (gemm.bias) gemm.bias += from;',
    becomes: 'if (gemm.bias) gemm.bias += 0 * from;',
  },
  {
    part: 'matrix',
    test: 'threads_test',
    breaks: 'a residual is added to the first columns only',
    file: 'matrix.c',
    line: 'if (gemm.residual) gemm.residual += from;',
    becomes: 'if (from > 0) gemm.residual = NULL;',
  },
  {
    part: 'operator',
    test: 'threads_test',
    breaks: 'all pieces of a head write to the first rows of the map',
    file: 'operator.c',
    line: 'float *map_rows = map ? map + (size_t)row0 * (size_t)op->keys : NULL;',
    becomes: 'float *map_rows = map;',
  },
  {
    part: 'operator',
    test: 'operator_test',
    breaks: 'every head looks at the first keys and values',
    file: 'operator.c',
    line: 'if (w->group == group) return;',
    becomes: 'if (w->group >= 0) return;',
  },
];
