/* kernels.h - what all inner loops promise, and their layouts; what each one does stands in kernels.def.
 *
 * Every kernel exists twice, <name>_simd and <name>_scalar, with the same bits in the plain build; the engine calls
 * qkv_<name>, which is the SIMD one unless QKV_SCALAR is defined. In the relaxed build multiply-adds are fused and the
 * scalar twin is met within a bound only. Which NaN a NaN is, its sign and payload, is no part of the promise.
 *
 * Order of sums (the contract that makes bits independent of tiling, batch and window):
 *   - a GEMM output is one accumulator, from 0, walking k upwards: acc = acc + a * w
 *   - a reduction over a row keeps four lanes, lane[i % 4], and adds them as (0+2)+(1+3)
 * Pointers need the alignment of their element type only; the element of an i16 A panel is a pair, 4 bytes. n, rows, k,
 * cols are >= 0. Arrays do not overlap unless said.
 *
 * Layouts
 *   A panels  activations, row blocks of qkv_row_block(rows left) rows R, each block [k][R], one after the other.
 *             i16: blocks of qkv_pair_block rows, [ceil(k/2)][R][2] int16, odd k padded with 0.
 *   W panels  weights of 8 output columns: [ceil(cols/8)][k][8], missing columns 0. In q10 and q8
 *             [ceil(cols/8)][ceil(k/2)][8][2] int16 or int8.
 *             A panel may be longer than k: the distance of two panels is given. */
#ifndef QKV_KERNELS_H
#define QKV_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define QKV_PANEL 8      /* output columns of a W panel */
#define QKV_PANEL_STEP 8 /* columns that integers are put into a W panel by */
#define QKV_ROWS_MAX 6   /* rows of the largest block */
#define QKV_Q10_MAX 511  /* largest magnitude of a 10-bit weight */
#define QKV_Q8_MAX 127   /* of an 8-bit one; products take -128 as well */
#define QKV_CHUNK 1536   /* inputs whose products an int32 can sum */

/* Rows of the next block when `left` rows are left: fives, with fours and sixes so that no block of one to three rows
 * remains beside others where it can be helped. */
static inline int qkv_row_block(int left) {
    if (left <= QKV_ROWS_MAX) return left;
    if (left == 12) return 6;
    return left == 7 || left == 8 ? 4 : 5;
}

/* The same for int16 pairs: fours, because a product of integers takes a register before it is added, with threes so that
 * one row remains only where there is no other. */
static inline int qkv_pair_block(int left) {
    if (left <= 4) return left;
    return left <= 6 ? 3 : 4;
}

/* The activations, by the numbers of qkv_activation in qkv.h: 0 none, 1 GELU (erf), 2 its tanh form, 3 ReLU, 4 SiLU,
 * 5 x * sigmoid(1.702 x). */

/* out[m, n] = activation((acc[m, n] * row_scale[m]) + bias[n]) + residual[m, n].
 * Each step only when its pointer (flag) is set. */
typedef struct qkv_gemm {
    float *out;             /* [rows, out_stride], cols written; may be the same array as residual */
    size_t out_stride;      /* floats from row to row */
    int rows, k, cols;      /* out: [rows, cols] */
    size_t panel_stride;    /* elements from one W panel to the next */
    const float *row_scale; /* [rows] or NULL */
    const float *bias;      /* [cols rounded up to 8] or NULL */
    const float *residual;  /* [rows, residual_stride] or NULL */
    size_t residual_stride;
    int activation;
} qkv_gemm;

/* Declares each kernel of kernels.def, where its contract stands, as three functions: the twins, and qkv_<name>, which is one
 * of them by another name. The name is given to the linker, so that a call of it is a call of the twin. */
#ifdef QKV_SCALAR
#define QKV_TWIN "_scalar"
#else
#define QKV_TWIN "_simd"
#endif
#define QKV_QUOTED(word) #word
#define QKV_PREFIX(prefix) QKV_QUOTED(prefix) /* some systems put an underscore in front of the names of C */

#define KERNEL(result, name, parameters)   \
    result qkv_##name##_scalar parameters; \
    result qkv_##name##_simd parameters;   \
    result qkv_##name parameters __asm__(QKV_PREFIX(__USER_LABEL_PREFIX__) "qkv_" #name QKV_TWIN);
#include "kernels.def"
#undef KERNEL

#endif
