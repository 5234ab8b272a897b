/* kernels.h - what the inner loops promise.
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

/* pack_f32: A panels [rows * k] from x [rows, x_stride].
 *
 * pack_i16: the same in int16: scale[m] = largest |x[m]| / amax, q = x * (amax / largest |x[m]|) rounded to nearest
 *   even, in +-amax = min(32767, floor((2^31 - 1) / (w * min(k, 1536)))), the largest weight w being 511 for most =
 *   QKV_Q10_MAX and 128 for QKV_Q8_MAX. A row whose largest magnitude is below 2^-100 gives scale 0 and zeros; a row with
 *   a NaN or infinity gives scale NaN and zeros, so that its outputs are NaN.
 *
 * gemm_f32: see qkv_gemm; a: A panels, w: W panels.
 *
 * gemm_q10, gemm_q8: acc[m, n] = (float(integer sum over k) * a_scales[m]) * w_scales[n]; k beyond 1536 in chunks of
 *   1536 whose integer sums become floats that are added in order. w_scales: [cols rounded up to 8]. Then as gemm_f32.
 *
 * weights_f32: puts rows [row0, row0 + rows) of x into W panels whose panel_stride is k * 8 (column n = row n of x).
 *
 * quantize_f32: q[i] = x[i] / scale rounded to nearest even, at most `most` either way; |x / scale| < 2^22. All 0 where
 *   scale is not above 0.
 * split_i16: the planes of q10, q = 4 high + low, the low bits of four in a byte; low NULL: high = q.
 * widen_i8: q = x * factor.   widen_low: q = the low bits.
 * panel_q10, panel_q8, panel_f32: adds the integers of eight rows q [8, q_stride] to one W panel of k columns, a multiple of
 *   QKV_PANEL_STEP.
 *
 * scale_f32: y[i] = x[i] * scale + bias[i] (bias NULL: no addition; bias -infinity: y is -infinity whatever x is).
 *   Returns the largest y, -infinity when n = 0 or all are; NaN when any y is NaN or +infinity. y may be x.
 *
 * range_f32: the largest and the least x[i] * scale: returns the one as scale_f32 does, with +0 for -0, and sets the other,
 *   +infinity when n = 0.
 *
 * softcap_f32: y[i] = cap * tanh(x[i] / cap), tanh itself (cap 1) below 2 ulp, the whole below 3.5 ulp; cap > 0, normal; from
 *   2^122 on |x| up to 2^126 only. y may be x.
 *
 * sum_exp_f32: y[i] = exp(x[i] - max), returns the sum of y. x may be -infinity; max finite, >= every x. y may be x.
 *   exp is below 2 ulp on [-60, 0], exactly 1 at 0 and exactly 0 below -60: smaller weights would make denormal
 *   products, 40 to 120 times slower in wasm.
 *
 * sum_exp_scaled_f32: sum_exp_f32 of x[i] * scale, the product rounded, with the same bits. least: at most every x[i] * scale;
 *   where it is less than 60 below max no exp needs the test for 0, which is faster. -infinity: nothing is known.
 *
 * layer_norm_f32: y = (x - mean) / sqrt(var + eps) * weight + bias, var the mean of (x - mean)^2; bias NULL: none.
 *   With u = 2^-24, n >= 4 and z = y before weight and bias: off by at most u ((n / 4 + 8) |weight| (|z| + largest |x| /
 *   sqrt(var + eps)) + |y| + |bias|).
 * rms_norm_f32: y = x / sqrt(mean of x^2 + eps) * weight, off by at most u (n / 8 + 8) |y|. y may be x in both.
 *
 * activate_f32: y = activation(x); y may be x.   gate_f32: y = activation(gate) * up; y may be either.
 *   Off by less than 6e-8 for x < 0, by less than 2 ulp for x > 0. NaN gives NaN, +infinity itself; -infinity gives 0 in GELU
 *   and ReLU, NaN in the others as in PyTorch.
 *
 * rotary_f32: turns the pairs (a, b) = (x[i], x[i + half]) into (a cos[i] - b sin[i], b cos[i] + a sin[i]).
 *
 * add_f32: y += x.   mul_f32: y = x * factor (y may be x).   max_f32: y = larger of y and x (x where y < x, else y).
 * mul_rows_f32: y[m, i] *= factors[m]; returns whether all of them are finite now.
 * entropy_f32: -sum of p ln p in nats, 0 ln 0 = 0; p zero or normal and positive; NaN gives NaN.
 * dot_f32: sum of x * y.   from_f16, from_bf16: exact.   from_q10: y[i] = (4 * high[i] + low 2 bits) * scale.
 * from_q8: y[i] = q[i] * scale.
 * decode_blocks: see ggml_blocks.h; format: 0 q4_0, 1 q4_1, 2 q5_0, 3 q5_1, 4 q8_0, 5 q4_k, 6 q5_k, 7 q6_k. */
#define KERNEL(result, name, parameters)   \
    result qkv_##name##_scalar parameters; \
    result qkv_##name##_simd parameters;
#include "kernels.def"
#undef KERNEL

#ifdef QKV_SCALAR
#define QKV_PICK(name) qkv_##name##_scalar
#else
#define QKV_PICK(name) qkv_##name##_simd
#endif

#define qkv_pack_f32 QKV_PICK(pack_f32)
#define qkv_pack_i16 QKV_PICK(pack_i16)
#define qkv_gemm_f32 QKV_PICK(gemm_f32)
#define qkv_gemm_q10 QKV_PICK(gemm_q10)
#define qkv_gemm_q8 QKV_PICK(gemm_q8)
#define qkv_weights_f32 QKV_PICK(weights_f32)
#define qkv_quantize_f32 QKV_PICK(quantize_f32)
#define qkv_split_i16 QKV_PICK(split_i16)
#define qkv_widen_i8 QKV_PICK(widen_i8)
#define qkv_widen_low QKV_PICK(widen_low)
#define qkv_panel_q10 QKV_PICK(panel_q10)
#define qkv_panel_q8 QKV_PICK(panel_q8)
#define qkv_panel_f32 QKV_PICK(panel_f32)
#define qkv_scale_f32 QKV_PICK(scale_f32)
#define qkv_range_f32 QKV_PICK(range_f32)
#define qkv_softcap_f32 QKV_PICK(softcap_f32)
#define qkv_sum_exp_f32 QKV_PICK(sum_exp_f32)
#define qkv_sum_exp_scaled_f32 QKV_PICK(sum_exp_scaled_f32)
#define qkv_layer_norm_f32 QKV_PICK(layer_norm_f32)
#define qkv_rms_norm_f32 QKV_PICK(rms_norm_f32)
#define qkv_activate_f32 QKV_PICK(activate_f32)
#define qkv_gate_f32 QKV_PICK(gate_f32)
#define qkv_rotary_f32 QKV_PICK(rotary_f32)
#define qkv_add_f32 QKV_PICK(add_f32)
#define qkv_mul_f32 QKV_PICK(mul_f32)
#define qkv_mul_rows_f32 QKV_PICK(mul_rows_f32)
#define qkv_max_f32 QKV_PICK(max_f32)
#define qkv_dot_f32 QKV_PICK(dot_f32)
#define qkv_entropy_f32 QKV_PICK(entropy_f32)
#define qkv_from_f16 QKV_PICK(from_f16)
#define qkv_from_bf16 QKV_PICK(from_bf16)
#define qkv_from_q10 QKV_PICK(from_q10)
#define qkv_from_q8 QKV_PICK(from_q8)
#define qkv_decode_blocks QKV_PICK(decode_blocks)

#endif
