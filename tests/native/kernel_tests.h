/* kernel_tests.h - what the tests of the kernels share. One test a kernel, named after it: the list in kernels.def
 * calls them, so a kernel without a test does not link. */
#ifndef QKV_TESTS_KERNEL_TESTS_H
#define QKV_TESTS_KERNEL_TESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "kernels.h"

#define KERNEL(result, name, parameters) void test_##name(void);
#include "kernels.def"
#undef KERNEL

#define EPSILON 5.9604644775390625e-8 /* 2^-24: the largest relative error of one rounding */

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Where the block of row m begins, and how many rows it has. block_of: qkv_row_block or qkv_pair_block. */
int find_block(int block_of(int left), int rows, int m, int *size);

size_t round_up(int n, int to);

/* What an array is filled with. */
typedef enum filling {
    FILL_NORMAL,  /* about -3 .. 3 */
    FILL_HOSTILE, /* the same with zeros of both signs, denormals, +-1e38, infinities and NaN strewn in */
} filling;

/* n elements of `size` bytes, `shift` elements away from 16-byte alignment, between canaries. Freed by release. */
void *guarded(size_t n, size_t size, int shift);

/* Checks the canaries of what guarded returned and frees it. */
void release(void *memory, const char *what);

uint32_t random_bits(void);
float random_float(void); /* -1 .. 1 */
void fill(float *x, size_t n, filling how);

/* Calls check(n, shift, how) for all tails and some long rows, unaligned in every way. */
void for_all_lengths(void (*check)(int n, int shift, filling how));

/* Four arrays of n floats: two inputs and the outputs of both twins, which begin equal. */
typedef struct arrays {
    float *x, *b, *scalar, *simd;
} arrays;

arrays make_arrays(int n, int shift, filling how);
void release_arrays(const arrays *a, const char *name);

void check_twins(const arrays *a, int n, filling how, const char *name);
void check_result(float scalar, float simd, int n, const char *name);

/* The SIMD result again, written over an input: `in_place` holds it. */
void check_in_place(const arrays *a, const float *in_place, int n, const char *name);

#define SWEEP_BATCH 4096

/* The next SWEEP_BATCH floats from *bits on, some way apart, those beyond `last` being `last`; `sign` is 0 or the sign
 * bit. False at the end. */
bool sweep_batch(float *x, uint32_t *bits, uint32_t last, uint32_t sign);

uint32_t bits_of(float x);

/* The activation by its number, and how far off the kernels may be at x. */
double activation_of(int activation, double x);
double activation_error(int activation, double x);

/* Distance of got from the true value, in units of the last place of the true value. */
double ulps(float got, double truth);

/* Adds the bits of an array to the digest that the program prints: equal digests mean equal bits on two machines. */
void digest(const float *x, size_t n);

#endif
